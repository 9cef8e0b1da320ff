"""200 members in 20 groups send heartbeats and commits, while another group of 100 rebalances every second.

Shows the effect of a big group on others: the latency of heartbeats of the quiet groups.
"""

import asyncio
from collections.abc import Sequence
from time import perf_counter_ns

from benchmarks.bench import Bench, percentile
from benchmarks.connection import ClosedLoop, drain
from benchmarks.group import Group, Member, form_in_lanes
from benchmarks.measurements.commit import TOPIC, Committer
from benchmarks.measurements.topics import create_topic
from benchmarks.pulses import Pulses, Schedule

GROUPS, MEMBERS, RESTLESS = 20, 10, 100
INTERVAL_NS = 500_000_000  # shorter than the 3 s of real clients, so that the p99 rests on many heartbeats
COMMIT_INTERVAL_NS = 1_000_000_000


async def measure(bench: Bench) -> None:
    """Measure the latency of all heartbeats, and of those during a rebalance."""
    async with bench.server() as server, bench.connections(server, GROUPS * MEMBERS + RESTLESS) as clients:
        quiet_clients, restless_clients = clients[: GROUPS * MEMBERS], clients[GROUPS * MEMBERS :]
        await create_topic(clients[0], TOPIC, 20)
        quiet = [
            Group(f"quiet-{n:02}", quiet_clients[n * MEMBERS :][:MEMBERS], bench.failures, 30_000)
            for n in range(GROUPS)
        ]
        await form_in_lanes(quiet, GROUPS)
        restless = Group("restless", restless_clients, bench.failures, 60_000)
        await restless.form()
        schedule = Schedule()
        try:
            pulses, commits_us = _start(bench, schedule, [member for group in quiet for member in group.members])
            rebalances: list[tuple[int, int]] = []
            await asyncio.sleep(0.5)
            meter = bench.meter(server)
            meter.start()
            pulses.counting = True
            await _shake(restless, rebalances, 4 if bench.quick else 8)
            pulses.counting = False
            meter.stop()
        finally:
            schedule.stop()
        await drain(clients)
    latencies = pulses.lateness_us()
    during_rebalance = [
        (read - due) / 1e3
        for due, read in pulses.beats
        if any(due <= end and read >= start for start, end in rebalances)
    ]
    bench.figure("heartbeat p50", "µs", percentile(latencies, 0.5))
    bench.figure("heartbeat p99", "µs", percentile(latencies, 0.99))
    bench.figure("p99 while rebalancing", "µs", percentile(during_rebalance, 0.99) if during_rebalance else None)
    bench.figure("of it sent late, p99", "µs", percentile(pulses.sent_late_ns, 0.99) / 1e3)
    bench.figure("commit p99", "µs", percentile(commits_us, 0.99))
    bench.figure("rebalance, median", "ms", percentile([(end - start) / 1e6 for start, end in rebalances], 0.5))
    bench.figure("sessions missed", "", pulses.sessions_missed)


async def _shake(group: Group, rebalances: list[tuple[int, int]], times: int) -> None:
    """Let a member leave, rejoin and so on, one step each second."""
    leaver: Member | None = None
    for _ in range(times):
        start_ns = perf_counter_ns()
        if leaver is None:
            leaver = group.follower()
            await group.leave(leaver)
        else:
            await group.join(leaver)
            leaver = None
        end_ns = perf_counter_ns()
        rebalances.append((start_ns, end_ns))
        await asyncio.sleep(max(1 - (end_ns - start_ns) / 1e9, 0))


def _start(bench: Bench, schedule: Schedule, members: Sequence[Member]) -> tuple[Pulses, list[float]]:
    """Start evenly spread heartbeats and commits.

    Returns:
        The heartbeats, and the list to which the commits' latencies in µs are added.
    """
    pulses = Pulses(schedule, INTERVAL_NS, bench.failures)
    latencies_us: list[float] = []
    commits = [Committer(member).committing(1) for member in members]
    start_ns = perf_counter_ns()
    for number, member in enumerate(members):
        pulses.start(member, start_ns + INTERVAL_NS * number // len(members))

    def fire(due_ns: int) -> None:
        commit = commits[due_ns // step_ns % len(commits)]
        commit.connection.ask(commit.next_frame(), answered, (due_ns, commit))
        schedule.at(due_ns + step_ns, fire)

    def answered(payload: bytes, argument: tuple[int, ClosedLoop]) -> None:
        due_ns, commit = argument
        if pulses.counting:
            latencies_us.append((perf_counter_ns() - due_ns) / 1e3)
        commit.judge(payload[4:])

    step_ns = COMMIT_INTERVAL_NS // len(commits)
    schedule.at(start_ns - start_ns % step_ns + step_ns, fire)
    return pulses, latencies_us
