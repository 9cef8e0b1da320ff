"""Where the partitions end that groups have committed for: asked of the cluster in the background, seldom."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from kohort.broker.clock import Clock

if TYPE_CHECKING:
    from kohort.protocol.topic_partition import TopicPartition

FRESH_MS: Final = 1_000
"""Ends that are no older are not asked for anew."""

MOST_PARTITIONS: Final = 10_000
"""Ends that are known; with more, all are forgotten and asked for anew."""

AsksForEnds = Callable[[Iterable["TopicPartition"]], Awaitable[Mapping["TopicPartition", int]]]
"""Asks the cluster; those it does not answer are left out. Raises OSError."""


class LogEnds:
    """What is known, and when it was asked for."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, clock: Clock, asks: AsksForEnds, changed: Callable[[], None]
    ) -> None:
        """`changed`: called when other ends are known."""
        self._loop = loop
        self._clock = clock
        self._asks = asks
        self._changed = changed
        self._ends: dict[TopicPartition, int] = {}
        self._asked_ms: dict[TopicPartition, int] = {}
        self._task: asyncio.Task[None] | None = None

    def lag_of(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """By topic and partition, where the end is known. Has older ends asked for, for whoever looks next time."""
        self._refresh(offsets)
        return {each: max(0, self._ends[each] - offset) for each, offset in offsets.items() if each in self._ends}

    def close(self) -> None:
        """Asks no more."""
        if self._task is not None:
            self._task.cancel()

    def _refresh(self, wanted: Iterable[TopicPartition]) -> None:
        if self._task is not None and not self._task.done():
            return
        now_ms = self._clock.now_ms()
        stale = [each for each in wanted if now_ms - self._asked_ms.get(each, -FRESH_MS) >= FRESH_MS]
        if not stale:
            return
        if len(self._asked_ms) > MOST_PARTITIONS:
            self._ends, self._asked_ms = {}, {}
        self._asked_ms |= dict.fromkeys(stale, now_ms)
        self._task = self._loop.create_task(self._ask(stale))

    async def _ask(self, wanted: list[TopicPartition]) -> None:
        try:
            found = await self._asks(wanted)
        except OSError:
            return  # the clients hear so themselves; what was known stays, and it is tried again
        for each in wanted:
            self._ends.pop(each, None)
        self._ends |= found
        self._changed()
