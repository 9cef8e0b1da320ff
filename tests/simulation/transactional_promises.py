"""What holds at every moment for transactions and for those who read what they have written."""

from __future__ import annotations

from kohort.protocol.batches import CONTROL, read_batches
from kohort.protocol.errors import ErrorCode as E
from kohort.storage.topic import Partition
from tests.simulation.transacting import GROUPS, Bank


def transactions_hold_back_what_follows(bank: Bank) -> None:
    """The last stable offset never passes a record that is undecided, and never goes back."""
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
    """The account does not know of transactions that the coordinator has ended by itself: the log does."""
    data = b"".join(bytes(chunk) for chunk in partition.log.batches())
    writer = next(batch.producer_id for batch in read_batches(data) if batch.base_offset == offset)
    return any(
        batch.attributes & CONTROL and batch.producer_id == writer and batch.base_offset > offset
        for batch in read_batches(data)
    )


def nobody_hears_what_is_not_committed(bank: Bank) -> None:
    """Readers hear each record once, in order, and only of transactions that were committed, or of none."""
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
    """An offset is what a committed transaction has committed last; who wants stable ones waits for open ones."""
    group, partition = bank.random.choice(GROUPS), bank.random.randrange(2)
    told = bank.offset_of(group, partition, stable=False)
    if told is not None:
        expected = bank.committed_offsets().get((group, partition), -1)
        assert told == (E.none, expected), f"{group}-{partition}"
