"""The laboratory of one cluster: everything that a test can do to it, and the broker's side of that.

It is created before the first connection. `attach(server)` must be called when the server exists.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, cast

from kohort.broker.runtime.server import DUE_AT_ONCE
from kohort.broker.scheduling.cooperative import Task
from kohort.control.brokers import Brokers
from kohort.control.clock.lab_clock import LabClock
from kohort.control.clock.liveness import Liveness
from kohort.control.faults.appends import Appends
from kohort.control.faults.conditions import Conditions
from kohort.control.faults.table import Faults
from kohort.control.faults.zombies import Zombies
from kohort.control.gates.gates import Gates
from kohort.control.history.recorder import Recorder
from kohort.control.lab_acls import Acls
from kohort.control.lab_hooks import LabHooks
from kohort.control.lab_topics import Topics
from kohort.control.oracle.safety import Budget, SafetyMonitor
from kohort.coordinator.at_once import at_once
from kohort.coordinator.classic import sessions
from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.groups.group import CLASSIC
from kohort.coordinator.modern.membership import keep_alive

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.broker.runtime.server import Server
    from kohort.control.clock.liveness import AnyGroup, AnyMember
    from kohort.coordinator.groups.group import Group

# Part at the end of a jump in which logs are cleaned: long enough for a compaction, which takes many slices.
HOUSEKEEPING_MS = 60_000

MEMBERS_AT_ONCE = 64  # members whose sessions are extended in one slice: two milliseconds


class Laboratory:
    """Clock, faults and gates of a cluster, and the liveness of its members."""

    def __init__(self, cluster: BrokerCluster, clock: LabClock) -> None:
        self.cluster = cluster
        self.clock = clock
        self.brokers = brokers = Brokers(cluster, clock)
        self.waiters = brokers.waiters
        self.recorder = Recorder(cluster)
        self.recorder.listen(lambda _: self.waiters.look())
        nodes = [node.id for node in cluster.nodes]
        self.faults = Faults(Random(cluster.random.random()), cluster.topics, nodes, self.waiters)
        self.acls = Acls(cluster)
        self.appends = Appends(brokers, Random(cluster.random.random()))
        self.gates = Gates(brokers)
        self.gates.changed = self.waiters.look
        self.zombies = Zombies(brokers, self.faults)
        self.recorder.disowns = self.zombies.is_from_zombie
        self.topics = Topics(brokers)
        self.liveness = Liveness(brokers, self.zombies, self.faults.silences)
        self._hooks = LabHooks(
            brokers,
            self.liveness,
            self.faults,
            self.gates,
            Conditions(self.recorder),
            self.appends,
            self.zombies,
        )
        cluster.hooks = self._hooks
        self.faults.asks_for_rights = cluster.ask_for_rights

    def attach(self, server: Server) -> None:
        self.brokers.server = server
        self.clock.changed = server.rearm

    @property
    def server(self) -> Server:
        return self.brokers.server

    @property
    def safety(self) -> SafetyMonitor | None:
        return self._hooks.oracle

    def record(self) -> None:
        self.recorder.start()

    def watch_safety(self, budget: Budget) -> None:
        self.record()
        self._hooks.oracle = SafetyMonitor(self.brokers, self.find, budget)
        self._hooks.oracle.start(self.recorder)

    def lift(self) -> list[str]:
        """Remove rules, open gates, and run the clock at normal speed.

        Returns:
            A line for each gate that still held requests.
        """
        self.faults.clear()
        self.acls.lift()
        self.appends.clear()
        gates = self.gates.open_all()
        self.clock.run(1.0)
        return gates

    def reset(self) -> tuple[list[str], list[str]]:
        """End a test on brokers that it shares with other tests: lift its changes and clear the violations.

        Returns:
            A line for each gate that still held requests, and the violations so far.
        """
        gates = self.lift()
        violations: list[str] = []
        if self.safety is not None:
            violations, self.safety.violations = self.safety.violations, []
        return gates, violations

    def find(self, group_id: str) -> Group | None:
        """Return a group of any type from its coordinator; zombies do not count as coordinators."""
        for coordinator in self.cluster.coordinators:
            group = coordinator.groups.get(group_id)
            if group is not None and not (self.zombies and self.zombies.includes(coordinator, group.partition)):
                return group
        return None

    @property
    def brokers_running(self) -> int:
        return len(self.cluster.running_nodes)

    @property
    def rules_at_work(self) -> list[str]:
        return [str(rule) for rule in (*self.faults, *self.appends.rules)]

    def group_ids(self) -> list[str]:
        return sorted(
            {group.group_id for coordinator in self.cluster.coordinators for group in coordinator.groups.values()}
        )

    def advance(self, length_ms: int, *, expire_live_members: bool = False) -> None:
        """Move the brokers' clock immediately, from one due time to the next.

        `jump.jump` does this for live clients, which need real time to act. Housekeeping, which would be due thousands
        of times a day, runs in the last minute only.

        The session of every live member is extended as if it had sent heartbeats during the jump: its connection is
        open and no fault silences it. With `expire_live_members` no session is extended.
        """
        end_ms = self.begin_jump(length_ms)
        while (moment_ms := self.next_moment_ms(end_ms)) is not None:
            if not expire_live_members:
                at_once(self.keep_alive(moment_ms))
            self.step_to(moment_ms)
        if not expire_live_members:
            at_once(self.extend_sessions(end_ms))
        self.step_to(end_ms)
        self.waiters.look()

    def begin_jump(self, length_ms: int) -> int:
        """Defer housekeeping that the jump skips, and return the moment at which the jump ends."""
        end_ms = self.clock.now_ms() + length_ms
        for operation in self.cluster.housekeeping:
            if operation.scheduled and operation.deadline_ms < end_ms - HOUSEKEEPING_MS:
                self.cluster.purgatory.postpone(operation, end_ms - HOUSEKEEPING_MS)
        return end_ms

    def next_moment_ms(self, end_ms: int) -> int | None:
        """Return the next due time, or None if it is after `end_ms`."""
        wakeup_ms = self.cluster.purgatory.next_wakeup_ms
        return max(wakeup_ms, self.clock.now_ms()) if wakeup_ms is not None and wakeup_ms <= end_ms else None

    def step_to(self, now_ms: int) -> None:
        """Perform one step of a jump: run a part of what is due, and schedule the rest."""
        self.clock.move_to(now_ms)
        for connection in self.server.connections:
            connection.heard_at_ms = now_ms
        self.server.advance(now_ms, DUE_AT_ONCE)

    def keep_alive(self, moment_ms: int) -> Task[None]:
        """Extend the sessions of all live members if one of them would expire at `moment_ms`."""
        if any(
            member.session is not None and member.session.deadline_ms <= moment_ms for _, member in self._with_session()
        ):
            yield from self.extend_sessions(moment_ms)

    def extend_sessions(self, moment_ms: int) -> Task[None]:
        """Extend the session of every live member as a heartbeat at `moment_ms` would."""
        for number, (group, member) in enumerate(self._with_session()):
            if number % MEMBERS_AT_ONCE == 0:
                yield
            if group.members.get(member.member_id) is member:
                self._extend(group, member, moment_ms)

    def _extend(self, group: AnyGroup, member: AnyMember, moment_ms: int) -> None:
        if not self.liveness.is_alive(group, member):
            return
        stats = getattr(member, "stats", None)
        if stats is not None:
            stats.last_active_ms = max(stats.last_active_ms, moment_ms)  # otherwise a silent member is logged
        if group.group_type != CLASSIC:
            keep_alive(group, member, moment_ms)
        elif isinstance(member, Member) and not member.is_new:
            sessions.extend(group, member, moment_ms)  # not for a new member: its time to join is not a session

    def _with_session(self) -> list[tuple[AnyGroup, AnyMember]]:
        return [
            (group, member)
            for coordinator in self.cluster.coordinators
            for group in cast("Iterator[AnyGroup]", coordinator.groups.values())
            for member in group.members.values()
            if member.session is not None
        ]
