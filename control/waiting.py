"""Waits in real time for conditions of the cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kohort.base.clock import machines
from kohort.control.control_errors import ControlError
from kohort.control.numbers import Seconds, as_seconds

POLL_S = 0.05  # interval at which a condition is checked without an event

PATIENCE_S = 30.0  # default timeout

MAX_WAIT_S = 600.0  # maximum timeout of a request to the control address

_A_MOMENT_NS = 1_000_000  # a clock that does not change for a whole millisecond stands still


class Waiters:
    """Calls that wait for a condition. Each event of the cluster wakes them."""

    def __init__(self) -> None:
        self._woken: set[asyncio.Future[None]] = set()
        self._closed = ""

    def close(self, reason: str) -> None:
        """Let all calls fail from now on, with `reason`, because no condition can become true any more."""
        self._closed = reason
        self.look()

    def check_open(self) -> None:
        if self._closed:
            raise RuntimeError(self._closed)

    def look(self) -> None:
        for future in self._woken:
            if not future.done():
                future.set_result(None)
        self._woken.clear()

    async def until(self, condition: Callable[[], bool], timeout: Seconds, describe: Callable[[], str]) -> None:
        """Wait until `condition` holds.

        Raises:
            TimeoutError: After `timeout`, with the text of `describe`.
            ControlError: If the time of the event loop stands still, so that no wait would end, or if `condition`
                is a coroutine function.
            RuntimeError: If the cluster has ended.
        """
        seconds = as_seconds(timeout, "a timeout")
        self.check_open()
        if _holds(condition):
            return
        loop = asyncio.get_running_loop()
        if _stands_still(loop):
            raise ControlError(
                "the time of this event loop stands still, so no wait would end; with freezegun, use "
                "freeze_time(…, real_asyncio=True)"
            )
        end = loop.time() + seconds
        while not _holds(condition):
            self.check_open()
            remaining = end - loop.time()
            if remaining <= 0:
                raise TimeoutError(f"after {seconds} s {describe()}")
            future: asyncio.Future[None] = loop.create_future()
            self._woken.add(future)
            try:
                await asyncio.wait({future}, timeout=min(remaining, POLL_S))
            finally:
                self._woken.discard(future)


def _holds(condition: Callable[[], object]) -> bool:
    result = condition()
    if asyncio.iscoroutine(result):
        result.close()
        raise ControlError("the condition is a coroutine function, which is always true; pass a plain function")
    return bool(result)


def _stands_still(loop: asyncio.AbstractEventLoop) -> bool:
    machine_ns, loop_time = machines("monotonic_ns"), loop.time()
    end_ns = machine_ns() + _A_MOMENT_NS
    while machine_ns() < end_ns:
        if loop.time() != loop_time:
            return False
    return loop.time() == loop_time
