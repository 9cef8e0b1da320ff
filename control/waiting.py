"""Waiting, in real time, until something has come about in the cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

POLL_S = 0.05
"""How often a condition is looked at when nothing that it may depend on has been announced."""


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
        """Returns when `condition` holds. Raises TimeoutError, with what `otherwise` says, after `timeout` seconds."""
        loop = asyncio.get_running_loop()
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
