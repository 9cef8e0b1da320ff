"""A real broker under load on a directory of its own, killed at any moment, and looked at when it is back."""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from random import Random
from time import monotonic, time
from typing import Any

from kohort.protocol.batches import Record, build_batch, crc_matches, read_batches
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.fetch import FetchPartition, FetchTopic
from kohort.protocol.messages.produce import PartitionProduceData, TopicProduceData
from kohort.storage.disk.checking import check_partition, partition_folders
from kohort.whatif.clients.group_member import ELSEWHERE, GroupMember
from tests.crash.killed_members import Alone, Together, one_owner_each
from tests.crash.killed_shares import Queue, Sharer
from tests.crash.truth import Registers
from tests.support.batches import contents
from tests.support.data_requests import topic as new_topic
from tests.support.frames import to_fetch
from tests.support.wires import TIMEOUT_S, Waiting

TOPIC = "records"
PARTITIONS = 3
COMMITTERS = 4
START_WITHIN_S = 120
LONGEST_LIFE_S = 0.7
FSYNC = ("never", "interval", "always")


# requests that are rejected while a coordinator loads its partitions, with their fields
LISTINGS: dict[str, dict[str, Any]] = {
    "list_groups": {},
    "list_transactions": {"state_filters": (), "producer_id_filters": ()},
}


