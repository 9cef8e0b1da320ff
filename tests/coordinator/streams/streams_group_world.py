"""A world with topics, where members of streams groups behave as Kafka Streams' threads do.

world = StreamsGroupWorld(foo=4)
ada, bob = world.member("ada"), world.member("bob")
world.rests(ada, bob)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kohort.coordinator.groups.group import STREAMS
from kohort.coordinator.modern.epoch_heartbeat import Sender
from kohort.coordinator.streams.streams_config import StreamsConfig
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_heartbeating import NOTHING_PREPARED, streams_group_heartbeat
from kohort.coordinator.streams.streams_topologies import Prepared
from kohort.coordinator.streams.streams_values import StatusCode
from kohort.coordinator.streams.streams_values import TopicInfo as MissingTopic
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.streams_group_heartbeat import (
    KeyValue,
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)
from kohort.whatif.clients.virtual_topics import Topics
from tests.support.coordinator_world import Ticket, World

ROUNDS = 200  # more rounds than any convergence needs

Tasks = dict[str, set[int]]


def reading(*topics: str, stores: Iterable[str] = (), epoch: int = 0) -> Topology:
    """Return a topology with one subtopology, 0, that reads topics and has stores."""
    changelogs = (TopicInfo(name=name, partitions=0, replication_factor=0, topic_configs=()) for name in stores)
    subtopology = Subtopology(subtopology_id="0", source_topics=topics, state_changelog_topics=tuple(changelogs))
    return Topology(epoch=epoch, subtopologies=(subtopology,))


class StreamsGroupWorld(World):
    """World of a streams group. Targets are computed at once; sessions last ten seconds."""

    def __init__(
        self, *, interval_ms: int = 0, delay_ms: int = 0, settings: dict[str, Any] | None = None, **partitions: int
    ) -> None:
        super().__init__(**(settings or {}))
        self.topics = Topics(partitions)
        self.coordinator.topics = self.topics
        self.config = StreamsConfig(10_000, 1_000, interval_ms, delay_ms)
        self.coordinator.configs[STREAMS] = lambda _: self.config
        self.makes_topics = True

    def member(self, name: str, **traits: Any) -> Member:
        """Return a thread of an application, by default in a process of its own."""
        traits.setdefault("process_id", f"{name}-process")
        return Member(self, name, **traits)

    @property
    def streams_group(self) -> StreamsGroup:
        group = self.coordinator.streams_group("g")
        assert group is not None
        return group

    def make_topics(self, missing: tuple[MissingTopic, ...]) -> str:
        """Create internal topics at once, unless that is not permitted."""
        if not self.makes_topics:
            return "; Creation failed."
        for topic in missing:
            self.topics.create(topic.name, topic.partitions)
        return ""

    def rests(self, *members: Member) -> None:
        """Let all members send heartbeats in turn, until no response changes anything."""
        for _ in range(ROUNDS):
            before = [str(member) for member in members]
            for item in members:
                item.acts()
            self.after(100)
            if before == [str(member) for member in members]:
                return
        raise AssertionError(f"no rest after {ROUNDS} rounds: {[str(member) for member in members]}")

    def replayed(self, *, compact: bool) -> StreamsGroupWorld:
        """Return a world whose state is replayed from the log."""
        other = StreamsGroupWorld()
        other.topics = self.topics
        other.coordinator.topics = self.topics
        return self.loaded_into(other, compact=compact)


@dataclass(eq=False)
class Member:
    """A thread of an application."""

    world: StreamsGroupWorld
    name: str
    group_id: str = "g"
    process_id: str = ""
    topology: Topology = field(default_factory=lambda: reading("foo"))
    tags: dict[str, str] = field(default_factory=dict)
    epoch: int = 0
    active: Tasks = field(default_factory=dict)  # last received active tasks
    standby: Tasks = field(default_factory=dict)
    reported: tuple[Tasks, Tasks] | None = None  # tasks in the last heartbeat that was not rejected
    statuses: list[StatusCode] = field(default_factory=list)
    waiting: Ticket | None = None
    tickets: list[Ticket] = field(default_factory=list)
    host: str = "/127.0.0.1"

    def __str__(self) -> str:
        return f"{self.name} {self.epoch} {self.active} {self.standby} {self.statuses}"

    @property
    def member_id(self) -> str:
        return f"{self.name}-id"

    def beats(self, prepared: Prepared = NOTHING_PREPARED, **changes: Any) -> Ticket:
        """Send a heartbeat with the owned tasks."""
        said: dict[str, Any] = {"group_id": self.group_id, "member_id": self.member_id, "member_epoch": self.epoch}
        said |= {"active_tasks": _ids(self.active), "standby_tasks": _ids(self.standby), "warmup_tasks": ()}
        request = StreamsGroupHeartbeatRequest(**(said | changes))
        ticket = Ticket(f"{self.world.now_ms} {self.name} beats {request.member_epoch}", self)  # type: ignore[arg-type]
        self.tickets.append(ticket)
        self.waiting = ticket
        sender = Sender(ticket, self.name, self.host, make_topics=self.world.make_topics)
        response = streams_group_heartbeat(self.world.coordinator, request, sender, self.world.now_ms, prepared)
        if response is not None:
            ticket.answer(response)
        self.world.settle()
        return ticket

    def joins(self, **changes: Any) -> Ticket:
        """Send a heartbeat with all fields, without tasks."""
        self.active, self.standby = {}, {}
        tags = tuple(KeyValue(key=key, value=value) for key, value in self.tags.items())
        everything: dict[str, Any] = {
            "rebalance_timeout_ms": 5_000,
            "process_id": self.process_id,
            "topology": self.topology,
        }
        return self.beats(**everything | {"member_epoch": 0, "client_tags": tags} | changes)

    def leaves(self, **changes: Any) -> Ticket:
        return self.beats(**{"member_epoch": -1} | changes)

    def acts(self) -> None:
        """Perform the next step of a thread, unless it waits for a response. Unchanged tasks are not sent again."""
        if self.waiting is not None:
            return
        if not self.epoch:
            self.joins()
            return
        tasks = self.active, self.standby
        is_unchanged, self.reported = tasks == self.reported, tasks
        if is_unchanged:
            self.beats(active_tasks=None, standby_tasks=None, warmup_tasks=None)
        else:
            self.beats()

    def forgets(self) -> None:
        """Simulate a crash; the next action joins again."""
        self.epoch, self.active, self.standby, self.reported, self.waiting = 0, {}, {}, None, None

    def hear(self, ticket: Ticket) -> None:
        if ticket is not self.waiting:
            return
        self.waiting = None
        response = ticket.heard
        if response.error_code in (E.unknown_member_id, E.fenced_member_epoch, E.group_id_not_found):
            self.forgets()
        if response.error_code is not E.none:
            self.reported = None
        else:
            self.epoch = max(response.member_epoch, 0)
            self.statuses = [StatusCode(status.status_code) for status in response.status]
            if response.active_tasks is not None:
                self.active, self.standby = _tasks(response.active_tasks), _tasks(response.standby_tasks)
            if not self.epoch:
                self.forgets()


def _ids(tasks: Tasks) -> tuple[TaskIds, ...]:
    return tuple(TaskIds(subtopology_id=name, partitions=tuple(sorted(tasks[name]))) for name in tasks)


def _tasks(told: Iterable[TaskIds]) -> Tasks:
    return {event.subtopology_id: set(event.partitions) for event in told}
