"""Records for consumers that read only committed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.protocol.messages.fetch import AbortedTransaction
from kohort.storage.transactions import chunks_before, end_of

if TYPE_CHECKING:
    from kohort.storage.segment import Chunk
    from kohort.storage.topic import Partition


def committed(
    partition: Partition, offset: int, records: list[Chunk]
) -> tuple[list[Chunk], tuple[AbortedTransaction, ...]]:
    """Return the records before the last stable offset, and the aborted transactions, which the client filters out.

    Some transactions begin after `records`: see `PartitionLog.aborted_until`.
    """
    producers = partition.producers
    if producers is None or not records:
        return records, ()
    transactions, high_watermark = producers.transactions, partition.log.high_watermark
    stable = transactions.last_stable_offset(high_watermark)
    if stable < high_watermark:
        records = chunks_before(records, stable)
        if not records:
            return records, ()
    aborted = transactions.aborted_in(offset, high_watermark)
    if aborted:
        end = partition.log.aborted_until(offset, end_of(records))
        aborted = [entry for entry in aborted if entry.first_offset < end]
    return records, tuple(
        AbortedTransaction(producer_id=entry.producer_id, first_offset=entry.first_offset) for entry in aborted
    )
