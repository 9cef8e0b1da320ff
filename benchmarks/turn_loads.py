"""Loads of `benchmarks.in_turns` that `groupload` does not have: `python -m benchmarks.turn_loads LOAD`.

Each prints one line of JSON, in the form in which `groupload` prints its results.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from shlex import split
from statistics import median
from time import perf_counter, time_ns
from typing import Any
from uuid import uuid4

from benchmarks import connection, replies
from benchmarks.bench import Bench
from benchmarks.connection import ClosedLoop, Connection, allow_many_sockets, drain, run_closed_loops
from benchmarks.consumer_group import ConsumerGroup
from benchmarks.failures import UnmeasurableError
from benchmarks.measurements.restart import all_loaded, write
from benchmarks.measurements.topics import create_topic
from benchmarks.requests import by_kio
from benchmarks.server import Server, cpu_s
from kohort.protocol.messages.streams_group_heartbeat import (
    MESSAGE,
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    Topology,
)
from tests.clients.libraries import fresh_folder

PARTITIONS_EACH = 2  # partitions for each member
JOINS_WITHIN_S = 20
LEAVES = 4
TRY_AGAIN_S = 0.01

STREAMS_VERSION = 0

Results = dict[str, float | None]

GROUPS, COMMITS, LOG_PARTITIONS = 10_000, 5, 50  # five commits of four partitions for each group


class RunningServer:
    """Server that was started by another process."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def cpu_s(self) -> float | None:
        return cpu_s(self._pid)


