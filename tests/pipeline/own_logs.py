"""Logs that kohort writes of itself: conversations on a clock moved by hand, as segment files and as an event log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kohort.broker.cluster.event_log import line_of
from kohort.broker.cluster.group_events import Recorded
from kohort.protocol.consumer_protocol import Assignment, Subscription, write_assignment, write_subscription
from kohort.protocol.errors import ErrorCode as E
from tests.support.coordinator_world import Speaker, World

TOPIC, PARTITIONS = "orders", 6


class LoggedWorld(World):
    """A world that keeps what a broker would write to its disk."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.listen()
        self.batches: list[bytes] = []

    def write(self, error: E | None = None, count: int | None = None) -> None:
        for append in self.held[:count]:
            batch = append.records.batch(append.timestamp_ms)
            self.batches.append(len(self.log[append.partition]).to_bytes(8, "big") + batch[8:])
        super().write(error, count)

    def save(self, folder: Path) -> None:
        """Write both types of log to one directory."""
        segments, events = folder / "__consumer_offsets-0", folder / "events"
        segments.mkdir(parents=True)
        events.mkdir()
        (segments / f"{0:020}.log").write_bytes(b"".join(self.batches))
        lines = [line_of(Recorded(1, "b007", seq, event)) for seq, event in enumerate(self.events, 1)]
        (events / "group-events-1-b007-1.jsonl").write_bytes(b"".join(lines))

    def consumer(self, name: str) -> Speaker:
        """Create a consumer that reads an assigned topic for half a minute."""
        metadata = write_subscription(Subscription(topics=(TOPIC,)))
        return self.speaker(name, group_id="billing", protocols=(("range", metadata),), session_ms=10_000)

    def shared(self, *members: Speaker) -> None:
        """Sync all members, with equal numbers of partitions."""
        shares = {
            member.member_id: write_assignment(
                Assignment(partitions={TOPIC: tuple(range(number, PARTITIONS, len(members)))})
            )
            for number, member in enumerate(members)
        }
        for member in members:
            member.syncs(shares)

    def consume(self, seconds: int, *members: Speaker) -> None:
        """Let all members send heartbeats and commits, once per second."""
        for _ in range(seconds):
            self.after(1_000)
            for number, member in enumerate(members):
                if member.beats() is E.none:
                    for partition in range(number, PARTITIONS, len(members)):
                        member.commits(self.now_ms // 10, topic=TOPIC, partition=partition)


def slow_member_that_leaves() -> LoggedWorld:
    """Let bob leave at its poll timeout without a reason, as most clients do."""
    world = LoggedWorld()
    ada, bob, eve = world.consumer("ada"), world.consumer("bob"), world.consumer("eve")
    ada.enters()
    bob.enters()
    world.after(0)
    world.shared(ada, bob)
    world.consume(20, ada, bob)
    eve.enters()
    world.after(1_000)
    ada.joins()
    for _ in range(4):
        world.after(7_000)
        bob.beats()
    bob.leaves()
    world.shared(ada, eve)
    world.consume(70, ada, eve)
    return world


def slow_member() -> LoggedWorld:
    """Let bob delay three rebalances by half a minute with one batch each.

    Each time bob is removed at the barrier, commits in vain, and joins as a new member; then eve leaves.
    """
    world = LoggedWorld()
    ada, bob = world.consumer("ada"), world.consumer("bob")
    ada.enters()
    bob.enters()
    world.after(0)
    world.shared(ada, bob)
    for _ in range(3):
        world.consume(20, ada, bob)
        eve = world.consumer("eve")
        eve.enters()
        world.after(2_000)
        ada.joins(reason="rebalance failed due to REBALANCE_IN_PROGRESS")
        for _ in range(4):
            world.after(7_000)
            bob.beats()
        world.shared(ada, eve)
        world.consume(5, ada, eve)
        for offset in range(4):
            bob.commits(offset, topic=TOPIC)
        bob.member_id, bob.generation = "", -1
        bob.enters()
        world.after(300)
        eve.leaves(reason="the consumer is being closed")
        ada.joins()
        world.shared(ada, bob)
    world.consume(70, ada, bob)
    return world
