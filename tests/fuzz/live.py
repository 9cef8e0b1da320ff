"""Fuzzes a broker: heartbeats must still be answered in time, and other clients served."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

from kohort.protocol.messages.delete_topics import DeleteTopicState
from tests.fuzz.broker import Broker
from tests.fuzz.shrinking import Batch
from tests.fuzz.storm import CLIENTS, Counts, Storm, connect, loads
from tests.support.wires import Waiting

BYSTANDERS = 200
LATE_MS = 100  # a heartbeat is late if the broker works longer than this for it (see sentinel.py)

SERVED_WITHIN_MS = 10_000  # maximum wall-clock time of a response, also on a busy machine: as long as a session

GROWTH_MB = 64  # maximum growth of memory at the end, without topics, groups and records of internal topics

CALM_WITHIN_S = 40
LEARNS_EVERY_S = 3
LEARNS_WITHIN_S = 60
SILENT_S = 30  # clients send at least every second; if they send nothing for this time, they hang
READY_WITHIN_S = 60


class Watcher:
    """Process that reports its findings in lines of JSON."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.values: dict[str, Any] = {}
        self.lists: dict[str, list[str]] = {}
        self._task = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, module: str, *arguments: int) -> Watcher:
        fields = [sys.executable, "-m", f"tests.fuzz.{module}", *map(str, arguments)]
        return cls(await asyncio.create_subprocess_exec(*fields, stdout=PIPE))

    async def wait_for(self, name: str, at_least: float = 1) -> Any:
        """Wait until it has reported a value of this name."""
        async with asyncio.timeout(READY_WITHIN_S):
            while self.values.get(name, 0) < at_least:
                await asyncio.sleep(0.05)
        return self.values[name]

    def reported(self, name: str) -> list[str]:
        """Return all texts that it has reported under a name."""
        return self.lists.get(name, [])

    async def stop(self) -> None:
        with suppress(ProcessLookupError):
            self._process.terminate()
        await self._process.wait()
        await self._task

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            for name, value in json.loads(line).items():
                if isinstance(value, list):
                    self.lists.setdefault(name, []).extend(value)
                else:
                    self.values[name] = value


class Stillness:
    """Detects that the clients of a storm send nothing any more, reports it once, and replaces them."""

    def __init__(self, storm: Storm) -> None:
        self._storm = storm
        self._sent = -1
        self._since_s = 0.0

    def check(self, now_s: float) -> list[str]:
        """Return new findings."""
        counts = self._storm.counts
        if counts.sent != self._sent:
            self._sent, self._since_s = counts.sent, now_s
            return []
        if now_s - self._since_s < SILENT_S:
            return []
        self._since_s = now_s
        findings = (
            f"after {counts.sent:,} frames no client sent anything for {SILENT_S} s, {len(self._storm.clients)} of them"
        )
        waited = ", ".join(f"{name} {times}" for name, times in counts.unanswered.most_common(5))
        self._storm.replace_all()
        return [f"{findings} were connected, {counts.not_accepted} connections were not accepted; given up on {waited}"]


