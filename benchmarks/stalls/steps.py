"""`python -m benchmarks.stalls.steps REPORT serve …`: a `kohort serve …` that measures itself.

A step is one call by the event loop: received bytes, a turn, a timer. A round is all steps between two polls of the
sockets: a small request waits for one. Both are measured in CPU time of the loop's thread, so a busy machine does not
count. REPORT gets a line of JSON on each SIGUSR1, and at the end.

The broker runs on asyncio's own loop, because the steps of uvloop can't be measured.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import heapq
import json
import signal
import sys
import threading
from asyncio.events import Handle
from collections import Counter
from pathlib import Path
from time import sleep, thread_time_ns
from typing import Any

LONG_NS = 10_000_000
"""Steps that take longer are sampled and reported."""

SAMPLED_EVERY_S = 0.002
KEPT = 20
FRAMES_SHOWN = 8


class Longest:
    """The longest entries, each with a description."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, str]] = []
        self._count = 0

    def add(self, took_ns: int, description: str) -> None:
        self._count += 1
        entry = (round(took_ns / 1e6, 1), self._count, description)
        (heapq.heappush if len(self._heap) < KEPT else heapq.heappushpop)(self._heap, entry)

    def in_order(self) -> list[tuple[float, str]]:
        """Return the entries in milliseconds, the longest first."""
        return [(took_ms, description) for took_ms, _, description in sorted(self._heap, reverse=True)]


class Meter:
    """Measurement of the loop in this thread."""

    def __init__(self) -> None:
        self.steps, self.rounds, self.collections = Longest(), Longest(), Longest()
        self._thread = threading.get_ident()
        self._clock = 0  # number of the step; a sample belongs to the current one
        self._samples: Counter[str] = Counter()
        self._collection_began_ns = 0
        gc.callbacks.append(self._collected)
        threading.Thread(target=self._look, daemon=True).start()

    def step(self, function: Any, *arguments: Any) -> None:
        self._clock += 1
        self._samples.clear()
        before_ns = thread_time_ns()
        try:
            function(*arguments)
        finally:
            took_ns = thread_time_ns() - before_ns
            if took_ns >= LONG_NS:
                self.steps.add(took_ns, "; ".join(f"{count}× {stack}" for stack, count in self._samples.most_common(4)))

    def forget(self) -> None:
        self.steps, self.rounds, self.collections = Longest(), Longest(), Longest()

    def report_line(self) -> str:
        """Return the report as one line of JSON."""
        entries = {"steps": self.steps, "rounds": self.rounds, "collections": self.collections}
        return json.dumps({name: longest.in_order() for name, longest in entries.items()})

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        now_ns = thread_time_ns()
        if phase == "start":
            self._collection_began_ns = now_ns
        elif threading.get_ident() == self._thread:
            self.collections.add(now_ns - self._collection_began_ns, f"generation {info['generation']}")

    def _look(self) -> None:
        previous, since = 0, 0
        while True:
            sleep(SAMPLED_EVERY_S)
            since = since + 1 if previous == self._clock else 0
            previous = self._clock
            if since > 1:
                self._samples[_stack(sys._current_frames()[self._thread])] += 1


def _stack(frame: Any) -> str:
    names: list[str] = []
    while frame is not None and len(names) < FRAMES_SHOWN:
        names.append(f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}:{frame.f_lineno}")
        frame = frame.f_back
    return " < ".join(names)


class MeasuredLoop(asyncio.SelectorEventLoop):
    """Loop of asyncio with measured rounds."""

    meter: Meter

    def _run_once(self) -> None:
        before_ns = thread_time_ns()
        super()._run_once()  # type: ignore[misc]
        took_ns = thread_time_ns() - before_ns
        if took_ns >= LONG_NS:
            self.meter.rounds.add(took_ns, "")


def main(report: str, *words: str) -> None:
    """Run `kohort` with `words`."""
    import uvloop

    from kohort.cli.commands import main as kohort

    meter = MeasuredLoop.meter = Meter()
    ordinary = Handle._run

    def run(handle: Handle) -> None:
        meter.step(ordinary, handle)

    def tell(*_: object) -> None:
        with Path(report).open("a") as file:
            file.write(meter.report_line() + "\n")
        meter.forget()

    Handle._run = run  # type: ignore[method-assign,assignment]
    uvloop.new_event_loop = MeasuredLoop  # type: ignore[assignment]
    signal.signal(signal.SIGUSR1, tell)
    atexit.register(tell)
    sys.argv = ["kohort", *words]
    kohort()


if __name__ == "__main__":
    main(*sys.argv[1:])
