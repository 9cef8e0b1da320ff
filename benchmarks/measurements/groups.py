"""Many groups, with heartbeats at fixed times every 3 s and session timeouts of 10 s.

Members share connections, so the memory is that of groups, not of sockets.
"""

import asyncio
from time import perf_counter, perf_counter_ns

from benchmarks.bench import Bench, percentile
from benchmarks.connection import drain
from benchmarks.group import Group, form_in_lanes
from benchmarks.pulses import Pulses, Schedule

CONNECTIONS = 100
SESSION_MS = 10_000
INTERVAL_NS = 3_000_000_000


async def measure(bench: Bench, *, groups: int, members: int) -> None:
    """Measure the memory of a member, and the latency of heartbeats while nothing else happens."""
    if bench.quick:
        groups //= 5
    async with bench.server() as server, bench.connections(server, CONNECTIONS) as clients:
        lanes = CONNECTIONS // members
        many = [
            Group(f"many-{n:05}", clients[n % lanes * members :][:members], bench.failures, SESSION_MS)
            for n in range(groups)
        ]
        await _first_group(bench, many[0])
        await asyncio.sleep(0.3)
        schedule = Schedule()
        pulses = Pulses(schedule, INTERVAL_NS, bench.failures)
        try:
            before_kib, start = server.rss_kib(), perf_counter()
            await form_in_lanes(many, lanes, lambda group: _keep_alive(group, pulses))
            took_s, after_kib = perf_counter() - start, server.rss_kib()
            meter = bench.meter(server)
            meter.start()
            pulses.counting = True
            await asyncio.sleep(3 if bench.quick else 6)
            pulses.counting = False
            meter.stop()
        finally:
            schedule.stop()
        await drain(clients)
    latencies = pulses.lateness_us()
    if before_kib is not None and after_kib is not None:
        bench.figure("memory per member", "KiB", (after_kib - before_kib) / (groups * members))
    bench.figure("heartbeat lateness p50", "µs", percentile(latencies, 0.5))
    bench.figure("heartbeat lateness p99", "µs", percentile(latencies, 0.99))
    bench.figure("of it sent late, p99", "µs", percentile(pulses.sent_late_ns, 0.99) / 1e3)
    bench.figure("sessions missed", "", pulses.sessions_missed)
    bench.figure("created in", "s", took_s)
    bench.figure("server CPU", "µs/request", meter.per_request_us(len(latencies)))


async def _first_group(bench: Bench, like: Group) -> None:
    """Let the server load everything that its first group needs, which is not memory of a member."""
    group = Group("first", [member.connection for member in like.members], bench.failures, 60_000)
    await group.form()


def _keep_alive(group: Group, pulses: Pulses) -> None:
    now_ns, step_ns = perf_counter_ns(), pulses.interval_ns // len(group.members)
    for number, member in enumerate(group.members, 1):
        pulses.start(member, now_ns + number * step_ns)
