"""A broker in a storm of requests: somebody's heartbeats are still answered in time, and others are served."""

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
LATE_MS = 100
"""A heartbeat for which the broker works longer is one too late (see sentinel.py)."""

SERVED_WITHIN_MS = 10_000
"""Everybody must be answered in this time by the clock, on a busy machine too: a session is that long."""

GROWTH_MB = 64
"""What the broker may have more at the end, when topics and groups are gone, beside the records of internal topics."""

CALM_WITHIN_S = 40
LEARNS_EVERY_S = 3
LEARNS_WITHIN_S = 60
SILENT_S = 30
"""Clients send after a second at the latest, whatever the broker does: if nothing is sent for so long they hang."""
READY_WITHIN_S = 60


class Watcher:
    """A process that tells its findings in lines of JSON."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.told: dict[str, Any] = {}
        self.lists: dict[str, list[str]] = {}
        self._task = asyncio.create_task(self._read())

    @classmethod
    async def starts(cls, module: str, *arguments: int) -> Watcher:
        words = [sys.executable, "-m", f"tests.fuzz.{module}", *map(str, arguments)]
        return cls(await asyncio.create_subprocess_exec(*words, stdout=PIPE))

    async def tells(self, name: str, at_least: float = 1) -> Any:
        """Waits until it has told of something."""
        async with asyncio.timeout(READY_WITHIN_S):
            while self.told.get(name, 0) < at_least:
                await asyncio.sleep(0.05)
        return self.told[name]

    def found(self, name: str) -> list[str]:
        """All texts that it has told under a name."""
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
                    self.told[name] = value


class Stillness:
    """Notices that the clients of a storm send nothing any more, says so once, and has others take their places."""

    def __init__(self, storm: Storm) -> None:
        self._storm = storm
        self._sent = -1
        self._since_s = 0.0

    def looks(self, now_s: float) -> list[str]:
        """What is to be told."""
        counts = self._storm.counts
        if counts.sent != self._sent:
            self._sent, self._since_s = counts.sent, now_s
            return []
        if now_s - self._since_s < SILENT_S:
            return []
        self._since_s = now_s
        told = (
            f"after {counts.sent:,} frames no client sent anything for {SILENT_S} s, {len(self._storm.clients)} of them"
        )
        waited = ", ".join(f"{name} {times}" for name, times in counts.unanswered.most_common(5))
        self._storm.replace_all()
        return [f"{told} were connected, {counts.not_accepted} connections were not accepted; given up on {waited}"]


class Live:
    """One broker, fuzzed and watched. `problems`: all that was wrong, in sentences."""

    def __init__(self, seed: int, data_dir: Path | None = None, *, secured: bool = False) -> None:
        self.random = Random(seed)
        self.data_dir = data_dir
        self.secured = secured
        self.problems: list[str] = []
        self.counts = Counts()
        self.figures: dict[str, float] = {}
        self.suspects: list[Batch] = []
        """What was sent before the first mistake."""

    async def runs(self, frames: int, seconds: float, progress: Callable[[str], None]) -> None:
        """Sends so many frames, or for so long, whichever is over first."""
        broker = await asyncio.to_thread(partial(Broker, self.data_dir, secured=self.secured))
        watchers: list[Watcher] = []
        try:
            await loads(broker.port, self.random)
            bystanders = await Watcher.starts("bystanders", broker.port, BYSTANDERS)
            watchers.append(bystanders)
            echo_port = await bystanders.tells("echo_port")
            await bystanders.tells("joined", BYSTANDERS)
            sentinel = await Watcher.starts("sentinel", broker.port, broker.pid, echo_port)
            watchers.append(sentinel)
            await sentinel.tells("beats")
            await self._storms(broker, frames, seconds, lambda: progress(self._line(broker, sentinel, bystanders)))
            if broker.alive:
                await self._calms(broker)
            self._judges(broker, sentinel, bystanders)
        finally:
            for watcher in watchers:
                await watcher.stop()
            code = await asyncio.to_thread(broker.stop)
            if code:
                self.problems.append(f"the broker ended with {code}: {broker.told()}")
            self.problems += [each.decode(errors="replace") for each in broker.mistakes.values()]

    async def _storms(self, broker: Broker, frames: int, seconds: float, progress: Callable[[], None]) -> None:
        storm = Storm(broker.storm_port, self.random, logs_in=self.secured)
        self.counts = storm.counts
        wire = await Waiting.to(broker.port)
        await storm.learns(wire)
        await _tidy(wire)
        self.figures["rss_before_mb"], self.figures["stored_before_mb"] = broker.rss_mb(), await _stored_mb(wire)
        end_s, learns_s = monotonic() + seconds, 0.0
        for _ in range(CLIENTS):
            await connect(storm)
        watch = Stillness(storm)
        while not storm.ends and storm.counts.sent < frames and monotonic() < end_s:
            await asyncio.sleep(0.5)
            self.problems += watch.looks(monotonic())
            if monotonic() >= learns_s:
                learns_s = monotonic() + LEARNS_EVERY_S
                try:
                    async with asyncio.timeout(LEARNS_WITHIN_S):
                        await storm.learns(wire)
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

    async def _calms(self, broker: Broker) -> None:
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
        """How much more memory the broker has than before, without what it stores rightly."""
        figures = self.figures
        stored_mb = 0.0 if self.data_dir else figures["stored_after_mb"] - figures["stored_before_mb"]
        return figures["rss_after_mb"] - figures["rss_before_mb"] - stored_mb

    def _judges(self, broker: Broker, sentinel: Watcher, bystanders: Watcher) -> None:
        self.figures |= {name: value for name, value in sentinel.told.items() if name.startswith("worst")}
        self.figures["beats"] = sentinel.told["beats"]
        self.figures["bystanders_served"] = bystanders.told["served"]
        self.figures["bystanders_worst_ms"] = bystanders.told["worst_ms"]
        self.problems += [*sentinel.found("failures"), *bystanders.found("failures")]
        if self.figures["worst_of_broker_ms"] > LATE_MS:
            late = ", ".join(sentinel.found("late")[:10])
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
            f"heartbeats: {sentinel.told['worst_of_broker_ms']:.0f} ms at worst "
            f"({sentinel.told['worst_ms']:.0f} by the clock, echo {sentinel.told['worst_echo_ms']:.0f}); "
            f"others: {bystanders.told['worst_ms']:.0f} ms; {broker.rss_mb():.0f} MB; "
            f"{len(broker.mistakes)} mistakes"
        )


async def _stored_mb(wire: Waiting) -> float:
    """The bytes of all logs. They are in memory, unless the broker has a data directory."""
    described = await wire.asks("describe_log_dirs", 1, topics=None)
    size: int = sum(
        part.partition_size for each in described.results for topic in each.topics for part in topic.partitions
    )
    return size / (1 << 20)


async def _tidy(wire: Waiting) -> None:
    """Deletes all topics and groups, but for those of the watchers."""
    topics = (await wire.asks("metadata", 1, topics=None)).topics
    names = [each.name for each in topics if not each.is_internal]
    for start in range(0, len(names), 500):
        some = tuple(DeleteTopicState(name=name) for name in names[start : start + 500])
        await wire.asks("delete_topics", 3, topics=some, timeout_ms=1_000)
    groups = [each.group_id for each in (await wire.asks("list_groups", 1)).groups]
    others = tuple(each for each in groups if not each.startswith(("sentinel", "bystander-")))
    if others:
        await wire.asks("delete_groups", 0, groups_names=others)
