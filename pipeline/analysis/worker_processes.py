"""Calls in other processes of this machine, one for each core."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import active_children
from types import TracebackType
from typing import Self, TypeVar

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

_CHUNKS_PER_PROCESS = 8  # calls differ in length; the items of a chunk are pickled together


class WorkerProcesses:
    """Processes that start with the first call and end with the block.

    An interrupted block ends them at once; otherwise they finish the calls that were requested.
    """

    def __init__(self) -> None:
        self._executor: ProcessPoolExecutor | None = None
        self._other_processes = set(active_children())
        self._completed_calls = self._calls = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if self._executor is None:
            return
        if kind is KeyboardInterrupt:
            for process in set(active_children()) - self._other_processes:
                process.terminate()
        self._executor.shutdown(cancel_futures=True)

    def map(self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]) -> Iterator[ResultT]:
        """Yield the results in the order of the items. The function, the items and the results are pickled."""
        if self._executor is None:
            self._executor = ProcessPoolExecutor(initializer=_leave_signals_to_parent)
        self._completed_calls, self._calls = 0, len(items)
        chunk = max(1, len(items) // (_CHUNKS_PER_PROCESS * (os.cpu_count() or 1)))
        for result in self._executor.map(function, items, chunksize=chunk):
            self._completed_calls += 1
            yield result
        self._calls = 0

    def describe_progress(self) -> str:
        return f", {self._completed_calls} of {self._calls} calls" if self._calls else ""


def _leave_signals_to_parent() -> None:
    # Ctrl-C reaches all processes of a terminal. Only the parent handles it, and then terminates the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
