"""Consumers as they behave, on the real coordinator and a clock moved by hand; and the truth of what happened.

A second is ten ticks. A consumer polls at each tick unless it is busy with a batch; its heartbeats go on meanwhile, as
those of a background thread. What it hears of its group it acts on at its next poll. The logs are those of
`LoggedWorld`; the truth is what the consumers themselves were told, and when.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kohort.protocol.consumer_protocol import (
    Assignment,
    Subscription,
    read_assignment,
    write_assignment,
    write_subscription,
)
from kohort.protocol.errors import ErrorCode as E
from tests.pipeline.own_logs import LoggedWorld
from tests.support.coordinator_world import EPOCH_MS, Speaker, Ticket

TICK_MS = 100
BEAT_MS = 1_000
COMMIT_MS = 1_000
RATE = 10
"""Records a second that a consumer reads of each partition."""


@dataclass
class Told:
    """One generation, by the account of those who were in it."""

    generation: int
    barrier_ms: int
    """When the joins were answered; wall clock, like all times here."""
    stored_ms: int = -1
    """When the syncs were."""
    members: dict[str, set[int]] = field(default_factory=dict)
    """Member id (of static members the instance id) to partitions."""


class Consumer:
    """One process."""

    def __init__(self, play: Play, name: str, **traits: Any) -> None:
        self.play = play
        self.name = name
        topics = traits.pop("topics", (play.topic,))
        data = write_subscription(Subscription(topics=tuple(topics)))
        self.speaker: Speaker = play.world.speaker(name, group_id=play.group, protocols=(("range", data),), **traits)
        self.dead = False
        self.busy_until_ms = 0
        self.partitions: set[int] = set()
        self._wants_to_join = True
        self._join: Ticket | None = None
        self._sync: Ticket | None = None
        self._beat_at_ms = self._commit_at_ms = 0
        self.assign_s = 0.0
        """How long it takes to assign when it leads."""
        self._sync_at_ms = 0
        self.stuck: set[int] = set()
        """Partitions of which it reads nothing."""

    # What may happen to it

    def works(self, seconds: float) -> None:
        """Its batch takes so long; it polls again when that is done."""
        self.busy_until_ms = self.play.world.now_ms + round(1000 * seconds)

    def gives_up(self) -> None:
        """Its poll timeout is over: it leaves by itself, as most libraries do without a word, and joins when it can."""
        self.speaker.leaves()
        self.speaker.member_id, self.speaker.generation = "", -1
        self.partitions = set()
        self._wants_to_join = True

    def crashes(self) -> None:
        """kill -9: nobody is told."""
        self.dead = True

    def closes(self) -> None:
        """It commits, and leaves unless it is static."""
        self._commit()
        if self.speaker.instance is None:
            self.speaker.leaves(reason="the consumer is being closed")
        self.dead = True

    def rejoins(self, reason: str = "cached metadata has changed") -> None:
        """Asks for a rebalance, as a leader that sees other partitions does."""
        self._wants_to_join = True
        self._reason = reason

    # Its life

    _reason: str | None = None

    def tick(self) -> None:
        now_ms = self.play.world.now_ms
        if self.dead:
            return
        if self._join is None and self._sync is None and now_ms >= self._beat_at_ms and self.speaker.member_id:
            self._beat_at_ms = now_ms + BEAT_MS
            self._hear(self.speaker.beats())
        if now_ms < self.busy_until_ms:
            return
        if self._join is not None:
            self._joined()
        elif self._sync is not None:
            self._synced()
        elif self._wants_to_join:
            self.partitions = set()
            self._wants_to_join = False
            self._join = self.speaker.enters(reason=self._reason)
            self._reason = None
            self._joined()
        elif now_ms >= self._commit_at_ms:
            self._commit()

    def _hear(self, error: E | None) -> None:
        if error is E.rebalance_in_progress:
            self._wants_to_join = True
        elif error in (E.unknown_member_id, E.illegal_generation, E.fenced_instance_id):
            if error is E.unknown_member_id:
                self.speaker.member_id, self.speaker.generation = "", -1
            self._wants_to_join = True

    def _joined(self) -> None:
        ticket = self._join
        if ticket is None or ticket.heard is None:
            return
        if ticket.error is not E.none:
            self._join = None
            self._hear(ticket.error)
            self._wants_to_join = True
            return
        told = self.play.told_of(self.speaker.generation)
        if not self._sync_at_ms:
            delay_ms = round(1000 * self.assign_s) if self.speaker.leads else 0
            self._sync_at_ms = told.barrier_ms - EPOCH_MS + delay_ms
        if self.play.world.now_ms < self._sync_at_ms:
            return
        self._sync_at_ms, self._join = 0, None
        shares = self.play.assign(ticket.heard.members) if self.speaker.leads else None
        self._sync = self.speaker.syncs(shares)
        self._synced()

    def _synced(self) -> None:
        ticket = self._sync
        if ticket is None or ticket.heard is None:
            return
        self._sync = None
        if ticket.error is not E.none:
            self._hear(ticket.error)
            return
        read = read_assignment(ticket.heard.assignment)
        self.partitions = set(read.partitions.get(self.play.topic, ())) if read is not None else set()
        who = self.speaker.instance or self.speaker.member_id  # a static one that is back stands for who it was
        self.play.told_of(self.speaker.generation).members[who] = set(self.partitions)
        self._commit_at_ms = self.play.world.now_ms + COMMIT_MS

    def _commit(self) -> None:
        now_ms = self.play.world.now_ms
        self._commit_at_ms = now_ms + COMMIT_MS
        for partition in sorted(self.partitions):
            if partition in self.stuck:
                continue
            offset = self.play.read(partition, now_ms)
            ticket = self.speaker.commits(offset, topic=self.play.topic, partition=partition)
            if ticket.heard is not None:
                self._hear(ticket.heard.topics[0].partitions[0].error_code)


class Play:
    """A group, its consumers, and what they were told."""

    def __init__(self, group: str = "billing", partitions: int = 6, **settings: int) -> None:
        self.world = LoggedWorld(**settings)
        self.group = group
        self.topic = "orders"
        self.partitions = partitions
        self.consumers: list[Consumer] = []
        self.truth: dict[int, Told] = {}

    def starts(self, name: str, **traits: Any) -> Consumer:
        """A process that joins; traits are those of `Speaker`, times in milliseconds."""
        consumer = Consumer(self, name, **traits)
        self.consumers.append(consumer)
        return consumer

    def run(self, seconds: float) -> None:
        """Time goes by."""
        for _ in range(round(1000 * seconds / TICK_MS)):
            self.world.after(TICK_MS)
            for consumer in list(self.consumers):
                consumer.tick()
            for consumer in list(self.consumers):  # what somebody's request brought about is heard in the same tick
                if not consumer.dead and self.world.now_ms >= consumer.busy_until_ms:
                    consumer._joined()
                    consumer._synced()

    def away(self, seconds: float) -> None:
        """A long time in which nobody does anything; the coordinator looks after old offsets as it does by the minute."""
        for _ in range(round(seconds / 60)):
            self.world.after(60_000)
            self.world.sweeps()

    def forgotten(self) -> None:
        """The group is gone with all that was told of it: its numbers begin anew."""
        assert not self.world.coordinator.groups
        self.truth.clear()

    def told_of(self, generation: int) -> Told:
        """What is known of a generation; the first who hears of it says when it began."""
        group = self.world.group(self.group)
        if generation not in self.truth:
            self.truth[generation] = Told(generation, group.state_timestamp_ms)
        return self.truth[generation]

    def assign(self, members: Any) -> dict[str, bytes]:
        """Range, in the order of member ids."""
        ids = sorted(member.member_id for member in members)
        each, more = divmod(self.partitions, len(ids))
        shares, at = {}, 0
        for number, member_id in enumerate(ids):
            count = each + (number < more)
            mine = tuple(range(at, at + count))
            shares[member_id] = write_assignment(Assignment(partitions={self.topic: mine} if mine else {}))
            at += count
        return shares

    def read(self, partition: int, now_ms: int) -> int:
        """How far a reader of a partition is."""
        return now_ms * RATE // 1000 + partition
