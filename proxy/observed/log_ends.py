"""End offsets of partitions with commits, requested from the cluster in the background and rarely."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from kohort.base.clock import Clock

if TYPE_CHECKING:
    from kohort.protocol.topic_partition import TopicPartition

FRESH_MS: Final = 1_000  # newer end offsets are not requested again

MAX_PARTITIONS: Final = 10_000  # end offsets that are kept; all are dropped beyond that

FetchEndOffsets = Callable[[Iterable["TopicPartition"]], Awaitable[Mapping["TopicPartition", int]]]
"""Request end offsets. Partitions without one are left out. May raise OSError."""


class LogEnds:
    """Known end offsets, with the times of the requests."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, clock: Clock, fetch: FetchEndOffsets, changed: Callable[[], None]
    ) -> None:
        """Set up without end offsets; `changed` is called when any has changed."""
        self._loop = loop
        self._clock = clock
        self._fetch = fetch
        self._changed = changed
        self._ends: dict[TopicPartition, int] = {}
        self._requested_ms: dict[TopicPartition, int] = {}
        self._task: asyncio.Task[None] | None = None

    def lag_of(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return the lag of partitions with a known end, and request outdated ends for the next call."""
        self._refresh(offsets)
        return {
            partition: max(0, self._ends[partition] - offset)
            for partition, offset in offsets.items()
            if partition in self._ends
        }

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _refresh(self, partitions: Iterable[TopicPartition]) -> None:
        if self._task is not None and not self._task.done():
            return
        now_ms = self._clock.now_ms()
        stale = [
            partition for partition in partitions if now_ms - self._requested_ms.get(partition, -FRESH_MS) >= FRESH_MS
        ]
        if not stale:
            return
        if len(self._requested_ms) > MAX_PARTITIONS:
            self._ends, self._requested_ms = {}, {}
        self._requested_ms |= dict.fromkeys(stale, now_ms)
        self._task = self._loop.create_task(self._request(stale))

    async def _request(self, partitions: list[TopicPartition]) -> None:
        try:
            ends = await self._fetch(partitions)
        except OSError:
            return  # clients receive the error themselves; known ends stay, and the request is retried
        for partition in partitions:
            self._ends.pop(partition, None)
        self._ends |= ends
        self._changed()
