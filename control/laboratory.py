"""The laboratory of one cluster: everything that a test may do to it, and the broker's side of that.

Made before the server, which needs its registry: `Server(cluster, laboratory.registry, loop)`, then `attach(server)`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from kohort.broker.cluster.effects import perform
from kohort.control.appends import Appends
from kohort.control.calls import Call, LabRegistry
from kohort.control.clock import LabClock
from kohort.control.faults.table import Faults
from kohort.control.gates import Gates
from kohort.control.moments import Moments
from kohort.control.recorder import Recorder
from kohort.control.safety import Budget, Oracle
from kohort.control.subject import Subject
from kohort.control.topics import Topics
from kohort.control.waiting import Waiters
from kohort.control.zombies import Zombies
from kohort.coordinator.classic import sessions
from kohort.coordinator.classic.group import ClassicGroup
from kohort.coordinator.classic.member import Member
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.broker.cluster.cluster import Cluster
    from kohort.broker.runtime.connection import Connection
    from kohort.broker.runtime.server import Server

NEVER_MS = 1 << 50
"""A deadline that no clock reaches: what waits for it is ended otherwise."""


class Laboratory:
    """Clock, faults and gates of a cluster, and who of its members is alive."""

    server: Server

    def __init__(self, cluster: Cluster, clock: LabClock) -> None:
        self.cluster = cluster
        self.clock = clock
        self.faults = Faults(Random(cluster.random.random()), cluster.topics, [node.id for node in cluster.nodes])
        self.appends = Appends(self, Random(cluster.random.random()))
        self.gates = Gates(self)
        self.moments = Moments(self)
        self.zombies = Zombies(self)
        self.topics = Topics(self)
        self.waiters = Waiters()
        self.recorder = Recorder(cluster)
        self.recorder.disowns = self.zombies.told
        self.safety: Oracle | None = None
        """Watches for what must never be, once `watch_safety` was called."""
        self.registry = LabRegistry(self)
        self._last_heard: dict[tuple[str, str], Connection] = {}
        """The connection on which a member of a group was last heard."""
        self.gates.changed = self.waiters.look
        cluster.wait_for_records = self._wait_for_records

    def attach(self, server: Server) -> None:
        """Takes the server that was made with `registry`."""
        self.server = server
        self.clock.changed = server.rearm

    def record(self) -> None:
        """Keeps every group event from now on, and wakes who waits for one."""
        if not self.recorder.running:
            self.recorder.start()
            self.recorder.listen(lambda _: self.waiters.look())

    def watch_safety(self, budget: Budget) -> None:
        """Watches from now on for what must never be."""
        self.record()
        self.safety = Oracle(self, budget)
        self.safety.start()

    def reset(self) -> tuple[list[str], list[str]]:
        """The end of a test that shares the brokers with others: rules end, gates open, the clock runs as it did.

        Returns a line for each gate that was still held, and the violations so far, which are forgotten.
        """
        self.faults.clear()
        self.appends.clear()
        gates = self.gates.open_all()
        self.clock.run(1.0)
        violations: list[str] = []
        if self.safety is not None:
            violations, self.safety.violations = self.safety.violations, []
        return gates, violations

    def group(self, group_id: str) -> ClassicGroup | None:
        """A group, wherever it is looked after; a zombie does not look after it, though it may think so."""
        for coordinator in self.cluster.coordinators:
            group = coordinator.groups.get(group_id)
            if group is not None and not (self.zombies and self.zombies.has(coordinator, group.partition)):
                return group
        return None

    def heard(self, call: Call) -> None:
        """A request has come."""
        for member_id in call.subject.members:
            if member_id:
                self._last_heard[call.subject.group, member_id] = call.connection

    def advance(self, length_ms: int, *, expire_the_living: bool = False) -> None:
        """Moves the brokers' clock, from one moment at which something is due to the next.

        Members that live go on living: a member whose connection is open, and that no fault keeps silent, would have
        sent its heartbeats meanwhile, so its session is kept. With `expire_the_living` nobody's is.
        """
        clock, purgatory = self.clock, self.cluster.purgatory
        end_ms = clock.now_ms() + length_ms
        while (wakeup_ms := purgatory.next_wakeup_ms) is not None and wakeup_ms <= end_ms:
            self._come_to(max(wakeup_ms, clock.now_ms()), expire_the_living)
        self._come_to(end_ms, expire_the_living)
        self.waiters.look()

    def is_alive(self, group: ClassicGroup, member: Member) -> bool:
        """Whether a member is there to beat: its connection is open, and nothing keeps it silent."""
        connection = self._last_heard.get((group.group_id, member.member_id))
        if connection is None or connection.closed or connection not in self.server.connections:
            return False
        if self.zombies and connection.node.coordinator is not group.coordinator and self.zombies.haunt(group):
            return False  # it beats at another one, who thinks that the group is its own
        return not self.faults.silences(_Beat(group, member, connection.node.id))

    def _come_to(self, now_ms: int, expire_the_living: bool) -> None:
        self.clock.move_to(now_ms)
        for connection in self.server.connections:
            connection.heard_at_ms = now_ms
        if not expire_the_living:
            for group, member in self._members():
                if member.session is not None and self.is_alive(group, member):
                    sessions.extend(group, member, now_ms)
        self.server.advance(now_ms)

    def _members(self) -> Iterator[tuple[ClassicGroup, Member]]:
        for coordinator in self.cluster.coordinators:
            for group in coordinator.groups.values():
                for member in group.members.values():
                    yield group, member

    def _wait_for_records(self, operation: DelayedOperation, keys: Iterable[Hashable]) -> None:
        """Fetches wait in real time: their deadline is the machine's matter, whatever the brokers' clock does."""
        length_ms = operation.deadline_ms - self.clock.now_ms()
        operation.deadline_ms = NEVER_MS
        self.cluster.purgatory.wait(operation, keys)
        self.server.loop.call_later(max(length_ms, 0) / 1000, partial(self._overdue, operation))

    def _overdue(self, operation: DelayedOperation) -> None:
        now_ms = self.clock.now_ms()
        if not operation.completed:
            self.cluster.purgatory.complete(operation, now_ms)
            perform(self.cluster, now_ms)
            self.server.end_turn(now_ms)


class _Beat(Subject):
    """The heartbeat that a member would send."""

    __slots__ = ("_group",)

    def __init__(self, group: ClassicGroup, member: Member, node: int) -> None:
        self._group = group
        self.node = node
        self.group = group.group_id
        self.client_id = member.client_id
        self.members = (member.member_id,)
        self.instances = (member.group_instance_id or "",)
        self.generation = group.generation_id

    @property
    def api(self) -> str:
        return "Heartbeat"

    @property
    def version(self) -> int:
        return 4

    @property
    def state(self) -> str:
        return self._group.state.value
