"""What a partition knows of transactions: which are open, and which were aborted, so that readers may pass over them.

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
    last_stable_offset: int
    """Where everything was decided once this transaction had ended."""


class Transactions:
    """The open and the aborted transactions of one partition."""

    __slots__ = ("_aborted", "_open")

    def __init__(self) -> None:
        self._open: dict[int, int] = {}
        """Producer id to the offset of its first record. Offsets grow, so that the first entry has the smallest."""
        self._aborted: list[Aborted] = []

    def __bool__(self) -> bool:
        """Whether there is anything to remember."""
        return bool(self._open or self._aborted)

    def first_offset(self, producer_id: int) -> int | None:
        """Where the open transaction of a producer begins; None: it has none here."""
        return self._open.get(producer_id)

    def last_stable_offset(self, high_watermark: int) -> int:
        """The offset before which every transaction is decided."""
        return next(iter(self._open.values()), high_watermark)

    def begin(self, producer_id: int, offset: int) -> None:
        """A transactional batch was appended at `offset`; the first one begins the transaction."""
        self._open.setdefault(producer_id, offset)

    def end(self, producer_id: int, marker_offset: int, *, committed: bool) -> None:
        """A marker was appended. One for a transaction that wrote nothing here changes nothing."""
        first = self._open.pop(producer_id, None)
        if first is not None and not committed:
            stable = self.last_stable_offset(marker_offset + 1)
            self._aborted.append(Aborted(producer_id, first, marker_offset, stable))

    def aborted_in(self, offset: int, end_offset: int) -> list[Aborted]:
        """The aborted transactions that have something between `offset` and before `end_offset`."""
        return [each for each in self._aborted if each.last_offset >= offset and each.first_offset < end_offset]

    def forget_markers(self, offsets: Container[int]) -> None:
        """Markers are gone from the log, as all of their transactions is: readers must not wait for them."""
        self._aborted = [each for each in self._aborted if each.last_offset not in offsets]

    def trim(self, log_start_offset: int) -> None:
        """Forgets aborted transactions of which no record is left."""
        if self._aborted and self._aborted[0].last_offset < log_start_offset:
            self._aborted = [each for each in self._aborted if each.last_offset >= log_start_offset]


def before(chunks: Sequence[Chunk], offset: int) -> list[Chunk]:
    """What of `chunks` lies in batches that begin before `offset`."""
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
    """The offset after the last record of `chunks`, of which there is at least one."""
    last = 0
    for batch in batches_of(chunks[-1]):
        last = read_batch(batch).last_offset
    return last + 1
