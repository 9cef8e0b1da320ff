"""The records of `__transaction_state`: Kafka's bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.coordinator.transactions.transaction import State, Transaction
from kohort.coordinator.transactions.transaction_records import (
    read_transaction_key,
    read_transaction_value,
    transaction_key,
    transaction_value,
)
from kohort.protocol.records.schema import RecordError

LONGS = st.integers(-1, 2**63 - 1)
TRANSACTIONS = st.builds(
    Transaction,
    transactional_id=st.just("x"),
    producer_id=LONGS,
    producer_epoch=st.integers(-1, 2**15 - 1),
    previous_producer_id=LONGS,
    next_producer_id=LONGS,
    timeout_ms=st.integers(0, 2**31 - 1),
    state=st.sampled_from([state for state in State if state is not State.EMPTY]),
    partitions=st.frozensets(st.tuples(st.text(max_size=5), st.integers(0, 2**31 - 1)), max_size=5),
    started_ms=LONGS,
    updated_ms=LONGS,
    client_version=st.integers(0, 3),
)


@given(TRANSACTIONS)
def test_written_records_are_readable(transaction: Transaction) -> None:
    assert read_transaction_value("x", transaction_value(transaction)) == transaction


def test_version_1_bytes() -> None:
    transaction = Transaction(
        transactional_id="x",
        producer_id=7,
        producer_epoch=3,
        previous_producer_id=7,
        timeout_ms=60_000,
        state=State.ONGOING,
        partitions=frozenset({("t", 1)}),
        started_ms=5,
        updated_ms=6,
        client_version=2,
    )
    assert transaction_key("x").hex() == "0000000178"
    assert transaction_value(transaction).hex(" ", -4) == bytes.fromhex(
        "0001 0000000000000007 0003 0000ea60 01 02 0274 02 00000001 00 0000000000000006 0000000000000005"
        "02 00 08 0000000000000007 02 02 0002"
    ).hex(" ", -4)


def test_version_0_is_read() -> None:
    value = bytes.fromhex(
        "0000 0000000000000007 0003 0000ea60 01 00000001 000174 00000001 00000001 0000000000000006 0000000000000005"
    )
    read = read_transaction_value("x", value)
    assert (read.producer_id, read.partitions, read.updated_ms, read.started_ms) == (7, frozenset({("t", 1)}), 6, 5)


@pytest.mark.parametrize("value", ["", "0002", "0001 00", "0001 0000000000000007 0003 0000ea60 09"])
def test_unreadable_record_is_reported(value: str) -> None:
    with pytest.raises(RecordError):
        read_transaction_value("x", bytes.fromhex(value))


def test_other_record_types_are_ignored() -> None:
    assert [read_transaction_key(transaction_key("x")), read_transaction_key(b"\x00\x07")] == ["x", None]


@pytest.mark.parametrize(
    "value",
    [
        "0001000000000000000000000000ea600000000001a1fc9a1ab6ffffffffffffffff0100080000000000000000",
        "0001000000000000000100000000ea6001020874643932306164020000000000000001a1fc9a7546000001a1fc9a7546"
        "0100080000000000000001",
        "0001000000000000000100030000ea6002020874643932306164020000000000000001a1fc9a7969000001a1fc9a7896"
        "020008000000000000000102020002",
        "0001000000000000000100080000ea600501000001a1fc9a7c42000001a1fc9a7c3e020008000000000000000102020002",
    ],
    ids=["Empty", "Ongoing", "PrepareCommit", "CompleteAbort"],
)
def test_kafka_records_are_rewritten_unchanged(value: str) -> None:
    raw = bytes.fromhex(value)
    assert transaction_value(read_transaction_value("x", raw)) == raw
