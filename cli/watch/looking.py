"""Snapshots of a cluster: its groups, their members, owned partitions and lags.

Each broker lists the groups that it coordinates, so FindCoordinator is not needed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from kohort.base.address import parse_address
from kohort.cli.watch.client import Broker, BrokerError
from kohort.cli.watch.described import type_of, view_of_described, view_of_listed, view_of_shares
from kohort.cli.watch.snapshot import SeenGroup, SeenShare, Snapshot
from kohort.client.group_describing import describe_api, describe_request
from kohort.client.security import OPEN, Security
from kohort.groups.explain import explain
from kohort.groups.type_words import CLASSIC, GROUP_TYPES, SHARE
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

LATEST = -1
MAX_BROKERS = 1_000  # limit for connections, one per broker
FIRST_WITH_MANY = 8  # first version of OffsetFetch in which one request may name several groups


class WatchedCluster:
    """Brokers behind a bootstrap address."""

    def __init__(self, bootstrap: str, pattern: str = "*", security: Security = OPEN) -> None:
        """Set up a client without connecting.

        Args:
            bootstrap: HOST:PORT, several with commas.
            pattern: Group ids with * and ?.

        Raises:
            AddressError: `bootstrap` is invalid.
        """
        self._security = security
        self._bootstrap = [Broker(*parse_address(address.strip()), security) for address in bootstrap.split(",")]
        self._pattern = pattern
        self._brokers: dict[tuple[str, int], Broker] = {}

    async def look(self, at: float) -> Snapshot:
        """Return a snapshot, in which failures of single brokers are problems.

        Raises:
            BrokerError: No bootstrap broker responds, or a response is invalid.
        """
        try:
            return await self._look(at)
        except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as problem:
            addresses = ",".join(broker.address for broker in self._bootstrap)
            raise BrokerError(f"invalid response from {addresses}: {problem!r}") from None

    async def _look(self, at: float) -> Snapshot:
        about = await self._metadata(())
        if len(about.brokers) > MAX_BROKERS:
            raise ValueError(f"{len(about.brokers)} brokers")
        brokers = {item.node_id: self._broker(item.host, item.port) for item in about.brokers}
        results = await asyncio.gather(*(self._groups_of(*item) for item in brokers.items()))
        groups = [group for listed, _ in results for group in listed]
        problems = [problem for _, problem in results if problem]
        shares = await self._shares(groups, brokers, problems)
        committed = await self._committed(groups, brokers, problems)
        topic_partitions = {topic_partition for offsets in committed.values() for topic_partition in offsets}
        ends = await self._ends(topic_partitions, problems) if topic_partitions else {}
        return Snapshot(
            at,
            len(brokers),
            tuple(
                replace(group, lags=_lags(committed.get(group.group_id, {}), ends))
                if group.type != SHARE
                else _with_shares(group, shares.get(group.group_id, ()))
                for group in sorted(groups, key=lambda item: item.group_id)
            ),
            tuple(dict.fromkeys(problems)),
        )

    async def explain(self, snapshot: Snapshot, group_id: str) -> list[str]:
        """Return the lines that explain a group of a snapshot. Raise BrokerError if it is not there."""
        for group in snapshot.groups:
            if group.group_id == group_id:
                return str(explain(group)).splitlines()
        raise BrokerError(f"group {group_id} does not exist")

    def close(self) -> None:
        for broker in (*self._bootstrap, *self._brokers.values()):
            broker.close()

    def _broker(self, host: str, port: int) -> Broker:
        return self._brokers.setdefault((host, port), Broker(host, port, self._security))

    async def _metadata(self, topics: Iterable[str]) -> MetadataResponse:
        topics_ = tuple(MetadataRequestTopic(name=name) for name in topics)
        request = MetadataRequest(topics=topics_, allow_auto_topic_creation=False)
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
        """Return the groups that one broker coordinates, or a problem."""
        try:
            answer = await broker.ask("list_groups", ListGroupsRequest())
            if answer.error_code is not ErrorCode.none:
                return [], f"{broker.address} cannot list groups: {answer.error_code.name.upper()}"
            listed = {group.group_id: group for group in answer.groups if fnmatchcase(group.group_id, self._pattern)}
            if not listed:
                return [], ""
            described = await _described(broker, listed.values())
        except BrokerError as problem:
            return [], str(problem)
        errors = {group.group_id: group.error_code for group, _ in described}
        if unasked := errors.keys() - listed.keys():
            raise ValueError(f"a description of {min(unasked)}that was not requested")
        groups = [view_of_listed(group, node_id) for name, group in listed.items() if name not in errors]
        groups += [
            view_of_described(group, group_type, node_id)
            for group, group_type in described
            if group.error_code is ErrorCode.none
        ]
        refused = ""
        for group_id, error in errors.items():
            # a group that is not found was deleted, or changed its protocol, since it was listed
            if error not in (ErrorCode.none, ErrorCode.group_id_not_found):
                refused = f"{broker.address} cannot describe group {group_id}: {error.name.upper()}"
        return groups, refused

    async def _shares(
        self, groups: list[SeenGroup], brokers: dict[int, Broker], problems: list[str]
    ) -> dict[str, tuple[SeenShare, ...]]:
        """Return the state of share groups, except from brokers that do not support it."""
        shares: dict[str, tuple[SeenShare, ...]] = {}

        async def ask(broker: Broker, group_ids: list[str]) -> None:
            requested = tuple(
                DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=None) for group_id in group_ids
            )
            try:
                if broker.speaks("describe_share_group_offsets"):
                    request = DescribeShareGroupOffsetsRequest(groups=requested)
                    answer = await broker.ask("describe_share_group_offsets", request)
                    shares.update((group.group_id, view_of_shares(group)) for group in answer.groups)
            except BrokerError as problem:
                problems.append(str(problem))

        by_node = _by_node(groups, of_share=True)
        await asyncio.gather(*(ask(brokers[node_id], group_ids) for node_id, group_ids in by_node.items()))
        return shares

    async def _committed(
        self, groups: list[SeenGroup], brokers: dict[int, Broker], problems: list[str]
    ) -> dict[str, dict[TopicPartition, int]]:
        by_node = _by_node(groups, of_share=False)
        committed: dict[str, dict[TopicPartition, int]] = {}

        async def fetch(broker: Broker, group_ids: list[str]) -> None:
            try:
                at_once = len(group_ids) if broker.version("offset_fetch") >= FIRST_WITH_MANY else 1
                for start in range(0, len(group_ids), at_once):
                    some_ids = group_ids[start : start + at_once]
                    requested = tuple(OffsetFetchRequestGroup(group_id=group_id, topics=None) for group_id in some_ids)
                    answer = await broker.ask("offset_fetch", OffsetFetchRequest(groups=requested))
                    for group_id, group in zip(some_ids, answer.groups, strict=True):
                        committed[group_id] = _offsets(group.topics)
            except BrokerError as problem:
                problems.append(str(problem))

        await asyncio.gather(*(fetch(brokers[node_id], group_ids) for node_id, group_ids in by_node.items()))
        return committed

    async def _ends(self, topic_partitions: set[TopicPartition], problems: list[str]) -> dict[TopicPartition, int]:
        about = await self._metadata({topic for topic, _ in topic_partitions})
        brokers = {broker.node_id: self._broker(broker.host, broker.port) for broker in about.brokers}
        by_leader: dict[int, dict[str, list[int]]] = {}
        for topic in about.topics:
            for part in topic.partitions:
                if topic.name and (topic.name, part.partition_index) in topic_partitions and part.leader_id in brokers:
                    by_leader.setdefault(part.leader_id, {}).setdefault(topic.name, []).append(part.partition_index)
        ends: dict[TopicPartition, int] = {}

        async def ask(broker: Broker, partitions: dict[str, list[int]]) -> None:
            try:
                answer = await broker.ask("list_offsets", _latest(partitions))
            except BrokerError as problem:
                problems.append(str(problem))
                return
            for topic in answer.topics:
                for part in topic.partitions:
                    if part.error_code is ErrorCode.none:
                        ends[topic.name, part.partition_index] = part.offset

        await asyncio.gather(*(ask(brokers[leader], partitions) for leader, partitions in by_leader.items()))
        return ends


async def _described(broker: Broker, listed: Iterable[ListedGroup]) -> list[tuple[Any, str]]:
    """Return a broker's descriptions with the group types; none for types that it does not describe."""
    by_type: dict[str, list[str]] = {}
    for group in listed:
        by_type.setdefault(type_of(group), []).append(group.group_id)
    described: list[tuple[Any, str]] = []
    for group_type in GROUP_TYPES:
        api, group_ids = describe_api(group_type), tuple(by_type.get(group_type, ()))
        if group_ids and (group_type == CLASSIC or broker.speaks(api)):
            answer = await broker.ask(api, describe_request(group_type, group_ids))
            described += [(group, group_type) for group in answer.groups]
    return described


def _by_node(groups: list[SeenGroup], *, of_share: bool) -> dict[int, list[str]]:
    """Return share groups, or all others, by coordinator."""
    by_node: dict[int, list[str]] = {}
    for group in groups:
        if (group.type == SHARE) is of_share:
            by_node.setdefault(group.coordinator, []).append(group.group_id)
    return by_node


def _latest(by_topic: dict[str, list[int]]) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        replica_id=-1,
        topics=tuple(
            ListOffsetsTopic(
                name=name,
                partitions=tuple(
                    ListOffsetsPartition(partition_index=number, timestamp=LATEST) for number in partitions
                ),
            )
            for name, partitions in by_topic.items()
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
    return replace(
        group, shares=shares, lags={share.topic_partition: share.lag for share in shares if share.lag is not None}
    )


def _lags(committed: dict[TopicPartition, int], ends: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
    # Commits are fetched before the ends; a group that resets its offsets in between may still be ahead.
    return {partition: max(0, ends[partition] - offset) for partition, offset in committed.items() if partition in ends}
