"""Cluster for a replay, in real time: check of the prerequisites, and creation of what is missing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from kohort.base.address import show_address
from kohort.client.client_connection import BrokerError
from kohort.client.security import Security
from kohort.control.request_facts import kafka_name
from kohort.protocol.api_keys import API_BY_NAME
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.api_versions import ApiVersionsRequest
from kohort.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kohort.protocol.messages.find_coordinator import FindCoordinatorRequest
from kohort.protocol.messages.list_groups import ListGroupsRequest
from kohort.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponseTopic
from kohort.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kohort.proxy.cluster_side import connect
from kohort.proxy.talk.replay_needs import GROUP, TRANSACTION, Needs
from kohort.proxy.talk.talk_connection import Address, TalkConnection
from kohort.proxy.talk.talk_file import Talk
from kohort.proxy.talk.talk_lines import Step

READY_S: Final = 30.0  # timeout for coordinators and new topics
ASK_AGAIN_S: Final = 0.1

CLIENT_ID: Final = "kohort-replay"

NEWEST: Final = {
    "metadata": 12,
    "find_coordinator": 4,
    "create_topics": 7,
    "list_groups": 5,
    "offset_commit": 8,
}  # newest version of each API that the stage itself uses

_COMING: Final = frozenset(
    {
        ErrorCode.coordinator_not_available,
        ErrorCode.coordinator_load_in_progress,
        ErrorCode.not_coordinator,
        ErrorCode.leader_not_available,
        ErrorCode.unknown_topic_or_partition,
    }
)


class ReplayError(Exception):
    """Conversation that can't be replayed on the cluster; the text is a sentence."""