class Live:
    """A broker, fuzzed and watched. `problems` lists all errors."""

    def __init__(self, seed: int, data_dir: Path | None = None, *, secured: bool = False) -> None:
        self.random = Random(seed)
        self.data_dir = data_dir
        self.secured = secured
        self.problems: list[str] = []
        self.counts = Counts()
        self.figures: dict[str, float] = {}
        self.suspects: list[Batch] = []  # batches that were sent before the first error

    async def run(self, frames: int, seconds: float, progress: Callable[[str], None]) -> None:
        """Send this many frames, or for this many seconds, whichever comes first."""
        broker = await asyncio.to_thread(partial(Broker, self.data_dir, secured=self.secured))
        watchers: list[Watcher] = []
        try:
            await loads(broker.port, self.random)
            bystanders = await Watcher.start("bystanders", broker.port, BYSTANDERS)
            watchers.append(bystanders)
            echo_port = await bystanders.wait_for("echo_port")
            await bystanders.wait_for("joined", BYSTANDERS)
            sentinel = await Watcher.start("sentinel", broker.port, broker.pid, echo_port)
            watchers.append(sentinel)
            await sentinel.wait_for("beats")
            await self._storms(broker, frames, seconds, lambda: progress(self._line(broker, sentinel, bystanders)))
            if broker.alive:
                await self._clean_up(broker)
            self._evaluate(broker, sentinel, bystanders)
        finally:
            for watcher in watchers:
                await watcher.stop()
            code = await asyncio.to_thread(broker.stop)
            if code:
                self.problems.append(f"the broker ended with {code}: {broker.log_tail()}")
            self.problems += [mistake.decode(errors="replace") for mistake in broker.mistakes.values()]

    async def _storms(self, broker: Broker, frames: int, seconds: float, progress: Callable[[], None]) -> None:
        storm = Storm(broker.storm_port, self.random, logs_in=self.secured)
        self.counts = storm.counts
        wire = await Waiting.to(broker.port)
        await storm.learn(wire)
        await _tidy(wire)
        self.figures["rss_before_mb"], self.figures["stored_before_mb"] = broker.rss_mb(), await _stored_mb(wire)
        end_s, learns_s = monotonic() + seconds, 0.0
        for _ in range(CLIENTS):
            await connect(storm)
        watch = Stillness(storm)
        while not storm.ends and storm.counts.sent < frames and monotonic() < end_s:
            await asyncio.sleep(0.5)
            self.problems += watch.check(monotonic())
            if monotonic() >= learns_s:
                learns_s = monotonic() + LEARNS_EVERY_S
                try:
                    async with asyncio.timeout(LEARNS_WITHIN_S):
                        await storm.learn(wire)
                except OSError:  # it was silent for too long, on a busy machine, or the broker has ended
                    if broker.alive:
                        wire = await Waiting.to(broker.port)
            self.figures["rss_highest_mb"] = max(self.figures.get("rss_highest_mb", 0), broker.rss_mb())
            if (broker.mistakes or not broker.alive) and not self.suspects:
                self.suspects = list(storm.remembered)
            progress()
        if not broker.alive:
            self.problems.append("the broker has ended in the middle of it")
        storm.ends = True

    async def _clean_up(self, broker: Broker) -> None:
        """Deletes what requests have made, and waits until the memory is there again."""
        await asyncio.sleep(2.5)
        end_s = monotonic() + CALM_WITHIN_S
        wire = await Waiting.to(broker.port)
        while True:
            await _tidy(wire)
            self.figures["rss_after_mb"], self.figures["stored_after_mb"] = broker.rss_mb(), await _stored_mb(wire)
            if self._grown_mb() <= GROWTH_MB or monotonic() > end_s:
                break
            await asyncio.sleep(2)

    def _grown_mb(self) -> float:
        """Return the growth of the broker's memory, without stored data."""
        figures = self.figures
        stored_mb = 0.0 if self.data_dir else figures["stored_after_mb"] - figures["stored_before_mb"]
        return figures["rss_after_mb"] - figures["rss_before_mb"] - stored_mb

    def _evaluate(self, broker: Broker, sentinel: Watcher, bystanders: Watcher) -> None:
        self.figures |= {name: value for name, value in sentinel.values.items() if name.startswith("worst")}
        self.figures["beats"] = sentinel.values["beats"]
        self.figures["bystanders_served"] = bystanders.values["served"]
        self.figures["bystanders_worst_ms"] = bystanders.values["worst_ms"]
        self.problems += [*sentinel.reported("failures"), *bystanders.reported("failures")]
        if self.figures["worst_of_broker_ms"] > LATE_MS:
            late = ", ".join(sentinel.reported("late")[:10])
            self.problems.append(f"heartbeats of the sentinel were answered too late: {late}")
        for name in ("worst_ms", "bystanders_worst_ms"):
            if self.figures[name] > SERVED_WITHIN_MS:
                self.problems.append(f"somebody waited for {self.figures[name]:.0f} ms ({name})")
        if "rss_after_mb" in self.figures:
            self.figures["grown_mb"] = self._grown_mb()
            if self.figures["grown_mb"] > GROWTH_MB:
                self.problems.append(f"the broker has kept {self.figures['grown_mb']:.0f} MB, and what it stores")

    def _line(self, broker: Broker, sentinel: Watcher, bystanders: Watcher) -> str:
        return (
            f"{self.counts.sent:>9,} frames, {self.counts.hung_up:,} connections closed; "
            f"heartbeats: {sentinel.values['worst_of_broker_ms']:.0f} ms at worst "
            f"({sentinel.values['worst_ms']:.0f} by the clock, echo {sentinel.values['worst_echo_ms']:.0f}); "
            f"others: {bystanders.values['worst_ms']:.0f} ms; {broker.rss_mb():.0f} MB; "
            f"{len(broker.mistakes)} mistakes"
        )


async def _stored_mb(wire: Waiting) -> float:
    """Return the size of all logs, which are in memory unless the broker has a data directory."""
    described = await wire.asks("describe_log_dirs", 1, topics=None)
    size: int = sum(
        part.partition_size for result in described.results for topic in result.topics for part in topic.partitions
    )
    return size / (1 << 20)


async def _tidy(wire: Waiting) -> None:
    """Delete all topics and groups except those of the watchers."""
    topics = (await wire.asks("metadata", 1, topics=None)).topics
    names = [item.name for item in topics if not item.is_internal]
    for start in range(0, len(names), 500):
        some = tuple(DeleteTopicState(name=name) for name in names[start : start + 500])
        await wire.asks("delete_topics", 3, topics=some, timeout_ms=1_000)
    groups = [group.group_id for group in (await wire.asks("list_groups", 1)).groups]
    others = tuple(group for group in groups if not group.startswith(("sentinel", "bystander-")))
    if others:
        await wire.asks("delete_groups", 0, groups_names=others)
