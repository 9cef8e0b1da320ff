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
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from shlex import split
from statistics import median
from time import perf_counter, time_ns
from typing import Any
from uuid import uuid4

from benchmarks import connection, replies
from benchmarks.bench import Bench
from benchmarks.connection import (
    ANSWER_WITHIN_S,
    ClosedLoop,
    Connection,
    allow_many_sockets,
    drain,
    run_closed_loops,
    within,
)
from benchmarks.consumer_group import ConsumerGroup
from benchmarks.failures import UnmeasurableError
from benchmarks.measurements.restart import all_loaded, write
from benchmarks.measurements.topics import create_topic
from benchmarks.requests import by_kio
from benchmarks.server import Server, cpu_s
from kohort.protocol.messages import find_coordinator
from kohort.protocol.messages.find_coordinator import FindCoordinatorRequest
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
LEAVES = 4  # that are measured
HEARTBEATS_AT_REST = 3  # before a member leaves a streams group, because members of real groups have sent many

FIND_COORDINATOR_VERSION = 4
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
            # The first request for a coordinator creates the offsets topic.
            request = FindCoordinatorRequest(coordinator_keys=(self.name,))
            await opened[0].call(by_kio(find_coordinator.MESSAGE, FIND_COORDINATOR_VERSION, request))
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
        took_ms, used_ms = (perf_counter() - start) * 1000, _ms_since(before_s, target.server.cpu_s())
        return {
            "join_ms": took_ms,
            "server_ms": used_ms,
            "server_us_per_request": None if used_ms is None else used_ms * 1000 / (group.requests - sent),
        }


async def leaving(target: Target, members: int) -> Results:
    """Let a member leave and rejoin a group of the consumer protocol. Only the leaves are measured."""
    async with _consumer_group(target, members) as group:
        await group.form()
        took_ms: list[float] = []
        used_ms: list[float | None] = []
        for _ in range(LEAVES):
            before_s = target.server.cpu_s()
            took_ms.append(await group.leave(group.members[-1]))
            used_ms.append(_ms_since(before_s, target.server.cpu_s()))
            await group.join(group.members[-1])
        return _leave_results(took_ms, used_ms)


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
            await _settle([member])
            loops.append(ClosedLoop(client, member.frame, member.is_right))
        for loop in loops:
            loop.start()
        meter = target.bench.meter(target.server)
        await run_closed_loops(loops, 0.2, 0.7, meter)
        count = sum(len(loop.latencies_ns) for loop in loops)
        return {"requests_per_s": count / meter.seconds, "server_us_per_request": meter.per_request_us(count)}


async def streams_leave(target: Target, members: int) -> Results:
    """Let a member of a streams group leave, until all others have the next epoch. Then it joins again, and so on."""
    async with target.connections(members) as clients:
        await create_topic(clients[0], target.name, members * PARTITIONS_EACH)
        group = [_StreamsMember(target, client, target.name) for client in clients]
        await _settle(group)
        times_ms: list[float] = []
        used_ms: list[float | None] = []
        for number in range(LEAVES + 1):
            leaver, *remaining = group = [*group[1:], group[0]]
            epoch = leaver.epoch + 1
            before_s = target.server.cpu_s()
            took_s = await _beat([leaver], leaver.leave())
            while behind := [member for member in remaining if member.epoch < epoch]:
                took_s += await _beat(behind)
            leave_used_ms = _ms_since(before_s, target.server.cpu_s())
            if number:  # the first one is a warm-up
                times_ms.append(took_s * 1000)
                used_ms.append(leave_used_ms)
            await _settle(group)
        return _leave_results(times_ms, used_ms)


async def _settle(group: Sequence[_StreamsMember]) -> None:
    """Let all members send heartbeats until they have the same epoch, and each has its tasks; then a few more.

    Raises:
        UnmeasurableError: They take too long.
    """
    until_s = perf_counter() + JOINS_WITHIN_S
    while perf_counter() < until_s:
        await _beat(group)
        if len({member.epoch for member in group}) == 1 and all(member.is_stable for member in group):
            for _ in range(HEARTBEATS_AT_REST):
                await _beat(group)
            return
    raise UnmeasurableError("a streams group did not become stable")


async def _beat(members: Sequence[_StreamsMember], frame: bytes | None = None) -> float:
    """Let members send their heartbeats at the same time; return the seconds until all are answered.

    Responses are decoded afterwards.
    """
    answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    answers: list[tuple[_StreamsMember, bytes]] = []

    def on_reply(payload: bytes, member: _StreamsMember) -> None:
        answers.append((member, payload))
        if len(answers) == len(members):
            answered.set_result(None)

    start = perf_counter()
    for member in members:
        member.client.ask(frame or member.frame(), on_reply, member)
    await within(answered, ANSWER_WITHIN_S, "a heartbeat was not answered")
    took_s = perf_counter() - start
    for member, payload in answers:
        member.take(payload)
    return took_s


