"""A world with topics, where members of share groups behave as real ones do, and a share coordinator that may fail.

world = ShareGroupWorld(foo=6)
ada, bob = world.member("ada"), world.member("bob")
world.rests(ada, bob)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from kohort.coordinator.groups.deleting import topic_deleted
from kohort.coordinator.groups.group import SHARE
from kohort.coordinator.modern.epoch_heartbeat import Sender
from kohort.coordinator.modern.group_refusals import Refusal
from kohort.coordinator.share.persister import OnOutcomes
from kohort.coordinator.share.share_config import ShareConfig
from kohort.coordinator.share.share_group import ShareGroup
from kohort.coordinator.share.share_heartbeating import share_group_heartbeat
from kohort.coordinator.share.share_offsets import alter_offsets, delete_offsets
from kohort.coordinator.share.state_partitions import TopicIdPartition
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kohort.whatif.clients.virtual_topics import Topics
from tests.support.coordinator_world import Ticket, World

ROUNDS = 200  # more rounds than any convergence needs


class Answer(NamedTuple):
    """See `Outcome`."""

    error_code: E = E.none
    error_message: str | None = None
    leader_epoch: int = 0
    start_offset: int = -1
    delivery_complete_count: int = -1


class Persister:
    """Share coordinators that answer at once or on request, and their state: state epoch and start offset."""

    def __init__(self) -> None:
        self.states: dict[tuple[str, UUID, int], tuple[int, int]] = {}
        self.failing = E.none
        self.holding = False
        self.asked: list[str] = []  # such as `initialize g: foo-id 0 1`
        self._held: list[Any] = []

    def initialize(
        self, group_id: str, partitions: Mapping[TopicIdPartition, tuple[int, int]], then: OnOutcomes, now_ms: int
    ) -> None:
        self._note("initialize", group_id, partitions)
        self._answer(partial(self._initialize, group_id, partitions, then), now_ms)

    def _initialize(
        self, group_id: str, partitions: Mapping[TopicIdPartition, tuple[int, int]], then: OnOutcomes, now_ms: int
    ) -> None:
        if self.failing is E.none:
            self.states |= {(group_id, *each): state for each, state in partitions.items()}
        then(dict.fromkeys(partitions, Answer(self.failing)), now_ms)

    def delete(self, group_id: str, partitions: Iterable[TopicIdPartition], then: OnOutcomes, now_ms: int) -> None:
        wanted = list(partitions)
        self._note("delete", group_id, wanted)
        self._answer(partial(self._delete, group_id, wanted, then), now_ms)

    def _delete(self, group_id: str, partitions: list[TopicIdPartition], then: OnOutcomes, now_ms: int) -> None:
        if self.failing is E.none:
            for partition in partitions:
                self.states.pop((group_id, *partition), None)
        then(dict.fromkeys(partitions, Answer(self.failing)), now_ms)

    def read_summary(
        self, group_id: str, partitions: Mapping[TopicIdPartition, int], then: OnOutcomes, now_ms: int
    ) -> None:
        raise AssertionError("a group coordinator requests no summaries")

    def _note(self, what: str, group_id: str, partitions: Iterable[TopicIdPartition]) -> None:
        self.asked.append(f"{what} {group_id}: " + " ".join(f"{topic.int}-{index}" for topic, index in partitions))

    def _answer(self, action: Any, now_ms: int) -> None:
        if self.holding:
            self._held.append(action)
        else:
            action(now_ms)

    def let_go(self, now_ms: int) -> None:
        """Answer pending requests."""
        self.holding = False
        held, self._held = self._held, []
        for action in held:
            action(now_ms)


class ShareGroupWorld(World):
    """World of a share group. Targets are computed at once; sessions last ten seconds."""

    def __init__(self, *, interval_ms: int = 0, settings: dict[str, Any] | None = None, **partitions: int) -> None:
        super().__init__(**(settings or {}))
        self.topics = Topics(partitions)
        self.persister = Persister()
        self.coordinator.topics = self.topics
        self.coordinator.share_persister = lambda: self.persister
        self.coordinator.configs[SHARE] = lambda _: ShareConfig(10_000, 1_000, interval_ms)

    def member(self, name: str, **traits: Any) -> Member:
        traits.setdefault("names", ("foo",))
        return Member(self, name, **traits)

    @property
    def share_group(self) -> ShareGroup:
        group = self.coordinator.share_group("g")
        assert group is not None
        return group

    def id_of(self, name: str) -> UUID:
        topic = self.topics.by_name(name)
        assert topic is not None
        return topic.topic_id

    def ready(self, name: str) -> set[int]:
        """Return the partitions of a topic that are ready for the group."""
        return set(self.share_group.states.ready(self.id_of(name)))

    def rests(self, *members: Member) -> None:
        """Let all members send heartbeats in turn, until no response changes anything."""
        for _ in range(ROUNDS):
            before = [(member.epoch, member.has) for member in members]
            for item in members:
                item.acts()
            self.after(100)
            if before == [(member.epoch, member.has) for member in members]:
                return
        raise AssertionError(f"no rest after {ROUNDS} rounds: {[str(member) for member in members]}")

    def loses_topic(self, name: str) -> None:
        """Delete a topic, and notify groups."""
        topic_id = self.id_of(name)
        self.topics.delete(name)
        for _ in topic_deleted(self.coordinator, name, topic_id, self.now_ms):
            self.settle()
        self.settle()

    def alters(self, name: str, offsets: dict[int, int], group_id: str = "g") -> list[Any]:
        """Return the result of AlterShareGroupOffsets, an error or one per partition; None while it is pending."""
        heard: list[Any] = []
        topic_id = self.id_of(name)
        wanted = {(topic_id, index): offset for index, offset in offsets.items()}
        topics = {topic_id: (name, frozenset(offsets))}
        alter_offsets(self.coordinator, group_id, topics, wanted, partial(_told, heard), self.now_ms)
        self.settle()
        return heard

    def deletes(self, *names: str, group_id: str = "g") -> list[Any]:
        """Return the result of DeleteShareGroupOffsets for each topic, or None while it is pending."""
        heard: list[Any] = []
        topics = [topic for topic in map(self.topics.by_name, names) if topic is not None]
        delete_offsets(self.coordinator, group_id, topics, partial(_told, heard), self.now_ms)
        self.settle()
        return heard

    def replayed(self, *, compact: bool) -> ShareGroupWorld:
        """Return a world whose state is replayed from the log."""
        other = ShareGroupWorld()
        other.topics = self.topics
        return self.loaded_into(other, compact=compact)


def _told(heard: list[Any], outcome: Any, now_ms: int) -> None:
    heard.append(outcome.error if isinstance(outcome, Refusal) else [error.error for error in (outcome or {}).values()])


@dataclass(eq=False)
class Member:
    """A client of the share protocol."""

    world: ShareGroupWorld
    name: str
    group_id: str = "g"
    names: tuple[str, ...] = ("foo",)
    epoch: int = 0
    has: dict[UUID, set[int]] = field(default_factory=dict)  # last received assignment
    full: bool = True  # whether the next heartbeat has all fields: the first one, and after an error
    waiting: Ticket | None = None
    tickets: list[Ticket] = field(default_factory=list)
    host: str = "/127.0.0.1"

    def __str__(self) -> str:
        return f"{self.name} {self.epoch} {self.has}"

    @property
    def member_id(self) -> str:
        return f"{self.name}-id"

    def partitions(self, name: str = "foo") -> set[int]:
        return self.has.get(self.world.id_of(name), set())

    def beats(self, **changes: Any) -> Ticket:
        said: dict[str, Any] = {"group_id": self.group_id, "member_id": self.member_id, "member_epoch": self.epoch}
        request = ShareGroupHeartbeatRequest(**(said | changes))
        ticket = Ticket(f"{self.world.now_ms} {self.name} beats {request.member_epoch}", self)  # type: ignore[arg-type]
        self.tickets.append(ticket)
        self.waiting = ticket
        sender = Sender(ticket, self.name, self.host)
        response = share_group_heartbeat(self.world.coordinator, request, sender, self.world.now_ms)
        if response is not None:
            ticket.answer(response)
        self.world.settle()
        return ticket

    def tells(self, **changes: Any) -> Ticket:
        """Send a heartbeat with all fields."""
        return self.beats(**{"subscribed_topic_names": self.names} | changes)

    def leaves(self) -> Ticket:
        return self.beats(member_epoch=-1)

    def acts(self) -> None:
        """Perform the next step of a client, unless it waits for a response."""
        if self.waiting is None:
            self.tells() if self.full else self.beats()

    def forgets(self) -> None:
        """Simulate a crash; the next action joins again."""
        self.epoch, self.has, self.full, self.waiting = 0, {}, True, None

    def hear(self, ticket: Ticket) -> None:
        if ticket is not self.waiting:
            return
        self.waiting = None
        response = ticket.heard
        if response.error_code in (E.unknown_member_id, E.fenced_member_epoch, E.group_id_not_found):
            self.epoch, self.has = 0, {}
        self.full = response.error_code is not E.none
        if not self.full:
            self.epoch = max(response.member_epoch, 0)
            self.full = self.epoch == 0
            if response.assignment is not None:
                told = response.assignment.topic_partitions
                self.has = {event.topic_id: set(event.partitions) for event in told}
