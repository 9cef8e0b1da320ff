"""The cluster of the demo, in its own process: what the broker knows can be looked at directly."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kohort.broker.address import show_address
from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.broker.cluster.event_log import EventLog
from kohort.broker.logs import log
from kohort.broker.runtime.registry import Registry
from kohort.broker.runtime.server import Server
from kohort.broker.settings.broker_settings import Settings
from kohort.protocol.visible import visible
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
        """Listens, and writes group events to the directory `events`."""
        loop = asyncio.get_running_loop()
        self._events = EventLog(self.cluster, events, loop.call_later)
        self._events.open()
        self._server = Server(self.cluster, Registry(), loop)
        await self._server.listen(HOST, 0)
        self.cluster.offsets_topic.create(self.cluster.clock.now_ms())
        topic = self.cluster.topics.create(self.topic, self.partitions, NODES)
        assert isinstance(topic, Topic), topic

    def end_events(self) -> None:
        """The event log is complete; the cluster serves on."""
        if self._events is not None:
            self._events.close()
            self._events = None

    def close(self) -> None:
        """Hangs up on everybody."""
        self.end_events()
        if self._server is not None:
            self._server.stop()

    @property
    def bootstrap(self) -> str:
        """Where clients find it."""
        return ",".join(show_address(HOST, node.port) for node in self.cluster.nodes)

    def group(self, group_id: str) -> ClassicGroup | None:
        """The classic group as its coordinator has it."""
        coordinator = self.cluster.offsets_topic.coordinator_of(group_id)
        return None if coordinator is None else coordinator.groups.get(group_id)

    def consumer_group(self, group_id: str) -> ConsumerGroup | None:
        """The consumer group as its coordinator has it."""
        coordinator = self.cluster.offsets_topic.coordinator_of(group_id)
        return None if coordinator is None else coordinator.consumer_groups.get(group_id)

    def committed(self, group_id: str) -> list[int]:
        """What the group has committed of each partition; -1: nothing."""
        group = self.group(group_id)
        offsets = None if group is None else group.offsets
        found = [None if offsets is None else offsets.get(self.topic, number) for number in range(self.partitions)]
        return [-1 if each is None else each.offset for each in found]

    def owners(self, group_id: str) -> dict[str, list[int]]:
        """Which partitions each member has been given; members go by their client id, which outlives a restart."""
        consumer_group = self.consumer_group(group_id)
        if consumer_group is not None:
            return {visible(each.metadata.client_id): self._owned(each) for each in consumer_group.members.values()}
        group = self.group(group_id)
        if group is None:
            return {}
        return {
            visible(member.client_id): assigned_partitions(member.assignment, self.topic)
            for member in group.members.values()
        }

    def _owned(self, member: ConsumerMember) -> list[int]:
        """Partitions that it has, those included that it is still to give up."""
        topic = self.cluster.topics.by_name(self.topic)
        assert topic is not None, "it was created when the stage opened"
        current = member.current
        return sorted({*current.assigned.get(topic.topic_id, {}), *current.revoking.get(topic.topic_id, {})})


def assigned_partitions(assignment: bytes, topic: str) -> list[int]:
    """The partitions of a topic in an assignment as clients of the type `consumer` write it; none in an empty one."""
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
    """Takes the place of stderr for the broker's log: passes on each line, as text and in pieces."""

    def __init__(self, heard: Callable[[str, dict[str, Any]], None]) -> None:
        super().__init__()
        self._heard = heard

    def write(self, lines: str) -> int:
        """Lines of JSON."""
        for line in lines.splitlines():
            values = json.loads(line)
            self._heard(values["event"], values)
        return len(lines)
