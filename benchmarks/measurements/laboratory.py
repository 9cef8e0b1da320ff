"""Clusters in the process of a test: time to start them, and speed of a group in them.

Compared with kfake, if Go and the module are available: a test in Go starts a kfake as a test in Python a `Cluster`.
"""

import asyncio
import logging
import subprocess
import sys
from contextlib import AsyncExitStack
from statistics import median
from time import perf_counter

from aiokafka import AIOKafkaConsumer

from benchmarks.bench import Bench
from benchmarks.kfake_peer import kfake
from kohort.cli.watch.looking import WatchedCluster
from kohort.testing import Cluster
from tests.clients.libraries import Missing

CLUSTERS = 50
FIRST = """
import asyncio
from time import perf_counter
from kohort.testing import Cluster

async def main():
    start = perf_counter()
    async with Cluster():
        print((perf_counter() - start) * 1000)

asyncio.run(main())
"""  # program of a new process, measured after its import


async def measure(bench: Bench) -> None:
    """Measure clusters one after the other, many at a time, and with three members."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    bench.figure("first cluster", "ms", await asyncio.to_thread(_first_ms))
    bench.figure(f"next clusters, median of {CLUSTERS}", "ms", await _next_ms())
    bench.figure("the same of kfake", "ms", await asyncio.to_thread(_kfake_ms))
    bench.figure(f"{CLUSTERS} at a time, all asked", "ms", await _many_ms(bench))
    stable_ms, expired_ms = await _group_ms()
    bench.figure("three aiokafka members stable", "ms", stable_ms)
    bench.figure("a session of 45 s expires", "ms", expired_ms)


def _first_ms() -> float:
    return float(subprocess.run([sys.executable, "-c", FIRST], capture_output=True, check=True).stdout)


async def _next_ms() -> float:
    async with Cluster():
        pass  # the first loads what all others find loaded
    took = []
    for _ in range(CLUSTERS):
        start = perf_counter()
        async with Cluster():
            took.append((perf_counter() - start) * 1000)
    return median(took)


def _kfake_ms() -> float | None:
    """Return None if kfake is not available."""
    try:
        command = kfake()
    except Missing:
        return None
    return float(subprocess.run([command, "clusters", str(CLUSTERS)], capture_output=True, check=True).stdout)


async def _many_ms(bench: Bench) -> float:
    start = perf_counter()
    async with AsyncExitStack() as open_:
        clusters = [await open_.enter_async_context(Cluster(nodes=2)) for _ in range(CLUSTERS)]
        for cluster in clusters:
            watched = WatchedCluster(cluster.bootstrap)
            if (await watched.look(0)).brokers != 2:
                bench.failures.add("a cluster does not know its brokers", cluster.bootstrap)
            watched.close()
        return (perf_counter() - start) * 1000


async def _group_ms() -> tuple[float, float]:
    async with Cluster() as kafka, AsyncExitStack() as members:
        kafka.topics.create("orders", partitions=6)
        group = kafka.group("billing")
        start = perf_counter()
        consumers = [
            AIOKafkaConsumer(
                "orders",
                bootstrap_servers=kafka.bootstrap,
                group_id="billing",
                client_id=name,
                session_timeout_ms=45_000,
                heartbeat_interval_ms=50,
            )
            for name in ("ada", "bob", "eve")
        ]
        for member in consumers:
            members.push_async_callback(member.stop)
        await asyncio.gather(*(member.start() for member in consumers))
        await group.wait_stable(members=3)
        stable_ms = (perf_counter() - start) * 1000
        with kafka.faults.freeze(group="billing", member=group.member("bob").member_id):
            start = perf_counter()
            await kafka.clock.advance(seconds=45.1)
            await group.wait_for(lambda: len(group.members) == 2)
            return stable_ms, (perf_counter() - start) * 1000
