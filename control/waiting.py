"""Waiting, in real time, until something has come about in the cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kohort.broker.clock import machines
from kohort.control.control_errors import ControlError

POLL_S = 0.05
"""How often a condition is looked at when nothing that it may depend on has been announced."""

PATIENCE_S = 30.0
"""How long somebody waits who does not say how long."""

LONGEST_WAIT_S = 600.0
"""How long one may wait for an answer of the control address."""

_A_MOMENT_NS = 1_000_000
"""A clock that shows the same for a whole millisecond stands still."""


class Waiters:
    """Everybody who waits for something; woken when something happens."""

    def __init__(self) -> None:
        self._woken: set[asyncio.Future[None]] = set()

    def look(self) -> None:
        """Something has happened: whoever waits looks whether it is what they wait for."""
        for future in self._woken:
            if not future.done():
                future.set_result(None)
        self._woken.clear()

    async def until(self, condition: Callable[[], bool], timeout: float, otherwise: Callable[[], str]) -> None:
        """Returns when `condition` holds. Raises TimeoutError, with what `otherwise` says, after `timeout` seconds.

        Raises ControlError where the time of the event loop stands still, by which nothing here ever ends.
        """
        if condition():
            return
        loop = asyncio.get_running_loop()
        if _stands_still(loop):
            raise ControlError(
                "the time of this event loop stands still, so that nothing that waits in it ever ends; with freezegun, "
                "freeze_time(…, real_asyncio=True) lets it go on"
            )
        end = loop.time() + timeout
        while not condition():
            left = end - loop.time()
            if left <= 0:
                raise TimeoutError(otherwise())
            future: asyncio.Future[None] = loop.create_future()
            self._woken.add(future)
            try:
                await asyncio.wait({future}, timeout=min(left, POLL_S))
            finally:
                self._woken.discard(future)


def _stands_still(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether the machine's clock goes on and the loop's does not."""
    machine_ns, before = machines("monotonic_ns"), loop.time()
    end_ns = machine_ns() + _A_MOMENT_NS
    while machine_ns() < end_ns:
        if loop.time() != before:
            return False
    return loop.time() == before
