"""All or nothing, whatever happens to producers and brokers.

How to play a seed again, or more of them: tests/support/seeds.py.
"""

import pytest

from kohort.broker.cluster import replay
from kohort.protocol.batches import read_batches
from kohort.protocol.errors import ErrorCode as E
from kohort.storage.producers import Producers
from tests.simulation.transacting import GROUPS, Bank
from tests.simulation.transactional_promises import (
    nobody_hears_what_is_not_committed,
    offsets_wait_for_their_transactions,
    transactions_hold_back_what_follows,
)
from tests.simulation.transactional_reader import PARTITIONS
from tests.support.seeds import SEEDS, STEPS, is_known

PROMISES = (
    transactions_hold_back_what_follows,
    nobody_hears_what_is_not_committed,
    offsets_wait_for_their_transactions,
)


@pytest.mark.parametrize("seed", SEEDS)
def test_all_or_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "SLICE_BYTES", 2_000)
    monkeypatch.setattr(replay, "STEP_BYTES", 500)
    bank = Bank(seed)
    with bank.told():
        for _ in range(STEPS // 4):
            bank.step()
            for promise in PROMISES:
                promise(bank)
        bank.settle()
        _is_settled(bank)
    assert all(bank.counts.values()) or not is_known(seed), bank.counts


def _is_settled(bank: Bank) -> None:
    """Check that all readers reach the end and have received exactly the committed records."""
    for reader in bank.readers:
        reader.catches_up()
        assert reader.heard == [bank.committed_records(index) for index in range(PARTITIONS)]
    expected = bank.committed_offsets()
    for group in GROUPS:
        for index in range(2):
            assert bank.offset_of(group, index, stable=True) == (E.none, expected.get((group, index), -1))
    for partition in bank.topic.partitions:
        assert partition.last_stable_offset == partition.log.high_watermark
        _log_tells_the_same(partition)


def _log_tells_the_same(partition) -> None:  # type: ignore[no-untyped-def]
    replayed = Producers()
    for batch in partition.log.batches():
        for header in read_batches(batch):
            replayed.replay(batch, header)
    producers = partition.producers
    end = partition.log.high_watermark
    assert replayed.transactions.aborted_in(0, end) == producers.transactions.aborted_in(0, end)
    assert replayed.transactions.last_stable_offset(end) == end
    assert [(each.producer_id, each.epoch, each.last_sequence) for each in replayed.described()] == [
        (each.producer_id, each.epoch, each.last_sequence) for each in producers.described()
    ]
