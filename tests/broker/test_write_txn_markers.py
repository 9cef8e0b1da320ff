"""WriteTxnMarkers, compared with responses of Apache Kafka 4.3.0 to the same markers."""

from __future__ import annotations

from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic
from tests.broker.transactional_producer import TOPIC, Producer

E = ErrorCode


class Marked:
    """A producer with an open transaction, and a sender of its markers."""

    def __init__(self) -> None:
        self.producer = Producer()
        self.producer.init()
        self.epoch = self.producer.epoch
        assert self.producer.writes(12) is E.none

    def marks(self, epoch: int, transaction: int = 0, *, coordinator: int = 0, version: int = 2) -> ErrorCode:
        """Send a marker with that epoch, relative to the transaction's, and return the response."""
        marker = WritableTxnMarker(
            producer_id=self.producer.producer_id,
            producer_epoch=self.epoch + epoch,
            transaction_result=False,
            topics=(WritableTxnMarkerTopic(name=TOPIC, partition_indexes=(0,)),),
            coordinator_epoch=coordinator,
            transaction_version=transaction,
        )
        (answer,) = self.producer.leader().asks("write_txn_markers", version, markers=(marker,)).markers
        assert answer.producer_id == self.producer.producer_id
        error: ErrorCode = answer.topics[0].partitions[0].error_code
        return error

    @property
    def last_stable_offset(self) -> int:
        return self.producer.reads()[2]


def test_delayed_marker_keeps_open_transaction() -> None:
    ada = Marked()
    assert ada.marks(0, 2) is E.invalid_producer_epoch
    assert ada.marks(0, 3) is E.invalid_producer_epoch
    assert ada.last_stable_offset == 0
    assert ada.marks(1, 2) is E.none
    assert ada.last_stable_offset == 2


def test_old_protocol_keeps_epoch() -> None:
    ada = Marked()
    assert ada.marks(0, 1) is E.none
    assert ada.last_stable_offset == 2
    assert ada.marks(0, 0, version=1) is E.none


def test_repeated_marker_changes_nothing() -> None:
    ada = Marked()
    assert [ada.marks(1, 2), ada.marks(1, 2)] == [E.none] * 2
    assert ada.last_stable_offset == 3
    assert ada.producer.reads()[1] == [0], "one transaction was aborted, not two"


def test_older_epoch_is_rejected() -> None:
    ada = Marked()
    ada.marks(1, 2)
    assert ada.marks(0, 0) is E.invalid_producer_epoch
    assert ada.marks(0, 2) is E.invalid_producer_epoch
    assert ada.marks(1, 2, coordinator=-1) is E.transaction_coordinator_fenced


def test_negative_numbers_fail() -> None:
    ada = Marked()
    assert ada.marks(-1, 2) is E.unknown_server_error
    assert ada.marks(1, -1) is E.unknown_server_error
    assert ada.last_stable_offset == 0
