"""One group, each member on its own connection; one leaves and rejoins, repeatedly."""

from statistics import median

from benchmarks.bench import Bench
from benchmarks.group import Group


async def measure(bench: Bench, *, members: int, times: int) -> None:
    """Measure the time until all others are synced after a leave, and until all are after the rejoin."""
    if bench.quick:
        times = min(times, 2)
    async with bench.server() as server, bench.connections(server, members) as clients:
        group = Group("rebalance", clients, bench.failures, 60_000)
        form_ms = await group.form()
        leaves, joins, cpu_ms = [], [], []
        for _ in range(times):
            leaver = group.follower()
            meter = bench.meter(server)
            meter.start()
            leaves.append(await group.leave(leaver))
            meter.stop()
            if meter.server_s is not None:
                cpu_ms.append(meter.server_s * 1000)
            joins.append(await group.join(leaver))
    bench.figure("leave, median", "ms", median(leaves))
    bench.figure("leave, longest", "ms", max(leaves))
    bench.figure("join, median", "ms", median(joins))
    bench.figure("form", "ms", form_ms)
    bench.figure("leave, server CPU", "ms", sum(cpu_ms) / len(cpu_ms) if cpu_ms else None)
