"""Invariants of transactions and of their readers."""

from __future__ import annotations

from kohort.protocol.batches import CONTROL, read_batches
from kohort.protocol.errors import ErrorCode as E
from kohort.storage.topic import Partition
from tests.simulation.transacting import GROUPS, Bank


def transactions_hold_back_what_follows(bank: Bank) -> None:
    """Check that the last stable offset never passes an undecided record and never decreases."""
    open_at: dict[int, int] = {}
    for work in bank.works():
        if work.committed is None:
            for number, offset, _ in work.records:
                open_at[number] = min(offset, open_at.get(number, offset))
    for partition in bank.topic.partitions:
        stable = partition.last_stable_offset
        assert bank.stable[partition.index] <= stable <= partition.log.high_watermark
        bank.stable[partition.index] = stable
        if partition.index in open_at and not _was_timed_out(bank, partition, open_at[partition.index]):
            assert stable <= open_at[partition.index], f"partition {partition.index}"


def _was_timed_out(bank: Bank, partition: Partition, offset: int) -> bool:
    """Return whether the log shows that the coordinator ended a transaction by itself."""
    data = b"".join(bytes(chunk) for chunk in partition.log.batches())
    writer = next(batch.producer_id for batch in read_batches(data) if batch.base_offset == offset)
    return any(
        batch.attributes & CONTROL and batch.producer_id == writer and batch.base_offset > offset
        for batch in read_batches(data)
    )


def nobody_hears_what_is_not_committed(bank: Bank) -> None:
    """Check that readers get each record once, in order, without aborted transactions."""
    open_or_aborted = {
        (partition, offset) for work in bank.works() if not work.committed for partition, offset, _ in work.records
    }
    for reader in bank.readers:
        for index, heard in enumerate(reader.heard):
            offsets = [offset for offset, _ in heard]
            assert offsets == sorted(set(offsets))
            assert not open_or_aborted & {(index, offset) for offset in offsets}
            assert reader.positions[index] <= bank.topic.partitions[index].last_stable_offset


def offsets_wait_for_their_transactions(bank: Bank) -> None:
    """Check that offsets are the last committed ones, and that stable reads wait for open transactions."""
    group, partition = bank.random.choice(GROUPS), bank.random.randrange(2)
    told = bank.offset_of(group, partition, stable=False)
    if told is not None:
        expected = bank.committed_offsets().get((group, partition), -1)
        assert told == (E.none, expected), f"{group}-{partition}"
