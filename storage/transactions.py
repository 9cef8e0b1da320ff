"""Open and aborted transactions of a partition, so that read-committed consumers can skip aborted records.

Source: KIP-98; Kafka's `ProducerStateManager` (first unstable offset) and `TransactionIndex`.
"""

from collections.abc import Container, Sequence
from typing import NamedTuple

from kohort.protocol.batches import read_batch
from kohort.storage.segment import Chunk, batches_of


class Aborted(NamedTuple):
    """An aborted transaction in one partition, from its first record to its marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int  # last stable offset after this transaction had ended


class Transactions:
    """The open and the aborted transactions of one partition."""

    __slots__ = ("_aborted", "_open")

    def __init__(self) -> None:
        # Producer id to the offset of its first record. Offsets increase, so the first entry has the smallest.
        self._open: dict[int, int] = {}
        self._aborted: list[Aborted] = []

    def __bool__(self) -> bool:
        """Return whether there is any open or aborted transaction."""
        return bool(self._open or self._aborted)

    def first_offset(self, producer_id: int) -> int | None:
        """Return the start offset of a producer's open transaction, or None."""
        return self._open.get(producer_id)

    def last_stable_offset(self, high_watermark: int) -> int:
        """Return the offset before which every transaction has ended."""
        return next(iter(self._open.values()), high_watermark)

    def begin(self, producer_id: int, offset: int) -> None:
        """Record a transactional batch at `offset`; the first one starts the transaction."""
        self._open.setdefault(producer_id, offset)

    def end(self, producer_id: int, marker_offset: int, *, committed: bool) -> None:
        """Record a marker. A marker for a transaction without records here changes nothing."""
        first = self._open.pop(producer_id, None)
        if first is not None and not committed:
            stable = self.last_stable_offset(marker_offset + 1)
            self._aborted.append(Aborted(producer_id, first, marker_offset, stable))

    def aborted_in(self, offset: int, end_offset: int) -> list[Aborted]:
        """Return the aborted transactions that overlap the range from `offset` to before `end_offset`."""
        return [
            transaction
            for transaction in self._aborted
            if transaction.last_offset >= offset and transaction.first_offset < end_offset
        ]

    def forget_markers(self, offsets: Container[int]) -> None:
        """Remove transactions whose markers were compacted, so that consumers do not wait for them."""
        self._aborted = [transaction for transaction in self._aborted if transaction.last_offset not in offsets]

    def trim(self, log_start_offset: int) -> None:
        """Remove aborted transactions without remaining records."""
        if self._aborted and self._aborted[0].last_offset < log_start_offset:
            self._aborted = [
                transaction for transaction in self._aborted if transaction.last_offset >= log_start_offset
            ]


def chunks_before(chunks: Sequence[Chunk], offset: int) -> list[Chunk]:
    """Return the part of `chunks` in batches that start before `offset`."""
    kept: list[Chunk] = []
    for chunk in chunks:
        size = 0
        for batch in batches_of(chunk):
            if read_batch(batch).base_offset >= offset:
                if size:
                    kept.append(memoryview(chunk)[:size])
                return kept
            size += len(batch)
        kept.append(chunk)
    return kept


def end_of(chunks: Sequence[Chunk]) -> int:
    """Return the offset after the last record of `chunks`, which must not be empty."""
    last = 0
    for batch in batches_of(chunks[-1]):
        last = read_batch(batch).last_offset
    return last + 1
