"""Returning of memory to the system while a broker is idle.

The memory of large requests is scattered between blocks that are still in use, so that glibc keeps it: after a storm of
unusual requests a broker had 45 MB more than before, half of it free. `malloc_trim` returns whole pages from the middle
of the heap.
"""

from __future__ import annotations

import os.path
import resource
from time import process_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

EVERY_S = 5.0  # interval of the checks whether the process is idle

# a process that used less processor time since the last check is idle, so that a trim delays no request
AT_REST_S = 0.25

WORKED_S = 2.0  # minimum processor time between two trims, unless the process has grown

GROWN = 16 << 20
"""Growth since the last trim after which the process is trimmed in any case.

5,000 concurrent TLS handshakes take 130 MB for as long as they last, and less than two seconds.
"""

_STATM = "/proc/self/statm"

# A larger process is not trimmed: it would take longer than 50 ms (100 ms for a fragmented gigabyte).
LARGEST = 384 << 20


class MemoryTrimmer:
    """A timer that trims the heap of an idle process."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        trim: Callable[[], object],
        resident: Callable[[], int],
        worked_s: Callable[[], float] = process_time,
    ) -> None:
        """Create the timer.

        Args:
            resident: Returns the bytes of memory that the process uses.
            worked_s: Returns the processor time that the process has used.
        """
        self._loop = loop
        self._trim = trim
        self._resident = resident
        self._worked_s = worked_s
        self._seen_s = self._trimmed_s = worked_s()
        self._trimmed_to = resident()

    def wait(self) -> None:
        self._loop.call_later(EVERY_S, self._look)

    def _look(self) -> None:
        self.wait()
        now_s = self._worked_s()
        at_rest = now_s - self._seen_s < AT_REST_S
        self._seen_s = now_s
        if not at_rest:
            return
        size = self._resident()
        is_due = now_s - self._trimmed_s >= WORKED_S or size - self._trimmed_to >= GROWN
        if is_due and size <= LARGEST:
            self._trim()
            self._trimmed_s, self._trimmed_to = now_s, self._resident()


def trim_memory_at_rest(loop: asyncio.AbstractEventLoop) -> None:
    """Start trimming, if the C library (glibc) supports it and the memory of the process is known (Linux)."""
    if os.path.exists(_STATM):
        MemoryTrimmer(loop, _trim, _resident).wait()


def _resident() -> int:
    with open(_STATM) as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def _trim() -> None:
    import ctypes  # a megabyte that most brokers never need

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