class ReplayStage:
    """Cluster with connections for requests that are not part of the conversation (`talk_connection.Stage`)."""

    def __init__(self, bootstrap: Sequence[Address], security: Security) -> None:
        """Set up a stage. Raise SecurityError if the settings refer to files that can't be used."""
        self.topic_ids: dict[str, str] = {}  # by topic name
        self._addresses = bootstrap
        self._security = security
        self._context = security.context() if security.tls else None
        self._received = asyncio.Event()
        self._connections: dict[Address, TalkConnection] = {}
        self._bootstrap: TalkConnection | None = None
        self._versions: dict[int, tuple[int, int]] = {}
        self._coordinators: dict[tuple[int, str], Address] = {}

    # See `Stage`

    def now_ms(self) -> int:
        return int(asyncio.get_running_loop().time() * 1000)

    async def wait(self, timeout_ms: float, is_over: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                while not is_over():
                    self._received.clear()
                    await self._received.wait()
        except TimeoutError:
            pass

    def on_received(self) -> None:
        self._received.set()

    # Connections

    async def open(self, address: Address, client_id: str | None) -> TalkConnection:
        """Return a connection to one broker. Raise BrokerError, with the address, on failure."""
        try:
            side = await connect(address, self._security, self._context, probes=True)
        except BrokerError as problem:
            raise BrokerError(f"{show_address(*address)}: {problem}") from None
        return TalkConnection(self, address, side, client_id)

    async def open_any(self, client_id: str | None) -> TalkConnection:
        """Return a connection to the first broker that accepts it. Raise BrokerError with the reason of each."""
        problems = []
        for address in self._addresses:
            try:
                return await self.open(address, client_id)
            except BrokerError as problem:
                problems.append(str(problem))
        raise BrokerError("; ".join(problems))

    async def set_up(self, talk: Talk, needs: Needs) -> None:
        """Check and create the prerequisites.

        Raises:
            BrokerError: A request failed.
            ReplayError: The cluster is unsuitable for this conversation.
        """
        self._bootstrap = await self.open_any(CLIENT_ID)
        supported = await self._bootstrap.call("api_versions", 0, ApiVersionsRequest())
        self._versions = {api.api_key: (api.min_version, api.max_version) for api in supported.api_keys}
        for step in needs.first_uses.values():
            self._check_version(talk, step)
        for kind, names in ((GROUP, needs.groups), (TRANSACTION, needs.transactions)):
            for name in sorted(names):
                await self.coordinator(kind, name)
        await self._check_groups(needs)
        await self._make_topics(needs)
        await self._commit(needs)

    def close(self) -> None:
        for connection in (*self._connections.values(), *([self._bootstrap] if self._bootstrap is not None else ())):
            connection.close()

    async def coordinator(self, kind: int, name: str) -> Address:
        """Return the address of the coordinator of a group or transaction.

        Raise BrokerError or ReplayError on failure.
        """
        address = self._coordinators.get((kind, name))
        if address is None:
            address = self._coordinators[kind, name] = await self._find_coordinator(kind, name)
        return address

    async def _find_coordinator(self, kind: int, name: str) -> Address:
        async def ask() -> Any:
            request = FindCoordinatorRequest(key_type=kind, coordinator_keys=(name,))
            return (await self._ask("find_coordinator", request)).coordinators[0]

        description = f"the coordinator of {'group' if kind == GROUP else 'transactional id'} {name}"
        coordinator = await self._until_there(ask, lambda response: response.error_code, description)
        return coordinator.host, coordinator.port

    # Checks

    def _check_version(self, talk: Talk, step: Step) -> None:
        least, most = self._versions.get(API_BY_NAME[step.api].key, (0, -1))
        if not least <= step.version <= most:
            offers = f"versions {least} to {most}" if most >= 0 else "no version of it"
            request = f"{step.kafka_name} v{step.version}"
            raise ReplayError(
                f"{talk.name}:{step.number}: this cluster does not support {request}; it supports {offers}"
            )

    async def _check_groups(self, needs: Needs) -> None:
        """Reject existing groups, which would respond differently and lose their offsets."""
        existing: set[str] = set()
        for address in {await self.coordinator(GROUP, name) for name in needs.groups}:
            answer = await self._ask("list_groups", ListGroupsRequest(), await self._connection(address))
            existing |= needs.groups & {group.group_id for group in answer.groups}
        if existing:
            raise ReplayError(
                f"group {sorted(existing)[0]} exists in this cluster, and a replay would change it; "
                "rename the groups with --rename SUFFIX"
            )

    # Creation

    async def _make_topics(self, needs: Needs) -> None:
        existing = {topic.name: topic for topic in await self._topics(needs) if not topic.error_code}
        missing = sorted(needs.topics.keys() - existing.keys())
        if missing:
            await self._create({name: needs.topics[name] for name in missing})
            existing = {topic.name: topic for topic in await self._topics_there(needs)}
        for name, partitions in needs.topics.items():
            if len(existing[name].partitions) != partitions:
                raise ReplayError(
                    f"topic {name} has {len(existing[name].partitions)} partitions in this cluster, and "
                    f"{partitions} in the recording"
                )
        self.topic_ids = {name: str(existing[name].topic_id) for name in needs.topics if existing[name].topic_id}

    async def _topics(self, needs: Needs) -> list[MetadataResponseTopic]:
        if not needs.topics:
            return []
        topics = tuple(MetadataRequestTopic(name=name) for name in needs.topics)
        answer = await self._ask("metadata", MetadataRequest(topics=topics, allow_auto_topic_creation=False))
        return list(answer.topics)

    async def _topics_there(self, needs: Needs) -> list[MetadataResponseTopic]:
        def worst(topics: list[MetadataResponseTopic]) -> ErrorCode:
            codes = [topic.error_code for topic in topics]
            codes += [partition.error_code for topic in topics for partition in topic.partitions]
            return next((code for code in codes if code), ErrorCode.none)

        existing: list[MetadataResponseTopic] = await self._until_there(
            lambda: self._topics(needs), worst, "a new topic"
        )
        return existing

    async def _create(self, topics: dict[str, int]) -> None:
        new_topics = tuple(
            CreatableTopic(name=name, num_partitions=partitions, replication_factor=-1, assignments=(), configs=())
            for name, partitions in topics.items()
        )
        answer = await self._ask("create_topics", CreateTopicsRequest(topics=new_topics, timeout_ms=10_000))
        for topic in answer.topics:
            if topic.error_code not in (ErrorCode.none, ErrorCode.topic_already_exists):
                raise ReplayError(
                    f"topic {topic.name} can't be created ({topic.error_code.name.upper()}); "
                    f"create it with {topics.get(topic.name)} partitions"
                )

    async def _commit(self, needs: Needs) -> None:
        """Commit the offsets from before the recording."""
        by_group: dict[str, dict[str, dict[int, int]]] = {}
        for (group, topic, partition), offset in needs.offsets.items():
            by_group.setdefault(group, {}).setdefault(topic, {})[partition] = offset
        for group, topics in by_group.items():
            connection = await self._connection(await self.coordinator(GROUP, group))
            answer = await self._ask("offset_commit", _committing(group, topics), connection)
            for topic in answer.topics:
                for partition in topic.partitions:
                    if partition.error_code:
                        raise ReplayError(
                            f"group {group} cannot commit the recorded offset of {topic.name} "
                            f"({partition.error_code.name.upper()})"
                        )

    # Requests

    async def _ask(self, api: str, request: Any, connection: TalkConnection | None = None) -> Any:
        connection = connection or self._bootstrap
        assert connection is not None, "it is connected first"
        least, most = self._versions.get(API_BY_NAME[api].key, (0, -1))
        if not max(least, API_BY_NAME[api].min_version) <= min(most, NEWEST[api]):
            raise ReplayError(f"this cluster does not support {kafka_name(api)} in a version that a replay can use")
        return await connection.call(api, min(most, NEWEST[api]), request)

    async def _connection(self, address: Address) -> TalkConnection:
        if address not in self._connections:
            self._connections[address] = await self.open(address, CLIENT_ID)
        return self._connections[address]

    async def _until_there(
        self, ask: Callable[[], Awaitable[Any]], error: Callable[[Any], ErrorCode], description: str
    ) -> Any:
        """Repeat a request until it succeeds. Raise ReplayError after READY_S."""
        loop = asyncio.get_running_loop()
        until = loop.time() + READY_S
        while error(response := await ask()) in _COMING and loop.time() < until:
            await asyncio.sleep(ASK_AGAIN_S)
        if error(response):
            raise ReplayError(f"cannot get {description}: {error(response).name.upper()}")
        return response


def _committing(group: str, topics: dict[str, dict[int, int]]) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group_id=group,
        member_id="",
        topics=tuple(
            OffsetCommitRequestTopic(
                name=topic,
                partitions=tuple(
                    OffsetCommitRequestPartition(
                        partition_index=partition, committed_offset=offset, committed_metadata=""
                    )
                    for partition, offset in partitions.items()
                ),
            )
            for topic, partitions in topics.items()
        ),
    )
