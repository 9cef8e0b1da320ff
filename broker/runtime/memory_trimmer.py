"""Gives memory back to the system when a broker comes to rest.

What large requests took lies between what is still in use, so that glibc keeps it: after a storm of odd requests a
broker had 45 MB more than before, half of it free. `malloc_trim` returns whole pages from the middle of the heap.
"""

from __future__ import annotations

import os.path
import resource
from time import process_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

EVERY_S = 5.0
"""How often a look is taken at how much the process has worked."""

AT_REST_S = 0.25
"""A process that has worked less than this since the last look is at rest: nobody waits for a trim."""

WORKED_S = 2.0
"""How much it must have worked since the last trim for another one, unless it has grown."""

GROWN = 16 << 20
"""So much larger than after the last trim it is trimmed however little it has worked: 5,000 TLS handshakes at one time
take 130 MB for as long as they last, and less than two seconds."""

_STATM = "/proc/self/statm"

LARGEST = 384 << 20
"""A larger process is not trimmed: it would take longer than 50 ms (100 ms for a gigabyte in pieces)."""


class MemoryTrimmer:
    """Looks now and then, and trims at rest."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        trim: Callable[[], object],
        resident: Callable[[], int],
        worked_s: Callable[[], float] = process_time,
    ) -> None:
        """`resident`: the bytes of memory that the process has; `worked_s`: the processor time that it has used."""
        self._loop = loop
        self._trim = trim
        self._resident = resident
        self._worked_s = worked_s
        self._seen_s = self._trimmed_s = worked_s()
        self._trimmed_to = resident()

    def wait(self) -> None:
        """Looks EVERY_S from now."""
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
    """From now on, where the C library can (glibc) and the system says how much memory a process has (Linux)."""
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
