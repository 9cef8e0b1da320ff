"""Heartbeats of stable members in closed loop: each connection keeps requests in flight."""

from benchmarks import replies
from benchmarks.bench import Bench, Meter, percentile
from benchmarks.connection import ClosedLoop, run_closed_loops
from benchmarks.failures import Failures
from benchmarks.group import Group, form_in_lanes
from benchmarks.server import Server


async def measure(bench: Bench, *, connections: int, in_flight: int) -> None:
    """Measure groups of one member, one on each connection."""
    async with bench.server() as server:
        meter, latencies = await beat(bench, server, connections, in_flight)
    bench.figure("requests", "/s", len(latencies) / meter.seconds)
    bench.figure("p50", "µs", percentile(latencies, 0.5) / 1e3)
    bench.figure("p99", "µs", percentile(latencies, 0.99) / 1e3)
    bench.figure("server CPU", "µs/request", meter.per_request_us(len(latencies)))
    bench.figure("load generator CPU", "µs/request", meter.own_s / len(latencies) * 1e6 if latencies else None)


async def beat(bench: Bench, server: Server, connections: int, in_flight: int) -> tuple[Meter, list[int]]:
    """Run heartbeats for a while; return the CPU meter, and each request's latency in nanoseconds."""
    async with bench.connections(server, connections) as clients:
        groups = [Group(f"beat-{n:05}", [client], bench.failures, 60_000) for n, client in enumerate(clients)]
        await form_in_lanes(groups, connections)
        loops = [beating(group) for group in groups]
        for loop in loops:
            loop.start(in_flight)
        meter = bench.meter(server)
        await run_closed_loops(loops, 0.3, 0.7 if bench.quick else 2.5, meter)
        return meter, [closed_loop for loop in loops for closed_loop in loop.latencies_ns]


def beating(group: Group) -> ClosedLoop:
    member = group.members[0]
    return ClosedLoop(member.connection, lambda: member.beat_frame, lambda body: judge(body, group.failures))


def judge(body: bytes, failures: Failures) -> bool:
    """Return whether a response to a heartbeat is right; count failures."""
    if body == replies.BEAT:
        return True
    if len(body) != len(replies.BEAT):
        failures.add("malformed reply", f"Heartbeat: {body.hex()}")
    elif body[5:7] != b"\0\0":
        failures.add_code("Heartbeat", int.from_bytes(body[5:7], "big", signed=True))
    else:
        failures.add("malformed reply", f"Heartbeat: {body.hex()}")
    return False
