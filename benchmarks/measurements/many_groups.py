"""Cost of one more group on a server with many groups, which all send requests in turn.

Members share connections and have long session timeouts, so that only the measured requests have to be sent.
"""

from collections.abc import Callable
from itertools import cycle

from benchmarks.bench import Bench
from benchmarks.connection import ClosedLoop, run_closed_loops
from benchmarks.failures import Failures
from benchmarks.group import Group, Member, form_in_lanes
from benchmarks.measurements import heartbeat
from benchmarks.measurements.commit import TOPIC, commit_frame, judge_commit
from benchmarks.measurements.topics import create_topic

CONNECTIONS = 100
SESSION_MS = 1_800_000


async def measure(bench: Bench, *, groups: int) -> None:
    """Measure the memory of each group of one member, and the CPU time of a heartbeat and of a commit."""
    async with bench.server() as server, bench.connections(server, CONNECTIONS) as clients:
        await create_topic(clients[0], TOPIC, 1)
        many = [
            Group(f"many-{n:06}", [clients[n % CONNECTIONS]], bench.failures, SESSION_MS) for n in range(groups + 1)
        ]
        # what the server loads for its first requests is not memory of a group
        await many[0].form()
        await clients[0].call(commit_frame(many[0].members[0], 1))
        before_kib = server.rss_kib()
        await form_in_lanes(many[1:], CONNECTIONS)
        after_kib = server.rss_kib()
        if before_kib is not None and after_kib is not None:
            bench.figure("memory per group", "KiB", (after_kib - before_kib) / groups)
        beating = _in_turn(many, lambda member: member.beat_frame, heartbeat.judge)
        # they commit the placeholder of an offset, which is not checked
        committing = _in_turn(many, lambda member: commit_frame(member, 1), _committed)
        for title, loops in (("heartbeat", beating), ("commit", committing)):
            for loop in loops:
                loop.start()
            meter = bench.meter(server)
            await run_closed_loops(loops, 0.5, 3, meter)
            requests = sum(len(loop.latencies_ns) for loop in loops)
            bench.figure(f"{title}, server CPU", "µs/request", meter.per_request_us(requests))


def _in_turn(
    groups: list[Group], frame_of: Callable[[Member], bytes], judge: Callable[[bytes, Failures], bool]
) -> list[ClosedLoop]:
    """Return loops in which the groups of a connection send their requests in turn."""
    loops, failures = [], groups[0].failures
    for number in range(min(CONNECTIONS, len(groups))):
        members = [group.members[0] for group in groups[number::CONNECTIONS]]
        connection = members[0].connection
        frames = cycle([frame_of(member) for member in members])
        loops.append(ClosedLoop(connection, frames.__next__, lambda body: judge(body, failures)))
    return loops


def _committed(body: bytes, failures: Failures) -> bool:
    return judge_commit(body, 1, failures)