class _StreamsMember:
    """Member of a streams group, on a connection of its own."""

    def __init__(self, target: Target, client: Connection, group_id: str) -> None:
        self._target, self.client, self._group_id = target, client, group_id
        self._rejoin()

    def _rejoin(self) -> None:
        self._id, self.epoch, self._owned = str(uuid4()), 0, 0
        subtopology = Subtopology(subtopology_id="0", source_topics=(self._target.name,))
        self.is_stable = False  # whether it has its tasks, and its last heartbeat changed nothing
        self._frame = self._request(
            topology=Topology(epoch=0, subtopologies=(subtopology,)),
            process_id=self._id,
            rebalance_timeout_ms=60_000,
            **dict.fromkeys(("active_tasks", "standby_tasks", "warmup_tasks"), ()),
        )

    def frame(self) -> bytes:
        """Return the next heartbeat."""
        return self._frame

    def leave(self) -> bytes:
        """Return the heartbeat with which the member leaves; the next one joins again."""
        self.epoch = -1
        return self._request()

    def take(self, payload: bytes) -> None:
        """Update the member after a response.

        Raises:
            UnmeasurableError: It was rejected.
        """
        reply = self._read(payload)
        if reply.error_code in replies.COORDINATOR_NOT_READY and not self.epoch:
            return
        if reply.error_code:
            self._target.bench.failures.add_code("StreamsGroupHeartbeat", reply.error_code)
            raise UnmeasurableError(f"a heartbeat was rejected with error {reply.error_code}")
        if self.epoch < 0:
            self._rejoin()
            return
        fields: dict[str, Any] = {}
        if reply.active_tasks is not None:
            tasks = tuple(
                TaskIds(subtopology_id=entry.subtopology_id, partitions=tuple(entry.partitions))
                for entry in reply.active_tasks
            )
            self._owned = sum(len(task.partitions) for task in tasks)
            fields = {"active_tasks": tasks, "standby_tasks": (), "warmup_tasks": ()}
        self.is_stable = self._owned == PARTITIONS_EACH and not fields and reply.member_epoch == self.epoch
        self.epoch = reply.member_epoch
        self._frame = self._request(**fields)

    def is_right(self, body: bytes) -> bool:
        failures = self._target.bench.failures
        try:
            reply = self._read(bytes(4) + body)
        except replies.MalformedReplyError as problem:
            failures.add("malformed reply", str(problem))
            return False
        if reply.error_code:
            failures.add_code("StreamsGroupHeartbeat", reply.error_code)
        elif reply.member_epoch != self.epoch or reply.active_tasks is not None:
            failures.add("not stable", f"{self._id}: {reply}")
        else:
            return True
        return False

    def _read(self, payload: bytes) -> Any:
        return replies.reader(MESSAGE.api.key, STREAMS_VERSION)(payload)

    def _request(self, **fields: Any) -> bytes:
        request = StreamsGroupHeartbeatRequest(
            group_id=self._group_id, member_id=self._id, member_epoch=self.epoch, **fields
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


def _ms_since(before_s: float | None, after_s: float | None) -> float | None:
    return None if before_s is None or after_s is None else (after_s - before_s) * 1000


def _leave_results(took_ms: Sequence[float], used_ms: Sequence[float | None]) -> Results:
    measured_ms = [used for used in used_ms if used is not None]
    return {"leave_ms": median(took_ms), "server_ms": median(measured_ms) if measured_ms else None}


Measure = Callable[[Target, argparse.Namespace], Coroutine[Any, Any, Results]]
LOADS: dict[str, Measure] = {
    "joining": lambda target, options: joining(target, options.members),
    "leaving": lambda target, options: leaving(target, options.members),
    "streams": lambda target, options: streams(target, options.conns),
    "streams-leave": lambda target, options: streams_leave(target, options.members),
    "restart": lambda target, _: restart(target),
}


def main() -> None:
    """Run one load. Exit code 1: the server returned wrong responses; 2: nothing was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turn_loads")
    parser.add_argument("load", choices=LOADS)
    parser.add_argument("-bootstrap", required=True, help="address of the server")
    parser.add_argument("-pid", required=True, type=int, help="process of the server")
    parser.add_argument("-command", default="", help="command that starts another such server")
    parser.add_argument(
        "-members", default=100, type=int, help="members of the group (joining, leaving, streams-leave)"
    )
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
