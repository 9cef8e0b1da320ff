"""Consumers as they behave, on the real coordinator and a clock moved by hand; and the truth of what happened.

A second is ten ticks. A consumer polls at each tick unless it is busy with a batch; its heartbeats continue meanwhile, as
those of a background thread. It processes responses of its group at its next poll. The logs are those of
`LoggedWorld`; the truth is the consumers' own responses and their times.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from kohort.protocol.consumer_protocol import Assignment, write_assignment
from kohort.protocol.errors import ErrorCode as E
from kohort.whatif.clients.classic_group_member import JOINED, OUT, SYNCED
from kohort.whatif.clients.group_member import Said
from tests.pipeline.own_logs import LoggedWorld
from tests.support.coordinator_world import EPOCH_MS, ClassicTalker, Ticket

TICK_MS = 100
BEAT_MS = 1_000
COMMIT_MS = 1_000
TOPIC_ID = UUID(int=1)
RATE = 10
"""Records a second that a consumer reads of each partition."""


@dataclass
class Told:
    """One generation, as its members know it."""

    generation: int
    barrier_ms: int
    """When the joins were answered; wall clock, like all times here."""
    stored_ms: int = -1
    """When the syncs were."""
    members: dict[str, set[int]] = field(default_factory=dict)
    """Member id (of static members the instance id) to partitions."""


@dataclass(eq=False, kw_only=True)
class Consumer(ClassicTalker):
    """One process."""

    play: Play
    dead: bool = False
    busy_until_ms: int = 0
    assign_s: float = 0.0
    """How long it takes to assign when it leads."""
    stuck: set[int] = field(default_factory=set)
    """Partitions of which it reads nothing."""
    asked: tuple[Ticket, Said] | None = None
    """Its join or sync, until it has acted on the answer."""
    reason: str | None = None
    beat_at_ms: int = 0
    commit_at_ms: int = 0
    sync_at_ms: int = 0

    @property
    def partitions(self) -> set[int]:
        """Those that it reads."""
        return {number for _, number in self.owned}

    # What may happen to it

    def works(self, seconds: float) -> None:
        """Process a batch for this long before the next poll."""
        self.busy_until_ms = self.world.now_ms + round(1000 * seconds)

    def times_out(self) -> None:
        """Leave at the poll timeout, silently as most libraries, and join again when possible."""
        self._says(self.leave())
        self.forget()

    def crashes(self) -> None:
        self.dead = True

    def closes(self) -> None:
        """Commit, and leave unless it is static."""
        self._commits()
        if self.instance is None:
            self._says(self.leave(reason="the consumer is being closed"))
        self.dead = True

    def rejoins(self) -> None:
        self.is_out()
        self.reason = "cached metadata has changed"

    # Its life

    def hear(self, ticket: Ticket) -> None:
        """Store the response, which is processed at the next poll."""

    def tick(self) -> None:
        now_ms = self.world.now_ms
        if self.dead:
            return
        if self.asked is None and self.phase != JOINED and now_ms >= self.beat_at_ms and self.member_id:
            self.beat_at_ms = now_ms + BEAT_MS
            self._hears_at_once(self.beat())
        if now_ms < self.busy_until_ms:
            return
        if self.asked is not None or self.phase == JOINED:
            self.takes()
        elif self.phase == OUT:
            self.gives_up(self.owned)
            self._joins()
        elif now_ms >= self.commit_at_ms:
            self._commits()

    def takes(self) -> None:
        """Process a response: sync after the join, as a leader with an assignment."""
        if self.asked is not None and self.asked[0].heard is not None:
            (ticket, said), self.asked = self.asked, None
            if said.hear(ticket.heard) is E.member_id_required:
                self._joins()
            elif self.phase == JOINED:
                delay_ms = round(1000 * self.assign_s) if self.leads else 0
                self.sync_at_ms = self.play.told_of(self.generation).barrier_ms - EPOCH_MS + delay_ms
            elif self.phase == SYNCED:
                who = self.instance or self.member_id  # a returned static member counts as the same one
                self.play.told_of(self.generation).members[who] = self.partitions
                self.commit_at_ms = self.world.now_ms + COMMIT_MS
        if self.asked is None and self.phase == JOINED and self.world.now_ms >= self.sync_at_ms:
            self._asks_for(self.sync(self.shares()))

    def _joins(self) -> None:
        self._asks_for(self.join(reason=self.reason))
        self.reason = None

    def _asks_for(self, said: Said) -> None:
        self.asked = self._says(said), said
        self.takes()

    def _hears_at_once(self, said: Said) -> None:
        ticket = self._says(said)
        if ticket.heard is not None:
            said.hear(ticket.heard)

    def _commits(self) -> None:
        now_ms = self.world.now_ms
        self.commit_at_ms = now_ms + COMMIT_MS
        for partition in sorted(self.partitions - self.stuck):
            self._hears_at_once(self.commit(self.play.topic, partition, self.play.read(partition, now_ms)))

    def shares(self) -> dict[str, bytes]:
        """Assign by range, in the order of member ids."""
        ids = sorted(member.member_id for member in self.followers)
        each, more = divmod(self.play.partitions, len(ids) or 1)
        shares, at = {}, 0
        for number, member_id in enumerate(ids):
            count = each + (number < more)
            mine = tuple(range(at, at + count))
            shares[member_id] = write_assignment(Assignment(partitions={self.play.topic: mine} if mine else {}))
            at += count
        return shares


class Play:
    """A group, its consumers, and their responses."""

    def __init__(self, group: str = "billing", partitions: int = 6, **settings: int) -> None:
        self.world = LoggedWorld(**settings)
        self.group = group
        self.topic = "orders"
        self.partitions = partitions
        self.consumers: list[Consumer] = []
        self.truth: dict[int, Told] = {}

    def starts(self, name: str, **traits: Any) -> Consumer:
        """Start a process that joins, with traits of `ClassicTalker` and times in milliseconds."""
        consumer = Consumer(
            name=name, group_id=self.group, names=(self.topic,), topics=self, world=self.world, play=self, **traits
        )
        self.consumers.append(consumer)
        return consumer

    def run(self, seconds: float) -> None:
        for _ in range(round(1000 * seconds / TICK_MS)):
            self.world.after(TICK_MS)
            for consumer in list(self.consumers):
                consumer.tick()
            for consumer in list(self.consumers):  # effects of a request are received in the same tick
                if not consumer.dead and self.world.now_ms >= consumer.busy_until_ms:
                    consumer.takes()

    def away(self, seconds: float) -> None:
        """Let a long time pass without activity; the coordinator checks old offsets every minute."""
        for _ in range(round(seconds / 60)):
            self.world.after(60_000)
            self.world.sweeps()

    def forgotten(self) -> None:
        """Record that the group was deleted, so that its generations restart."""
        assert not self.world.coordinator.groups
        self.truth.clear()

    def told_of(self, generation: int) -> Told:
        """Return the record of a generation, whose start is its first member's response."""
        group = self.world.group(self.group)
        if generation not in self.truth:
            self.truth[generation] = Told(generation, group.state_timestamp_ms)
        return self.truth[generation]

    def read(self, partition: int, now_ms: int) -> int:
        """Return the read position of a partition."""
        return now_ms * RATE // 1000 + partition

    # What consumers know of topics

    def name_of(self, topic_id: UUID) -> str:
        return self.topic

    def topic_ids(self) -> dict[str, UUID]:
        return {self.topic: TOPIC_ID}

    def partitions_of(self, name: str) -> int:
        return self.partitions
