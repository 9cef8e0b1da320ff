"""Record batches of a share fetch: offset ranges, aborted batches and acquired parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.coordinator.share_partitions.acquiring import Acquired, LogBatch
from kohort.protocol.batches import CONTROL, TRANSACTIONAL, BatchInfo, read_batch, read_marker
from kohort.storage.segment import batches_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kohort.broker.scheduling.cooperative import Task
    from kohort.coordinator.pace import Pace
    from kohort.storage.segment import Chunk
    from kohort.storage.transactions import Aborted


class ReadBatches:
    """Batches that were read from one partition."""

    def __init__(self) -> None:
        self._pieces: list[memoryview] = []
        self._infos: list[BatchInfo] = []
        self.batches: list[LogBatch] = []
        self.size_bytes = 0  # of all that may be read, even if its batches were not looked at

    def read(
        self, chunks: Sequence[Chunk], end: int | None, needs_no_more: Callable[[Sequence[LogBatch]], bool], pace: Pace
    ) -> Task[None]:
        """Read the headers of batches before `end`, if any, until `needs_no_more` returns True."""
        self.size_bytes = sum(map(len, chunks))
        size = 0
        for chunk in chunks:
            for piece in batches_of(chunk):
                info = read_batch(piece)
                if end is not None and info.base_offset >= end:
                    self.size_bytes = size
                    return
                size += len(piece)
                self._pieces.append(piece)
                self._infos.append(info)
                self.batches.append(LogBatch(info.base_offset, info.last_offset))
                if needs_no_more(self.batches):
                    return
                if pace.add():
                    yield

    def aborted(self, transactions: Sequence[Aborted]) -> list[LogBatch]:
        """Return the batches that belong to aborted transactions."""
        pending = sorted(transactions, key=lambda transaction: transaction.first_offset)
        producers: set[int] = set()
        aborted_batches = []
        for piece, info, batch in zip(self._pieces, self._infos, self.batches, strict=True):
            while pending and pending[0].first_offset <= info.last_offset:
                producers.add(pending.pop(0).producer_id)
            if _is_abort_marker(piece, info):
                producers.discard(info.producer_id)
            elif info.attributes & TRANSACTIONAL and not info.attributes & CONTROL and info.producer_id in producers:
                aborted_batches.append(batch)
        return aborted_batches

    def part(self, acquired: Sequence[Acquired]) -> list[Chunk]:
        """Return whole batches, from the one with the first acquired offset to the one with the last."""
        if not acquired:
            return []
        first, last = acquired[0].first_offset, acquired[-1].last_offset
        return [
            piece
            for piece, batch in zip(self._pieces, self.batches, strict=True)
            if batch.last_offset >= first and batch.first_offset <= last
        ]


def _is_abort_marker(piece: memoryview, info: BatchInfo) -> bool:
    if not info.attributes & CONTROL:
        return False
    marker = read_marker(piece, info)
    return marker is not None and not marker.committed
