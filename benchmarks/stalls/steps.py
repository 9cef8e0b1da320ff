"""`python -m benchmarks.stalls.steps REPORT serve …`: a `kohort serve …` that measures itself.

A step is one call of the event loop: bytes of a connection, a turn, a timer. A round is all steps between two looks at
the sockets: who asks for little waits for one. Both are measured in CPU time of the loop's thread, so a busy machine
does not count. REPORT gets a line of JSON each time the process hears SIGUSR1, and at the end.

The broker runs on asyncio's own loop, as the steps of uvloop cannot be seen.
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
"""From here on a step is looked at: what it is doing is sampled, and it is reported."""

SAMPLED_EVERY_S = 0.002
KEPT = 20
FRAMES_SHOWN = 8


class Longest:
    """The longest of many, each with a text that says what it was."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, str]] = []
        self._count = 0

    def add(self, took_ns: int, what: str) -> None:
        self._count += 1
        entry = (round(took_ns / 1e6, 1), self._count, what)
        (heapq.heappush if len(self._heap) < KEPT else heapq.heappushpop)(self._heap, entry)

    def in_order(self) -> list[tuple[float, str]]:
        """The longest first, in milliseconds."""
        return [(took_ms, what) for took_ms, _, what in sorted(self._heap, reverse=True)]


class Meter:
    """Measures the steps of the loop that runs in this thread."""

    def __init__(self) -> None:
        self.steps, self.rounds, self.collections = Longest(), Longest(), Longest()
        self._thread = threading.get_ident()
        self._clock = 0
        """Grows with each step: a sample belongs to the step in which it was taken."""
        self._samples: Counter[str] = Counter()
        self._collection_began_ns = 0
        gc.callbacks.append(self._collected)
        threading.Thread(target=self._look, daemon=True).start()

    def step(self, function: Any, *arguments: Any) -> None:
        """Runs a step."""
        self._clock += 1
        self._samples.clear()
        before_ns = thread_time_ns()
        try:
            function(*arguments)
        finally:
            took_ns = thread_time_ns() - before_ns
            if took_ns >= LONG_NS:
                self.steps.add(took_ns, "; ".join(f"{count}× {what}" for what, count in self._samples.most_common(4)))

    def forget(self) -> None:
        """Begins anew."""
        self.steps, self.rounds, self.collections = Longest(), Longest(), Longest()

    def told(self) -> str:
        """One line of JSON."""
        found = {"steps": self.steps, "rounds": self.rounds, "collections": self.collections}
        return json.dumps({name: longest.in_order() for name, longest in found.items()})

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        now_ns = thread_time_ns()
        if phase == "start":
            self._collection_began_ns = now_ns
        elif threading.get_ident() == self._thread:
            self.collections.add(now_ns - self._collection_began_ns, f"generation {info['generation']}")

    def _look(self) -> None:
        seen, since = 0, 0
        while True:
            sleep(SAMPLED_EVERY_S)
            since = since + 1 if seen == self._clock else 0
            seen = self._clock
            if since > 1:
                self._samples[_stack(sys._current_frames()[self._thread])] += 1


def _stack(frame: Any) -> str:
    names: list[str] = []
    while frame is not None and len(names) < FRAMES_SHOWN:
        names.append(f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}:{frame.f_lineno}")
        frame = frame.f_back
    return " < ".join(names)


class MeasuredLoop(asyncio.SelectorEventLoop):
    """asyncio's loop, round by round."""

    meter: Meter

    def _run_once(self) -> None:
        before_ns = thread_time_ns()
        super()._run_once()  # type: ignore[misc]
        took_ns = thread_time_ns() - before_ns
        if took_ns >= LONG_NS:
            self.meter.rounds.add(took_ns, "")


def main(report: str, *words: str) -> None:
    """Runs `kohort` with `words`."""
    import uvloop

    from kohort.cli.commands import main as kohort

    meter = MeasuredLoop.meter = Meter()
    ordinary = Handle._run

    def run(handle: Handle) -> None:
        meter.step(ordinary, handle)

    def tell(*_: object) -> None:
        with Path(report).open("a") as file:
            file.write(meter.told() + "\n")
        meter.forget()

    Handle._run = run  # type: ignore[method-assign,assignment]
    uvloop.new_event_loop = MeasuredLoop  # type: ignore[assignment]
    signal.signal(signal.SIGUSR1, tell)
    atexit.register(tell)
    sys.argv = ["kohort", *words]
    kohort()


if __name__ == "__main__":
    main(*sys.argv[1:])
