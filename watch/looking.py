"""Looks at a cluster: whose groups there are, who is in them, what they own and how far they are behind.

Each broker lists the groups that it coordinates, so nobody has to be asked who does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from kohort.broker.address import parse_address
from kohort.client.group_describing import DESCRIBING
from kohort.client.security import OPEN, Security
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kohort.protocol.messages.list_groups import ListedGroup, ListGroupsRequest
from kohort.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kohort.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kohort.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from kohort.protocol.topic_partition import TopicPartition
from kohort.watch.client import Broker, BrokerError
from kohort.watch.described import (
    seen_classic,
    seen_consumer,
    seen_listed,
    seen_share,
    seen_shares,
    seen_streams,
    type_of,
)
from kohort.watch.snapshot import CLASSIC, CONSUMER, SHARE, STREAMS, SeenGroup, SeenShare, Snapshot

LATEST = -1
MOST_BROKERS = 1_000
"""A connection is made to each one; no cluster is as large."""
Seen = Callable[[Any, int], SeenGroup]
"""Reads what a broker says of a group; with the id of the broker."""
READING: dict[str, Seen] = {
    CLASSIC: seen_classic,
    CONSUMER: seen_consumer,
    SHARE: seen_share,
    STREAMS: seen_streams,
}
"""By type of group: how its description is read."""
FIRST_WITH_MANY = 8
"""The version of OffsetFetch from which on one request may ask for several groups."""


class WatchedCluster:
    """The brokers behind a bootstrap address."""

    def __init__(self, bootstrap: str, pattern: str = "*", security: Security = OPEN) -> None:
        """`bootstrap`: HOST:PORT, several with commas. `pattern`: which groups, with * and ?. Raises AddressError."""
        self._security = security
        self._bootstrap = [Broker(*parse_address(each.strip()), security) for each in bootstrap.split(",")]
        self._pattern = pattern
        self._brokers: dict[tuple[str, int], Broker] = {}

    async def look(self, at: float) -> Snapshot:
        """What there is now. Raises BrokerError when no broker of the bootstrap address answers, or nonsense.

        One of the others that does not is a problem of the snapshot.
        """
        try:
            return await self._look(at)
        except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as problem:
            where = ",".join(each.address for each in self._bootstrap)
            raise BrokerError(f"{where} answers what no Kafka cluster does: {problem!r}") from None

    async def _look(self, at: float) -> Snapshot:
        about = await self._metadata(())
        if len(about.brokers) > MOST_BROKERS:
            raise ValueError(f"{len(about.brokers)} brokers")
        brokers = {each.node_id: self._broker(each.host, each.port) for each in about.brokers}
        seen = await asyncio.gather(*(self._groups_of(*each) for each in brokers.items()))
        groups = [group for found, _ in seen for group in found]
        problems = [problem for _, problem in seen if problem]
        shares = await self._shares(groups, brokers, problems)
        committed = await self._committed(groups, brokers, problems)
        topic_partitions = {topic_partition for offsets in committed.values() for topic_partition in offsets}
        ends = await self._ends(topic_partitions, problems) if topic_partitions else {}
        return Snapshot(
            at,
            len(brokers),
            tuple(
                replace(group, lags=_lags(committed.get(group.group_id, {}), ends))
                if group.group_type != SHARE
                else _with_shares(group, shares.get(group.group_id, ()))
                for group in sorted(groups, key=lambda each: each.group_id)
            ),
            tuple(dict.fromkeys(problems)),
        )

    def close(self) -> None:
        """Hangs up."""
        for broker in (*self._bootstrap, *self._brokers.values()):
            broker.close()

    def _broker(self, host: str, port: int) -> Broker:
        return self._brokers.setdefault((host, port), Broker(host, port, self._security))

    async def _metadata(self, topics: Iterable[str]) -> MetadataResponse:
        wanted = tuple(MetadataRequestTopic(name=name) for name in topics)
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
        problem: BrokerError | None = None
        for broker in (*self._bootstrap, *self._brokers.values()):
            try:
                answer: MetadataResponse = await broker.ask("metadata", request)
                return answer
            except BrokerError as met:
                problem = problem or met
        assert problem is not None, "an address has at least one broker"
        raise problem

    async def _groups_of(self, node_id: int, broker: Broker) -> tuple[list[SeenGroup], str]:
        """The groups that one broker coordinates; or a problem."""
        try:
            answer = await broker.ask("list_groups", ListGroupsRequest())
            if answer.error_code is not ErrorCode.none:
                return [], f"{broker.address} does not list its groups: {answer.error_code.name.upper()}"
            listed = {each.group_id: each for each in answer.groups if fnmatchcase(each.group_id, self._pattern)}
            if not listed:
                return [], ""
            described = await _described(broker, listed.values())
        except BrokerError as problem:
            return [], str(problem)
        errors = {each.group_id: each.error_code for each, _ in described}
        if unasked := errors.keys() - listed.keys():
            raise ValueError(f"a description of {min(unasked)}, which was not asked for")
        groups = [seen_listed(each, node_id) for name, each in listed.items() if name not in errors]
        groups += [seen(each, node_id) for each, seen in described if each.error_code is ErrorCode.none]
        refused = ""
        for group_id, error in errors.items():
            # a group that is not found was deleted, or changed its protocol, since it was listed
            if error not in (ErrorCode.none, ErrorCode.group_id_not_found):
                refused = f"{broker.address} does not describe {group_id}: {error.name.upper()}"
        return groups, refused

    async def _shares(
        self, groups: list[SeenGroup], brokers: dict[int, Broker], problems: list[str]
    ) -> dict[str, tuple[SeenShare, ...]]:
        """How far share groups are; nothing from brokers that do not say it."""
        found: dict[str, tuple[SeenShare, ...]] = {}

        async def ask(broker: Broker, group_ids: list[str]) -> None:
            wanted = tuple(DescribeShareGroupOffsetsRequestGroup(group_id=each, topics=None) for each in group_ids)
            try:
                if broker.speaks("describe_share_group_offsets"):
                    asked = DescribeShareGroupOffsetsRequest(groups=wanted)
                    answer = await broker.ask("describe_share_group_offsets", asked)
                    found.update((each.group_id, seen_shares(each)) for each in answer.groups)
            except BrokerError as problem:
                problems.append(str(problem))

        by_node = _by_node(groups, of_share=True)
        await asyncio.gather(*(ask(brokers[node_id], group_ids) for node_id, group_ids in by_node.items()))
        return found

    async def _committed(
        self, groups: list[SeenGroup], brokers: dict[int, Broker], problems: list[str]
    ) -> dict[str, dict[TopicPartition, int]]:
        by_node = _by_node(groups, of_share=False)
        found: dict[str, dict[TopicPartition, int]] = {}

        async def fetch(broker: Broker, group_ids: list[str]) -> None:
            try:
                at_once = len(group_ids) if broker.version("offset_fetch") >= FIRST_WITH_MANY else 1
                for start in range(0, len(group_ids), at_once):
                    asked = group_ids[start : start + at_once]
                    wanted = tuple(OffsetFetchRequestGroup(group_id=each, topics=None) for each in asked)
                    answer = await broker.ask("offset_fetch", OffsetFetchRequest(groups=wanted))
                    for group_id, group in zip(asked, answer.groups, strict=True):
                        found[group_id] = _offsets(group.topics)
            except BrokerError as problem:
                problems.append(str(problem))

        await asyncio.gather(*(fetch(brokers[node_id], group_ids) for node_id, group_ids in by_node.items()))
        return found

    async def _ends(self, topic_partitions: set[TopicPartition], problems: list[str]) -> dict[TopicPartition, int]:
        about = await self._metadata({topic for topic, _ in topic_partitions})
        brokers = {each.node_id: self._broker(each.host, each.port) for each in about.brokers}
        by_leader: dict[int, dict[str, list[int]]] = {}
        for topic in about.topics:
            for part in topic.partitions:
                if topic.name and (topic.name, part.partition_index) in topic_partitions and part.leader_id in brokers:
                    by_leader.setdefault(part.leader_id, {}).setdefault(topic.name, []).append(part.partition_index)
        found: dict[TopicPartition, int] = {}

        async def ask(broker: Broker, wanted: dict[str, list[int]]) -> None:
            try:
                answer = await broker.ask("list_offsets", _latest(wanted))
            except BrokerError as problem:
                problems.append(str(problem))
                return
            for topic in answer.topics:
                for part in topic.partitions:
                    if part.error_code is ErrorCode.none:
                        found[topic.name, part.partition_index] = part.offset

        await asyncio.gather(*(ask(brokers[leader], wanted) for leader, wanted in by_leader.items()))
        return found


async def _described(broker: Broker, listed: Iterable[ListedGroup]) -> list[tuple[Any, Seen]]:
    """What a broker says of groups, and how that is read; nothing where it does not describe groups of that type."""
    by_type: dict[str, list[str]] = {}
    for each in listed:
        by_type.setdefault(type_of(each), []).append(each.group_id)
    found: list[tuple[Any, Seen]] = []
    for group_type, (api, asking) in DESCRIBING.items():
        group_ids = tuple(by_type.get(group_type, ()))
        if group_ids and (group_type == CLASSIC or broker.speaks(api)):
            answer = await broker.ask(api, asking(group_ids))
            found += [(each, READING[group_type]) for each in answer.groups]
    return found


def _by_node(groups: list[SeenGroup], *, of_share: bool) -> dict[int, list[str]]:
    """Share groups, or all others, by their coordinator."""
    by_node: dict[int, list[str]] = {}
    for group in groups:
        if (group.group_type == SHARE) is of_share:
            by_node.setdefault(group.coordinator, []).append(group.group_id)
    return by_node


def _latest(wanted: dict[str, list[int]]) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        replica_id=-1,
        topics=tuple(
            ListOffsetsTopic(
                name=name,
                partitions=tuple(ListOffsetsPartition(partition_index=each, timestamp=LATEST) for each in partitions),
            )
            for name, partitions in wanted.items()
        ),
    )


def _offsets(topics: Iterable[Any]) -> dict[TopicPartition, int]:
    return {
        (topic.name, part.partition_index): part.committed_offset
        for topic in topics
        for part in topic.partitions
        if part.error_code is ErrorCode.none and part.committed_offset >= 0
    }


def _with_shares(group: SeenGroup, shares: tuple[SeenShare, ...]) -> SeenGroup:
    """A share group with how far it is."""
    return replace(group, shares=shares, lags={each.where: each.lag for each in shares if each.lag is not None})


def _lags(committed: dict[TopicPartition, int], ends: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
    # What is committed was asked before the ends were; a group that resets its offsets meanwhile may still be beyond.
    return {each: max(0, ends[each] - offset) for each, offset in committed.items() if each in ends}
