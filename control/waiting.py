"""Waiting, in real time, until something has come about in the cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kohort.broker.clock import machines
from kohort.control.control_errors import ControlError
from kohort.control.numbers import Seconds, as_seconds

POLL_S = 0.05
"""How often a condition is looked at when nothing that it may depend on has been announced."""

PATIENCE_S = 30.0
"""How long somebody waits who does not say how long."""

LONGEST_WAIT_S = 600.0
"""How long one may wait for an answer of the control address."""

_A_MOMENT_NS = 1_000_000
"""A clock that shows the same for a whole millisecond stands still."""


class Waiters:
    """Calls that wait until a condition holds; they are woken by each event of the cluster."""

    def __init__(self) -> None:
        self._woken: set[asyncio.Future[None]] = set()
        self._closed = ""

    def close(self, reason: str) -> None:
        """Let all calls fail from now on, with `reason`: nothing that they could wait for happens any more."""
        self._closed = reason
        self.look()

    def check_open(self) -> None:
        """Raise RuntimeError after `close`."""
        if self._closed:
            raise RuntimeError(self._closed)

    def look(self) -> None:
        """Something has happened: whoever waits looks whether it is what they wait for."""
        for future in self._woken:
            if not future.done():
                future.set_result(None)
        self._woken.clear()

    async def until(self, condition: Callable[[], bool], timeout: Seconds, describe: Callable[[], str]) -> None:
        """Return when `condition` holds.

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
                "the time of this event loop stands still, so that nothing that waits in it ever ends; with freezegun, "
                "freeze_time(…, real_asyncio=True) lets it go on"
            )
        end = loop.time() + seconds
        while not _holds(condition):
            self.check_open()
            left = end - loop.time()
            if left <= 0:
                raise TimeoutError(f"after {seconds} s {describe()}")
            future: asyncio.Future[None] = loop.create_future()
            self._woken.add(future)
            try:
                await asyncio.wait({future}, timeout=min(left, POLL_S))
            finally:
                self._woken.discard(future)


def _holds(condition: Callable[[], object]) -> bool:
    result = condition()
    if asyncio.iscoroutine(result):
        result.close()
        raise ControlError("the condition is a coroutine function, which is always true; give it a plain function")
    return bool(result)


def _stands_still(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether the machine's clock goes on and the loop's does not."""
    machine_ns, before = machines("monotonic_ns"), loop.time()
    end_ns = machine_ns() + _A_MOMENT_NS
    while machine_ns() < end_ns:
        if loop.time() != before:
            return False
    return loop.time() == before
