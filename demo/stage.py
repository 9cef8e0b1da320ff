"""Cluster of the demo, in its own process, so that the state of the broker can be read directly."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kohort.base.address import show_address
from kohort.base.logs import log
from kohort.base.visible import visible
from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.broker.cluster.event_log import EventLog
from kohort.broker.runtime.registry import Registry
from kohort.broker.runtime.server import Server
from kohort.broker.settings.broker_settings import Settings
from kohort.storage.topic import Topic

if TYPE_CHECKING:
    from kohort.coordinator.classic.classic_group import ClassicGroup
    from kohort.coordinator.consumer.consumer_group import ConsumerGroup
    from kohort.coordinator.consumer.consumer_member import ConsumerMember

NODES = 3
HOST = "127.0.0.1"


class Stage:
    """Three nodes on free ports, and a topic."""

    def __init__(self, seed: int, topic: str, partitions: int) -> None:
        self.topic = topic
        self.partitions = partitions
        self.cluster = BrokerCluster(Settings({}, "test", NODES), log.clock, NODES, seed)
        self._server: Server | None = None
        self._events: EventLog | None = None

    async def open(self, events: Path) -> None:
        """Listen, and write group events to the directory `events`."""
        loop = asyncio.get_running_loop()
        self._events = EventLog(self.cluster, events, loop.call_later)
        self._events.open()
        self._server = Server(self.cluster, Registry(), loop)
        await self._server.listen(HOST, 0)
        self.cluster.offsets_topic.create(self.cluster.clock.now_ms())
        topic = self.cluster.topics.create(self.topic, self.partitions, NODES)
        assert isinstance(topic, Topic), topic

    def end_events(self) -> None:
        """End the event log, while the cluster keeps serving."""
        if self._events is not None:
            self._events.close()
            self._events = None

    def close(self) -> None:
        self.end_events()
        if self._server is not None:
            self._server.stop()

    @property
    def bootstrap(self) -> str:
        """Bootstrap address for clients."""
        return ",".join(show_address(HOST, node.port) for node in self.cluster.nodes)

    def group(self, group_id: str) -> ClassicGroup | None:
        coordinator = self.cluster.offsets_topic.coordinator_of(group_id)
        return None if coordinator is None else coordinator.classic_group(group_id)

    def consumer_group(self, group_id: str) -> ConsumerGroup | None:
        coordinator = self.cluster.offsets_topic.coordinator_of(group_id)
        return None if coordinator is None else coordinator.consumer_group(group_id)

    def committed(self, group_id: str) -> list[int]:
        """Return the committed offset of each partition, -1 without a commit."""
        group = self.group(group_id)
        offsets = None if group is None else group.offsets
        committed_offsets = [
            None if offsets is None else offsets.get(self.topic, number) for number in range(self.partitions)
        ]
        return [-1 if partition is None else partition.offset for partition in committed_offsets]

    def owners(self, group_id: str) -> dict[str, list[int]]:
        """Return the partitions of each member, by client id, which stays the same after a restart."""
        consumer_group = self.consumer_group(group_id)
        if consumer_group is not None:
            return {
                visible(group_member.metadata.client_id): self._owned(group_member)
                for group_member in consumer_group.members.values()
            }
        group = self.group(group_id)
        if group is None:
            return {}
        return {
            visible(member.client_id): assigned_partitions(member.assignment, self.topic)
            for member in group.members.values()
        }

    def _owned(self, member: ConsumerMember) -> list[int]:
        """Return the partitions of a member, including those that it has yet to revoke."""
        topic = self.cluster.topics.by_name(self.topic)
        assert topic is not None, "it was created when the stage opened"
        current = member.current
        return sorted({*current.assigned.get(topic.topic_id, {}), *current.revoking.get(topic.topic_id, {})})


def assigned_partitions(assignment: bytes, topic: str) -> list[int]:
    """Return the partitions of a topic in an assignment of the protocol type `consumer`."""
    if not assignment:
        return []
    partitions: list[int] = []
    (topics,) = struct.unpack_from(">i", assignment, 2)
    at = 6
    for _ in range(topics):
        (length,) = struct.unpack_from(">h", assignment, at)
        name = assignment[at + 2 : at + 2 + length].decode()
        at += 2 + length
        (count,) = struct.unpack_from(">i", assignment, at)
        if name == topic:
            partitions += struct.unpack_from(f">{count}i", assignment, at + 4)
        at += 4 + 4 * count
    return sorted(partitions)


class BrokerLog(StringIO):
    """Replacement of stderr for the broker's log, which passes on each line, as text and as values."""

    def __init__(self, on_line: Callable[[str, dict[str, Any]], None]) -> None:
        super().__init__()
        self._on_line = on_line

    def write(self, lines: str) -> int:
        for line in lines.splitlines():
            values = json.loads(line)
            self._on_line(values["event"], values)
        return len(lines)
