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
LONG_SESSION_MS = PATIENCE_S * 1000
"""Longer than a client may take to find a broker again that was away."""
LONGEST_CONSUMER_SESSION_MS = 60_000
"""The same in the consumer protocol; group.consumer.max.session.timeout.ms allows no longer one."""
CALM_S = 1.0
CLOCK_STEP_S = 0.001
"""Clocks of some languages have no finer steps."""
CLOCKS_S = time.time() - time.monotonic()
"""From the clock of reports in Python to the wall clock, which all others can read."""

Stretch = tuple[float, float, int, str]
"""From when to when somebody owned a partition, by the wall clock; which one, and who."""


class Member(OrderedProcess):
    """One consumer, and everything it has reported."""

    def __init__(self, part: Part, changed: threading.Condition) -> None:
        super().__init__([*command_of(part.library), json.dumps(asdict(part))], changed)
        self.name = part.name
        self.library = part.library
        self.owns: set[int] = set()
        self.revoked: list[int] = []
        """Every partition that was ever taken from it."""
        self.consumed: list[tuple[int, int]] = []
        """Partition and offset, in the order of arrival."""
        self.generations: list[int] = []
        """The generation of each batch."""
        self._since: dict[int, float] = {}
        """Since when it owns what it owns."""
        self._stretches: list[Stretch] = []
        self.order("join")
        self._listener.start()

    def crash(self) -> None:
        """See `OrderedProcess`. What it owns is nobody's then."""
        super().crash()
        self._give_up(self.owns, time.time())

    def heard(self, line: str) -> None:
        """See `OrderedProcess`."""
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
        """When it owned what, up to now."""
        now = time.time()
        return [*self._stretches, *((since, now, partition, self.name) for partition, since in self._since.items())]


class Company:
    """A group on a topic of its own, and whoever belongs to it."""

    def __init__(
        self, bootstrap: str, partitions: int = 6, copies: int = 1, session_timeout_ms: int = SESSION_TIMEOUT_MS
    ) -> None:
        """`session_timeout_ms`: after which a member is missed; a long one where nobody is to be."""
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
        """Starts a consumer that joins as soon as it can. `topic`: what it subscribes to in place of the company's."""
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
        """Sends so many records to each partition, with their place as their value. Returns the places."""
        sent = {
            (partition, offset) for partition, first in enumerate(self._next) for offset in range(first, first + count)
        }
        for partition, offset in sorted(sent):
            self._producer.produce(self.topic, f"{partition}:{offset}".encode(), partition=partition)
        assert self._producer.flush(PATIENCE_S) == 0
        self._next = [first + count for first in self._next]
        return sent

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Waits for something to be so."""
        deadline = time.monotonic() + PATIENCE_S
        with self._changed:
            while not condition():
                left_s = deadline - time.monotonic()
                assert left_s > 0, f"{what}: not within {PATIENCE_S} s; {self}"
                self._changed.wait(left_s)

    def until_shared_by(self, *members: Member) -> None:
        """Waits until these own every partition between them, each some, and none twice."""

        def shared() -> bool:
            owned = [partition for member in members for partition in member.owns]
            return all(member.owns for member in members) and sorted(owned) == sorted(self.partitions)

        self.until(shared, "the group shares the partitions")

    def until_calm(self) -> None:
        """Waits until nobody's partitions have changed for CALM_S: some leaders ask for a second rebalance at once."""
        known: list[tuple[set[int], int]] = []
        with self._changed:
            while known != (now := [(set(each.owns), len(each.revoked)) for each in self.members]):
                known = now
                self._changed.wait_for(
                    lambda: known != [(each.owns, len(each.revoked)) for each in self.members],  # noqa: B023
                    CALM_S,
                )

    def until_consumed(self, expected: set[tuple[int, int]], *members: Member) -> None:
        """Waits until these have read all the expected records between them."""
        self.until(
            lambda: expected <= {record for member in members for record in member.consumed}, "every record is consumed"
        )

    def assert_never_two_owners(self) -> None:
        """No partition was somebody's before another one had let go of it, by what members were told, and when."""
        stretches = sorted(each for member in self.members for each in member.stretches())
        last: dict[int, Stretch] = {}
        for stretch in stretches:
            since, until, partition, name = stretch
            before = last.get(partition)
            if before is not None and name != before[3]:
                assert since >= before[1] - CLOCK_STEP_S, (
                    f"partition {partition} was {name}'s {before[1] - since:.3f} s before {before[3]} let go of it"
                )
            if before is None or until > before[1]:
                last[partition] = stretch

    def __str__(self) -> str:
        return "; ".join(
            f"{each.name} ({each.library}, {'running' if each.running else 'gone'}) owns {sorted(each.owns)}, "
            f"read {len(each.consumed)}"
            for each in self.members
        )

    def dissolve(self) -> None:
        """Ends whoever is left."""
        for member in self.members:
            if member.running:
                member.crash()