class Producer:
    """Writes numbers to one partition, each once: what was not acknowledged is sent again, under the same sequence."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.producer_id = -1
        self.acknowledged = 0
        """Number of values, from 0 on."""
        self.asked = 0
        self.looked_at = 0
        """First offset that is not checked yet."""

    async def runs(self, wire: Waiting, random: Random, told: Counter[str]) -> None:
        if self.producer_id < 0:
            answer = await wire.asks("init_producer_id", 4, transactional_id=None, transaction_timeout_ms=1)
            assert answer.error_code is E.none
            self.producer_id = answer.producer_id
        while True:
            if self.asked == self.acknowledged:
                self.asked += random.choice((1, 1, 5, 40))
            now_ms = int(time() * 1000)
            values = [b"%d" % number for number in range(self.acknowledged, self.asked)]
            batch = build_batch(
                [Record(None, value, now_ms) for value in values],
                producer_id=self.producer_id,
                producer_epoch=0,
                base_sequence=self.acknowledged,
            )
            data = PartitionProduceData(index=self.index, records=batch)
            topic = TopicProduceData(name=TOPIC, partition_data=(data,))
            answer = await wire.asks("produce", 9, acks=-1, timeout_ms=1, topic_data=(topic,))
            part = answer.responses[0].partition_responses[0]
            assert part.error_code is E.none, f"{TOPIC}-{self.index}: {part.error_code.name}"
            assert part.base_offset == self.acknowledged, "numbers are offsets, as each is written once"
            told["records"] += self.asked - self.acknowledged
            self.acknowledged = self.asked
            await asyncio.sleep(0)

    async def looks(self, wire: Waiting, *, from_the_start: bool = False) -> None:
        offset = 0 if from_the_start else self.looked_at
        numbers: list[int] = []
        while True:
            part = FetchPartition(partition=self.index, fetch_offset=offset, partition_max_bytes=1 << 22)
            topic = FetchTopic(topic=TOPIC, partitions=(part,))
            answer = await wire.asks("fetch", 11, max_wait_ms=0, min_bytes=0, max_bytes=1 << 22, topics=(topic,))
            found = answer.responses[0].partitions[0]
            assert found.error_code is E.none
            data = b"".join(found.records or ())
            if not data:
                break
            for batch in read_batches(data):
                assert crc_matches(data, batch)
                offset = batch.last_offset + 1
            numbers += [int(value or b"") for each, _, value in contents([data]) if each == int(value or b"")]
        first = 0 if from_the_start else self.looked_at
        there = [number for number in numbers if number >= first]
        assert there == list(range(first, offset)), f"{TOPIC}-{self.index}: not each number once"
        assert self.acknowledged <= offset, f"{TOPIC}-{self.index}: {self.acknowledged} acknowledged, {offset} there"
        assert offset <= self.asked
        self.looked_at = offset


class Committer:
    """Commits for one group without members."""

    def __init__(self, group: str, commits: Registers[int]) -> None:
        self.group = group
        self.commits = commits
        self.offset = 0

    async def runs(self, wire: Waiting, random: Random, told: Counter[str]) -> None:
        while True:
            self.offset += 1
            offset, index = self.offset, random.randrange(PARTITIONS)
            self.commits.asked((self.group, index), offset)
            error = await wire.says(GroupMember("", self.group).commit(TOPIC, index, offset, epoch=-1))
            if error in ELSEWHERE:
                await wire.asks("find_coordinator", 1, coordinator_keys=(self.group,), key_type=0)
                continue
            assert error is E.none, f"{self.group}: {error.name}"
            self.commits.acknowledged((self.group, index), offset)
            told["commits"] += 1
            await asyncio.sleep(0)

    async def looks(self, wire: Waiting) -> None:
        groups = to_fetch(self.group, TOPIC, *range(PARTITIONS))
        answer = await wire.asks("offset_fetch", 8, groups=groups, require_stable=True)
        if answer.groups[0].error_code in ELSEWHERE and not self.offset:
            return
        assert answer.groups[0].error_code is E.none, answer.groups[0].error_code.name
        for part in answer.groups[0].topics[0].partitions:
            self.commits.found((self.group, part.partition_index), part.committed_offset)


class Killing:
    """The rounds."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.path = folder / "data"
        self.random = Random(seed)
        self.told: Counter[str] = Counter()
        """What was acknowledged."""
        self.slowest_start_s = 0.0
        self.mended = 0
        """Log lines about truncated data."""
        commits: Registers[int] = Registers(-1)
        self.producers = [Producer(index) for index in range(PARTITIONS)]
        self.members = [
            Alone(name=name, group_id=name, stays=name.startswith("stays"))
            for name in ("stays-0", "stays-1", "moves-0", "moves-1", "moves-2")
        ]
        self.consumers = [
            Together(
                name="",
                group_id=group,
                member_id=f"{group}-{number}",
                names=(TOPIC,),
                stays=group == "some-stay" and number < 2,
            )
            for group in ("some-stay", "all-move")
            for number in range(3)
        ]
        self.committers = [Committer(f"commits-{number}", commits) for number in range(COMMITTERS)]
        self.queue = Queue(TOPIC)
        self._ready = self._killed = False

    async def round(self, number: int) -> None:
        """Start the broker, check everything, apply some load, and kill it."""
        fsync = FSYNC[number % 3]
        if self._ready and self.random.random() < 0.1:
            await self._dies_while_starting(fsync)
        process, port, log = await self._start(fsync)
        try:
            if not self._ready:
                await self._prepare(port)
            await self.looks(port)
            await self._load(port, self.random.uniform(0.02, LONGEST_LIFE_S), process)
        finally:
            if not self._killed:
                process.kill()
            await process.wait()
            self._read(log)

    async def ends(self) -> None:
        """Start the broker for the last time and stop it regularly."""
        process, port, log = await self._start("never")
        await self.looks(port, from_the_start=True)
        wire = Waiting(port)
        await self.queue.nothing_is_lost(wire, [producer.acknowledged for producer in self.producers], self.told)
        wire.close()
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
        self._read(log)

    async def _dies_while_starting(self, fsync: str) -> None:
        with tempfile.TemporaryFile("w+") as log:
            process = await self._spawn(fsync, log)
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), self.random.uniform(0.1, 0.5))
            assert process.returncode is None, f"the broker does not start: {_whole(log)}"
            process.kill()
            await process.wait()

    async def _start(self, fsync: str) -> tuple[Process, int, Any]:
        began = monotonic()
        self._killed = False
        log = tempfile.TemporaryFile("w+")  # noqa: SIM115  (closed when it has been read)
        process = await self._spawn(fsync, log)
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), START_WITHIN_S)
        assert line.startswith(b"READY"), f"the broker does not start: {_whole(log)}"
        self.slowest_start_s = max(self.slowest_start_s, monotonic() - began)
        return process, int(line.rpartition(b":")[2]), log

    async def _spawn(self, fsync: str, log: Any) -> Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "kohort.cli", "serve", "--profile", "test", "--listen", "127.0.0.1:0",
            "--data-dir", str(self.path), "--fsync", fsync, "--log-level", "warning", stdout=PIPE, stderr=log,
        )  # fmt: skip

    async def _prepare(self, port: int) -> None:
        wire = Waiting(port)
        response = await wire.asks("create_topics", 7, topics=(new_topic(TOPIC, PARTITIONS),))
        assert response.topics[0].error_code is E.none
        await wire.asks("find_coordinator", 1, coordinator_keys=("g",), key_type=0)
        await self.queue.prepared(wire)
        wire.close()
        self._ready = True

    async def _load(self, port: int, seconds: float, process: Process) -> None:
        everybody: list[Producer | Alone | Committer | Together | Sharer] = [
            *self.producers, *self.members, *self.committers, *self.consumers, *self.queue.members,
        ]  # fmt: skip
        wires = [Waiting(port) for _ in everybody]
        tasks = [
            asyncio.create_task(_until_it_dies(each.runs(wire, self.random, self.told)))
            for each, wire in zip(everybody, wires, strict=True)
        ]
        await asyncio.sleep(seconds)
        assert process.returncode is None, "the broker has ended by itself"
        process.kill()
        self._killed = True
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await asyncio.gather(*tasks)
        finally:
            for wire in wires:
                wire.close()

    async def looks(self, port: int, *, from_the_start: bool = False) -> None:
        """Check that all acknowledged data exists and nothing is damaged."""
        faults = [
            fault
            for partition_folder in partition_folders(self.path)
            for fault in check_partition(partition_folder).faults
        ]
        assert not faults, faults
        wire = Waiting(port)
        for listing, fields in LISTINGS.items():
            while (await wire.asks(listing, 0, **fields)).error_code is E.coordinator_load_in_progress:
                await asyncio.sleep(0.01)
        for producer in self.producers:
            await producer.looks(wire, from_the_start=from_the_start)
        for member in self.members:
            await member.looks(wire)
        for consumer in self.consumers:
            await consumer.looks(wire)
        await one_owner_each(wire, self.consumers)
        for committer in self.committers:
            await committer.looks(wire)
        await self.queue.looks(wire)
        wire.close()

    def _read(self, log: Any) -> None:
        lines = _whole(log).splitlines()
        log.close()
        self.mended += sum("bytes cut from byte" in line for line in lines)
        mistakes = [line for line in lines if "[error" in line or "Traceback" in line]
        assert not mistakes, "\n".join(lines)


async def _until_it_dies(work: Coroutine[Any, Any, None]) -> None:
    with suppress(OSError):
        await work


def _whole(log: Any) -> str:
    log.seek(0)
    text: str = log.read()
    return text
