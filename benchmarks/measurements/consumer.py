"""Groups of the consumer protocol (KIP-848), compared with kfake if available: each twice, in turn, in one run.

Both keep everything in memory, as one broker, and do not delay assignments.
"""

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import suppress
from random import Random
from statistics import fmean, median
from time import thread_time
from uuid import UUID

from benchmarks import replies
from benchmarks.bench import Bench, percentile
from benchmarks.connection import ClosedLoop, run_closed_loops
from benchmarks.consumer_group import ConsumerGroup, ConsumerMember
from benchmarks.kfake_peer import kfake
from benchmarks.measurements.topics import create_topic
from benchmarks.server import Server
from kohort.coordinator.consumer.assignors import ASSIGNORS, assign
from kohort.coordinator.consumer.assignors.subscriber import Subscriber
from tests.clients.libraries import Missing

TOPIC = "bench-consumer"
PARTITIONS_EACH = 2  # partitions for each member


async def heartbeats(bench: Bench, *, connections: int, in_flight: int) -> None:
    """Measure heartbeats of stable members in closed loop, one group of one member on each connection."""
    figures = _Figures(bench)
    async for peer, server in _in_turn(bench):
        async with bench.connections(server, connections) as clients:
            await create_topic(clients[0], TOPIC, PARTITIONS_EACH)
            loops = []
            for number, client in enumerate(clients):
                group = ConsumerGroup(f"beat-{number:05}", TOPIC, PARTITIONS_EACH, [client], bench.failures)
                await group.form()
                loops.append(_beating(group.members[0]))
            for loop in loops:
                loop.start(in_flight)
            meter = bench.meter(server)
            await run_closed_loops(loops, 0.3, 0.7 if bench.quick else 1.5, meter)
            latencies = [member for loop in loops for member in loop.latencies_ns]
            figures.add(peer, "requests", "/s", len(latencies) / meter.seconds)
            figures.add(peer, "p99", "µs", percentile(latencies, 0.99) / 1e3)
            figures.add(peer, "server CPU", "µs/request", meter.per_request_us(len(latencies)))
    figures.show()


async def leaving(bench: Bench, *, members: int, times: int) -> None:
    """Measure a leave and a rejoin, each until the members have acknowledged the new target."""
    figures = _Figures(bench)
    async for peer, server in _in_turn(bench):
        async with bench.connections(server, members) as clients:
            partitions = members * PARTITIONS_EACH
            await create_topic(clients[0], TOPIC, partitions)
            group = ConsumerGroup("leaving", TOPIC, partitions, clients, bench.failures)
            await group.form()
            meter, leaves, joins, cpu_ms = bench.meter(server), [], [], []
            for _ in range(min(times, 2) if bench.quick else times):
                leaver = group.members[-1]
                meter.start()
                leaves.append(await group.leave(leaver))
                meter.stop()
                cpu_ms.append((meter.server_s or 0) * 1000)
                joins.append(await group.join(leaver))
            figures.add(peer, "leave", "ms", median(leaves))
            figures.add(peer, "leave, server CPU", "ms", fmean(cpu_ms))
            figures.add(peer, "join", "ms", median(joins))
    figures.show()


async def assignors(bench: Bench) -> None:
    """Measure the assignors with 1,000 members and 10,000 partitions: the first assignment, and one after a leave."""
    chance = Random(1)
    for topics in (1, 10, 100, 1000):
        counts = {UUID(int=chance.getrandbits(128)): 10_000 // topics for _ in range(topics)}
        everything = frozenset(counts)
        half = [frozenset(chance.sample(sorted(counts), max(topics // 2, 1))) for _ in range(1000)]
        for name in ASSIGNORS:
            for subscriptions, needed in (("equal", [everything] * 1000), ("halves", half)):
                members = [Subscriber(f"member-{n:04}", None, member, {}) for n, member in enumerate(needed)]
                start = thread_time()
                shares = assign(name, members, counts, subscriptions == "equal")
                first = thread_time()
                had = [member._replace(target=shares[member.member_id]) for member in members[1:]]
                members_after_leave = thread_time()
                assign(name, had, counts, subscriptions == "equal")
                title = f"{name}, {topics} x {10_000 // topics}, {subscriptions}"
                bench.figure(f"{title}, first", "ms", (first - start) * 1000)
                bench.figure(f"{title}, one left", "ms", (thread_time() - members_after_leave) * 1000)


class _Figures:
    """Figures of several servers, and the ratios to the first one."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._values: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def add(self, peer: str, title: str, unit: str, value: float | None) -> None:
        if value is not None:
            self._values[title, unit][peer].append(value)

    def show(self) -> None:
        """Record the means, and kohort's as a multiple of the other server's."""
        for (title, unit), by_peer in self._values.items():
            means = {peer: fmean(values) for peer, values in by_peer.items()}
            for peer, mean in means.items():
                self._bench.figure(f"{peer}: {title}", unit, mean)
            if means.get("kfake"):
                self._bench.figure(f"{title}, kohort's", "× kfake's", means["kohort"] / means["kfake"])


async def _in_turn(bench: Bench) -> AsyncIterator[tuple[str, Server]]:
    """Yield a new server each time: kohort, kfake, kfake, kohort."""
    programs: dict[str, list[str]] = {}
    with suppress(Missing):
        programs["kfake"] = [kfake(), "serve"]
    for peer in ("kohort", *programs, *programs, "kohort"):
        async with bench.program(programs[peer]) if peer in programs else bench.server() as server:
            yield peer, server


def _beating(member: ConsumerMember) -> ClosedLoop:
    """Return a loop of heartbeats of a stable member, whose responses must not change anything."""

    def judge(body: bytes) -> bool:
        failures = member.group.failures
        try:
            reply = replies.consumer_beat(bytes(4) + body, member.id)
        except replies.MalformedReplyError as problem:
            failures.add("malformed reply", str(problem))
            return False
        if reply == (0, member.epoch, None):
            return True
        if reply.error_code:
            failures.add_code("ConsumerGroupHeartbeat", reply.error_code)
        else:
            failures.add("not stable", f"{member.id}: {reply}")
        return False

    return ClosedLoop(member.connection, lambda: member.beat_frame, judge)
