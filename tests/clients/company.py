"""Consumers in processes of their own, as a test talks of them: ada joins, bob leaves, eve crashes."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from uuid import uuid4

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kohort.demo.reports import Closed, Consumed, Owns, Report, Revoked, read
from kohort.demo.workers.consumer import Part
from tests.clients.libraries import BY_NAME, command_of
from tests.clients.ordered_process import PATIENCE_S, OrderedProcess

SESSION_TIMEOUT_MS = 6_000
LONG_SESSION_MS = PATIENCE_S * 1000  # longer than a client may need to reconnect to a restarted broker
# the same in the consumer protocol; limited by group.consumer.max.session.timeout.ms
LONGEST_CONSUMER_SESSION_MS = 60_000
CALM_S = 1.0
CLOCK_STEP_S = 0.001  # resolution of clocks in some languages
# offset from the clock of reports in Python to the wall clock, which all workers can read
CLOCKS_S = time.time() - time.monotonic()

Stretch = tuple[float, float, int, str]  # time range of an ownership by the wall clock, partition, and owner


class Member(OrderedProcess):
    """One consumer, and everything it has reported."""

    def __init__(self, part: Part, changed: threading.Condition) -> None:
        super().__init__([*command_of(part.library), json.dumps(asdict(part))], changed)
        self.name = part.name
        self.library = part.library
        self.owns: set[int] = set()
        self.revoked: list[int] = []  # every partition that was ever revoked
        self.consumed: list[tuple[int, int]] = []  # partition and offset, in the order of arrival
        self.generations: list[int] = []  # the generation of each batch
        self._since: dict[int, float] = {}  # start of each current ownership
        self._stretches: list[Stretch] = []
        self.order("join")
        self._listener.start()

    def crash(self) -> None:
        super().crash()
        self._give_up(self.owns, time.time())

    def heard(self, line: str) -> None:
        self._note(read(line.encode()))

    def _note(self, report: Report) -> None:
        match report:
            case Owns(at, partitions):
                self.owns |= set(partitions)
                for partition in partitions:
                    self._since.setdefault(partition, self._wall_s(at))
            case Revoked(at, partitions):
                self.owns -= set(partitions)
                self.revoked += partitions
                self._give_up(partitions, self._wall_s(at))
            case Consumed(_, generation, _, ranges):
                self.generations.append(generation)
                for partition, first, last in ranges:
                    self.consumed += ((partition, offset) for offset in range(first, last + 1))
            case Closed():
                self.closed = True
                self._give_up(self.owns, time.time())
            case _:
                pass

    def _wall_s(self, at: float) -> float:
        return at + CLOCKS_S if BY_NAME[self.library].language == "Python" else at

    def _give_up(self, partitions: Iterable[int], at: float) -> None:
        for partition in partitions:
            if partition in self._since:
                self._stretches.append((self._since.pop(partition), at, partition, self.name))

    def stretches(self) -> list[Stretch]:
        """Return its ownerships up to now."""
        now = time.time()
        return [*self._stretches, *((since, now, partition, self.name) for partition, since in self._since.items())]


class Company:
    """A group on a topic of its own, with its members."""

    def __init__(
        self, bootstrap: str, partitions: int = 6, copies: int = 1, session_timeout_ms: int = SESSION_TIMEOUT_MS
    ) -> None:
        """Create the topic.

        Args:
            session_timeout_ms: Session timeout of the members; a long one if no session may expire.
        """
        self.bootstrap = bootstrap
        self._session_timeout_ms = session_timeout_ms
        self.partitions = set(range(partitions))
        self.topic = f"topic-{uuid4().hex[:8]}"
        self.group = f"group-{uuid4().hex[:8]}"
        self.members: list[Member] = []
        self._changed = threading.Condition()
        self._next = [0] * partitions
        self._producer = Producer({"bootstrap.servers": bootstrap})
        admin = AdminClient({"bootstrap.servers": bootstrap})
        admin.create_topics([NewTopic(self.topic, partitions, copies)])[self.topic].result(PATIENCE_S)

    def join(
        self,
        name: str,
        library: str,
        *,
        instance: str | None = None,
        cooperative: bool = False,
        protocol: str = "classic",
        topic: str | None = None,
    ) -> Member:
        """Start a consumer. `topic`: its subscription instead of the company's topic."""
        part = Part(
            name=name,
            library=library,
            bootstrap=self.bootstrap,
            topic=topic or self.topic,
            group=self.group,
            instance=instance,
            cooperative=cooperative,
            protocol=protocol,
            session_timeout_ms=self._session_timeout_ms if instance is None else LONG_SESSION_MS,
            heartbeat_interval_ms=300,
            max_poll_interval_ms=PATIENCE_S * 1000,
        )
        member = Member(part, self._changed)
        self.members.append(member)
        return member

    def produce(self, count: int) -> set[tuple[int, int]]:
        """Send records to each partition, with their partition and number as value. Return these."""
        sent = {
            (partition, offset) for partition, first in enumerate(self._next) for offset in range(first, first + count)
        }
        for partition, offset in sorted(sent):
            self._producer.produce(self.topic, f"{partition}:{offset}".encode(), partition=partition)
        assert self._producer.flush(PATIENCE_S) == 0
        self._next = [first + count for first in self._next]
        return sent

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for a condition."""
        deadline = time.monotonic() + PATIENCE_S
        with self._changed:
            while not condition():
                left_s = deadline - time.monotonic()
                assert left_s > 0, f"{what}: not within {PATIENCE_S} s; {self}"
                self._changed.wait(left_s)

    def until_shared_by(self, *members: Member) -> None:
        """Wait until these members own every partition exactly once, and each member has some."""

        def shared() -> bool:
            owned = [partition for member in members for partition in member.owns]
            return all(member.owns for member in members) and sorted(owned) == sorted(self.partitions)

        self.until(shared, "the group shares the partitions")

    def until_calm(self) -> None:
        """Wait until no assignment has changed for CALM_S, because some leaders request a second rebalance at once."""
        known: list[tuple[set[int], int]] = []
        with self._changed:
            while known != (now := [(set(member.owns), len(member.revoked)) for member in self.members]):
                known = now
                self._changed.wait_for(
                    lambda: known != [(member.owns, len(member.revoked)) for member in self.members],  # noqa: B023
                    CALM_S,
                )

    def until_consumed(self, expected: set[tuple[int, int]], *members: Member) -> None:
        """Wait until these members have read all expected records."""
        self.until(
            lambda: expected <= {record for member in members for record in member.consumed}, "every record is consumed"
        )

    def assert_never_two_owners(self) -> None:
        """Check that each partition was revoked before its next owner received it, by the clocks of the members."""
        stretches = sorted(stretch for member in self.members for stretch in member.stretches())
        last: dict[int, Stretch] = {}
        for stretch in stretches:
            since, until, partition, name = stretch
            before = last.get(partition)
            if before is not None and name != before[3]:
                assert since >= before[1] - CLOCK_STEP_S, (
                    f"partition {partition} was {name}'s {before[1] - since:.3f} s before {before[3]} revoked it"
                )
            if before is None or until > before[1]:
                last[partition] = stretch

    def __str__(self) -> str:
        return "; ".join(
            f"{member.name} ({member.library}, {'running' if member.running else 'gone'}) owns {sorted(member.owns)}, "
            f"read {len(member.consumed)}"
            for member in self.members
        )

    def dissolve(self) -> None:
        for member in self.members:
            if member.running:
                member.crash()
