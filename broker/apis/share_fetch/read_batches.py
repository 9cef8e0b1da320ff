"""Record batches as a log gives them: where they begin and end, which were aborted, and the part that was acquired."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.coordinator.share_partitions.acquiring import Acquired, LogBatch
from kohort.protocol.batches import CONTROL, TRANSACTIONAL, BatchInfo, read_batch, read_marker
from kohort.storage.segment import batches_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kohort.storage.segment import Chunk
    from kohort.storage.transactions import Aborted


class ReadBatches:
    """What was read of one partition."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._pieces = [piece for chunk in chunks for piece in batches_of(chunk)]
        self._infos = [read_batch(piece) for piece in self._pieces]
        self.batches = [LogBatch(each.base_offset, each.last_offset) for each in self._infos]

    def aborted(self, transactions: Sequence[Aborted]) -> list[LogBatch]:
        """The batches that belong to transactions that were aborted."""
        coming = sorted(transactions, key=lambda each: each.first_offset)
        producers: set[int] = set()
        found = []
        for piece, info, batch in zip(self._pieces, self._infos, self.batches, strict=True):
            while coming and coming[0].first_offset <= info.last_offset:
                producers.add(coming.pop(0).producer_id)
            if _is_abort_marker(piece, info):
                producers.discard(info.producer_id)
            elif info.attributes & TRANSACTIONAL and not info.attributes & CONTROL and info.producer_id in producers:
                found.append(batch)
        return found

    def part(self, acquired: Sequence[Acquired]) -> list[Chunk]:
        """Whole batches, from the one that holds the first acquired offset to the one that holds the last."""
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
