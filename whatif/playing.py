"""One play of a script under some settings, and its figures."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from kohort.whatif.classic_process import ClassicProcess
from kohort.whatif.consumer_process import ConsumerProcess
from kohort.whatif.cost_figures import (
    Figures,
    Interval,
    catch_up_ms,
    find_rough_stalls,
    find_stalls,
    overlap_ms,
    settling_ms,
)
from kohort.whatif.modern_process import ConsumerProtocolProcess
from kohort.whatif.played_settings import Settings
from kohort.whatif.script import Event, Script
from kohort.whatif.virtual_cluster import GROUP, VirtualCluster

STABLE = "Stable"
STABLE_CHECK_MS = 200  # a deployment that waits for the group looks for its state this often


class Poison(NamedTuple):
    """A record on which every member works for a long time."""

    partition: int
    offset: int
    work_ms: int


@dataclass
class Played:
    """The result of one play."""

    figures: Figures
    rebalances: list[int]  # times
    stalls: dict[int, list[Interval]]
    by_commits: dict[str, float]  # rebalances, stalls and stops as commits show them
    owners: list[tuple[int, str, tuple[int, ...]]] = field(default_factory=list)  # changes: time, member, partitions


class Run:
    """A play while it runs: what its processes need to know of each other."""

    def __init__(self, script: Script, settings: Settings, seed: int) -> None:
        self.script, self.settings = script, settings
        self.group_id = GROUP
        self.cluster = VirtualCluster(settings, script.topic, script.partitions, Random(seed))
        self.processes: dict[str, ConsumerProcess] = {}
        self.poison: Poison | None = None
        self.progress: dict[int, list[tuple[int, int]]] = defaultdict(list)  # finished batches: time and next offset
        self.commits: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self.worked: dict[str, int] = {}  # when a member finished its last batch
        self.read_to: dict[int, int] = {}
        self.read_again: list[tuple[int, int]] = []
        self.moves: list[int] = []
        self.owners: list[tuple[int, str, tuple[int, ...]]] = []
        self.turns: dict[str, int] = {}
        self.plays_quiet_time_ahead = True  # False: each step is an event
        self._quiet_until_ms = 0
        self._event_times: list[int] = []
        self._restarting = 0  # members that are away in a restart

    # Called by processes

    def count_read(self, partition: int, first: int, end: int, now_ms: int) -> None:
        read_to = self.read_to.get(partition, 0)
        if first < read_to:
            self.read_again.append((now_ms, min(end, read_to) - first))
        self.read_to[partition] = max(read_to, end)

    def commit(self, offsets: Mapping[int, int], now_ms: int) -> None:
        for partition, offset in offsets.items():
            self.commits[partition].append((now_ms, offset))

    def moved(self, name: str, kind: str) -> None:
        """Record a callback about partitions in a member."""
        self.moves.append(self.cluster.now_ms)

    def moved_later(self, process: ConsumerProcess, kind: str) -> None:
        """Record a callback at the next poll of the member."""
        process.in_application(lambda: self.moved(process.name, kind))

    def record_owners(self, name: str, partitions: Iterable[int]) -> None:
        self.owners.append((self.cluster.now_ms, name, tuple(sorted(partitions))))

    # Quiet time

    def quiet_until_ms(self, process: ConsumerProcess) -> int:
        """Return the time until which a process only reads, commits and sends heartbeats; now if it does not."""
        now_ms = self.cluster.now_ms
        if self._quiet_until_ms > now_ms:
            return self._quiet_until_ms
        if not self.plays_quiet_time_ahead or self.poison is not None:
            return now_ms
        number = bisect_right(self._event_times, now_ms)
        until_ms = self._event_times[number] if number < len(self._event_times) else self.script.end_ms
        if self._is_quiet():
            self._quiet_until_ms = until_ms
            return until_ms
        # A member learns of a rebalance with its heartbeat. Before that, only a timeout can end its membership.
        group = self.cluster.coordinator.groups.get(GROUP)
        if group is None or process.heartbeat_timer is None or not process.is_settled or not process.is_current():
            return now_ms
        if group.state_name != STABLE and self.cluster.purgatory.next_wakeup_ms is not None:
            until_ms = min(until_ms, self.cluster.purgatory.next_wakeup_ms)
        return max(min(until_ms, process.heartbeat_timer.at_ms), now_ms)

    def end_quiet_time(self) -> None:
        self._quiet_until_ms = 0

    def _is_quiet(self) -> bool:
        """Return whether all members of the group are settled and own all partitions."""
        group = self.cluster.coordinator.groups.get(GROUP)
        if group is None or group.state_name != STABLE:
            return False
        alive = [process for process in self.processes.values() if process.clock.alive]
        # The coordinator has more members if one was killed, and fewer if one has not joined.
        if len(alive) != len(group.members) or not all(process.is_settled for process in alive):
            return False
        # Each member has a session; a further timer is that of a rebalance.
        if len(self.cluster.purgatory) > len(group.members):
            return False
        # New partitions have no owner until a member or the coordinator notices them.
        partitions = self.cluster.topics.partitions_of(self.script.topic)
        return sum(len(process.member.owned) for process in alive) == partitions

    # The script

    def play(self) -> Played:
        script, cluster = self.script, self.cluster
        for name, at_ms in script.starts.items():
            cluster.schedule(at_ms, lambda name=name: self._start(name, self.settings))  # type: ignore[misc]
        for event in script.events:
            at_ms = max(event.at_ms - cluster.random.randint(0, event.early_ms), 0) if event.early_ms else event.at_ms
            self._schedule(at_ms, lambda event=event: self._do(event))  # type: ignore[misc]
        cluster.run(script.end_ms)
        return self._result()

    def _schedule(self, after_ms: int, call: Callable[[], None]) -> None:
        """Schedule something that ends quiet time."""
        insort(self._event_times, self.cluster.now_ms + after_ms)
        self.end_quiet_time()
        self.cluster.schedule(after_ms, call)

    def _restart(self, event: Event) -> None:
        if event.waits and (self._restarting or not self._is_quiet()):
            self._schedule(STABLE_CHECK_MS, lambda: self._do(event))
            return
        self._restarting += 1
        self.processes[event.member].stop()

        def start() -> None:
            self._restarting -= 1
            self._start_again(event.member)

        self._schedule(event.ms, start)

    def _start_again(self, name: str) -> None:
        self._start(name, self.settings.restarted_with or self.settings)

    def _start(self, name: str, settings: Settings) -> None:
        observed_ms = self.script.startups.get((name, self.cluster.now_ms))
        startup_ms = None if observed_ms is None else round(observed_ms * self.cluster.random.uniform(0.8, 1.2))
        process = ConsumerProtocolProcess if settings.is_consumer else ClassicProcess
        self.processes[name] = process(self, name, settings, startup_ms)

    def _do(self, event: Event) -> None:
        process = self.processes.get(event.member)
        match event.action:
            case "start":
                self._start_again(event.member)
            case "grow":
                self.cluster.topics.create(self.script.topic, event.partitions)
            case "poison":
                offset = self.script.appended(event.partition, event.at_ms)
                self.poison = Poison(event.partition, offset, event.ms)
            case "cure":
                self.poison = None
            case _ if process is None or not process.clock.alive:
                return
            case "stop":
                if event.is_exact:
                    process.stop_requested = True
                    process.close()
                else:
                    process.stop()
            case "kill":
                process.end()
            case "restart":
                self._restart(event)
            case "slow":
                process.slow_ms = event.ms
                if process.in_poll:
                    process.await_work()
            case "pause":
                process.clock.is_frozen = True
                self.cluster.schedule(event.ms, process.clock.thaw)

    def _result(self) -> Played:
        script = self.script
        begin, end = script.begins_ms, script.end_ms
        born = {partition: times[0] for partition, times in script.arrivals.items() if times and times[0] < end}
        stalls = {
            partition: intervals
            for partition in born
            if (intervals := find_stalls(self.progress.get(partition, ()), script.arrivals[partition], begin, end))
        }
        disturbances = script.disturbances()
        burst_ms = script.burst_ms
        figures = Figures(
            rebalances=sum(begin <= ms < end for ms in self.cluster.rebalances),
            stalled_partition_seconds=sum(b - a for intervals in stalls.values() for a, b in intervals) / 1000,
            group_stop_seconds=overlap_ms(stalls, born, begin, end) / 1000,
            records_read_again=sum(count for ms, count in self.read_again if begin <= ms < end),
            seconds_to_stable=settling_ms(self.moves, disturbances, end) / 1000 if disturbances else 0.0,
            seconds_to_catch_up=0.0
            if burst_ms is None
            else (catch_up_ms(self.progress, script, burst_ms + 1_000, end) - burst_ms) / 1000,
            members_working_at_the_end=sum(ms >= end - 10_000 for ms in self.worked.values()),
        )
        find = find_stalls if self.settings.auto_commit_ms is None else find_rough_stalls
        rough = {
            partition: find(self.commits.get(partition, ()), script.arrivals[partition], begin, end)
            for partition in born
        }
        by_commits = {
            "rebalances": figures.rebalances,
            "stalled_partition_seconds": sum(b - a for intervals in rough.values() for a, b in intervals) / 1000,
            "group_stop_seconds": overlap_ms(rough, born, begin, end) / 1000,
        }
        return Played(
            figures, [ms for ms in self.cluster.rebalances if begin <= ms < end], stalls, by_commits, self.owners
        )


def play(script: Script, settings: Settings, seed: int) -> Played:
    """Play a script under some settings. The seed decides what the script leaves open."""
    return Run(script, settings, seed).play()