class Target:
    """Server to load: its address, its process, and the command that starts another one like it."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.host, _, port = arguments.bootstrap.rpartition(":")
        self.port = int(port)
        self.server = RunningServer(arguments.pid)
        self.command = split(arguments.command)
        self.bench = Bench()
        self.name = f"turn-{time_ns()}"  # of groups and topics, because the server keeps those of earlier turns

    @asynccontextmanager
    async def connections(self, count: int) -> AsyncIterator[list[Connection]]:
        opened = await connection.connect(self.host, self.port, count, self.bench.failures)
        try:
            yield opened
        finally:
            for client in opened:
                client.close()


async def joining(target: Target, members: int) -> Results:
    """Let members join a group of the consumer protocol one after the other, each until all have their partitions."""
    async with _consumer_group(target, members) as group:
        before_s, sent, start = target.server.cpu_s(), group.requests, perf_counter()
        for member in group.members:
            await group.join(member)
        took_ms, used_s = (perf_counter() - start) * 1000, _since(before_s, target.server.cpu_s())
        return {
            "join_ms": took_ms,
            "server_ms": None if used_s is None else used_s * 1000,
            "server_us_per_request": None if used_s is None else used_s * 1e6 / (group.requests - sent),
        }


async def leaving(target: Target, members: int) -> Results:
    """Let a member leave and rejoin a group of the consumer protocol. Only the leaves are measured."""
    async with _consumer_group(target, members) as group:
        await group.form()
        took_ms, used_ms = [], []
        for _ in range(LEAVES):
            before_s = target.server.cpu_s()
            took_ms.append(await group.leave(group.members[-1]))
            used_s = _since(before_s, target.server.cpu_s())
            if used_s is not None:
                used_ms.append(used_s * 1000)
            await group.join(group.members[-1])
        return {"leave_ms": median(took_ms), "server_ms": median(used_ms) if used_ms else None}


@asynccontextmanager
async def _consumer_group(target: Target, members: int) -> AsyncIterator[ConsumerGroup]:
    """Yield a group whose members have not joined yet, and let them leave in the end."""
    async with target.connections(members) as clients:
        partitions = members * PARTITIONS_EACH
        await create_topic(clients[0], target.name, partitions)
        group = ConsumerGroup(target.name, target.name, partitions, clients, target.bench.failures)
        yield group
        for member in group.members:
            member.is_active = False
            member.leave()
        await drain(clients)


async def streams(target: Target, connections: int) -> Results:
    """Send heartbeats of stable members of streams groups in closed loop, one group on each connection."""
    async with target.connections(connections) as clients:
        await create_topic(clients[0], target.name, PARTITIONS_EACH)
        loops = []
        for number, client in enumerate(clients):
            member = _StreamsMember(target, client, f"{target.name}-{number}")
            await member.join()
            loops.append(ClosedLoop(client, member.frame, member.is_right))
        for loop in loops:
            loop.start()
        meter = target.bench.meter(target.server)
        await run_closed_loops(loops, 0.2, 0.7, meter)
        count = sum(len(loop.latencies_ns) for loop in loops)
        return {"requests_per_s": count / meter.seconds, "server_us_per_request": meter.per_request_us(count)}


class _StreamsMember:
    """The only member of a streams group."""

    def __init__(self, target: Target, client: Connection, group_id: str) -> None:
        self._target, self._client, self._group_id = target, client, group_id
        self._id, self._epoch = str(uuid4()), 0
        self._frame = b""

    async def join(self) -> None:
        """Send heartbeats until the member has all tasks and a response changes nothing."""
        subtopology = Subtopology(subtopology_id="0", source_topics=(self._target.name,))
        fields: dict[str, Any] = {
            "topology": Topology(epoch=0, subtopologies=(subtopology,)),
            "process_id": self._id,
            "rebalance_timeout_ms": 60_000,
        }
        fields |= dict.fromkeys(("active_tasks", "standby_tasks", "warmup_tasks"), ())
        read, until_s = replies.reader(MESSAGE.api.key, STREAMS_VERSION), perf_counter() + JOINS_WITHIN_S
        owned = False
        while perf_counter() < until_s:
            reply = read(await self._client.call(self._request(**fields)))
            if reply.error_code in replies.COORDINATOR_NOT_READY:
                await asyncio.sleep(TRY_AGAIN_S)
                continue
            if reply.error_code:
                self._target.bench.failures.add_code("StreamsGroupHeartbeat", reply.error_code)
                break
            self._epoch, fields = reply.member_epoch, {}
            if reply.active_tasks:
                tasks = tuple(
                    TaskIds(subtopology_id=entry.subtopology_id, partitions=tuple(entry.partitions))
                    for entry in reply.active_tasks
                )
                owned = sum(len(task.partitions) for task in tasks) == PARTITIONS_EACH
                fields = {"active_tasks": tasks, "standby_tasks": (), "warmup_tasks": ()}
            elif owned:
                self._frame = self._request()
                return
            else:
                await asyncio.sleep(TRY_AGAIN_S)
        raise UnmeasurableError("a streams group did not become stable")

    def frame(self) -> bytes:
        return self._frame

    def is_right(self, body: bytes) -> bool:
        failures, read = self._target.bench.failures, replies.reader(MESSAGE.api.key, STREAMS_VERSION)
        try:
            reply = read(bytes(4) + body)
        except replies.MalformedReplyError as problem:
            failures.add("malformed reply", str(problem))
            return False
        if reply.error_code:
            failures.add_code("StreamsGroupHeartbeat", reply.error_code)
        elif reply.member_epoch != self._epoch or reply.active_tasks is not None:
            failures.add("not stable", f"{self._id}: {reply}")
        else:
            return True
        return False

    def _request(self, **fields: Any) -> bytes:
        request = StreamsGroupHeartbeatRequest(
            group_id=self._group_id, member_id=self._id, member_epoch=self._epoch, **fields
        )
        return by_kio(MESSAGE, STREAMS_VERSION, request)


async def restart(target: Target) -> Results:
    """Start another server on a log of commits, and wait until it has loaded all groups."""
    with tempfile.TemporaryDirectory(prefix="kohort-turn-") as folder:
        directory = Path(folder) / "data"
        shutil.copytree(_log_of_commits(), directory)
        start = perf_counter()
        server = Server([*target.command, "--data-dir", str(directory)], target.bench.failures)
        try:
            await server.ready()
            ready_s = perf_counter() - start
            await all_loaded(target.bench, server)
            return {"ready_s": ready_s, "loaded_s": perf_counter() - start, "server_s": server.cpu_s()}
        finally:
            server.stop()


def _log_of_commits() -> Path:
    """Return a data directory, which is written once."""
    folder = fresh_folder("bench-turn-log", Path(__file__).parent / "measurements", ("restart.py",)) / "data"
    if not folder.exists():
        unfinished = folder.with_name("unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        write(unfinished, GROUPS, COMMITS, LOG_PARTITIONS)
        unfinished.rename(folder)
    return folder


def _since(before_s: float | None, after_s: float | None) -> float | None:
    return None if before_s is None or after_s is None else after_s - before_s


Measure = Callable[[Target, argparse.Namespace], Coroutine[Any, Any, Results]]
LOADS: dict[str, Measure] = {
    "joining": lambda target, options: joining(target, options.members),
    "leaving": lambda target, options: leaving(target, options.members),
    "streams": lambda target, options: streams(target, options.conns),
    "restart": lambda target, _: restart(target),
}


def main() -> None:
    """Run one load. Exit code 1: the server returned wrong responses; 2: nothing was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turn_loads")
    parser.add_argument("load", choices=LOADS)
    parser.add_argument("-bootstrap", required=True, help="address of the server")
    parser.add_argument("-pid", required=True, type=int, help="process of the server")
    parser.add_argument("-command", default="", help="command that starts another such server")
    parser.add_argument("-members", default=100, type=int, help="members of the group (joining, leaving)")
    parser.add_argument("-conns", default=64, type=int, help="connections (streams)")
    options = parser.parse_args()
    allow_many_sockets()
    target = Target(options)
    try:
        results = asyncio.run(LOADS[options.load](target, options))
    except UnmeasurableError as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)
    failures = target.bench.failures.counts
    print(json.dumps({"results": results, "failures": failures}))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
