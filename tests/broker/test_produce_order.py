"""Which batches are taken in which order, as Apache Kafka 4.3.0 takes them: the same was sent to both."""

from __future__ import annotations

import pytest

from kohort.protocol.batches import TRANSACTIONAL
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.produce import PartitionProduceData, TopicProduceData
from tests.broker.transactional_producer import TOPIC, Producer
from tests.storage.odd_batches import DAY_MS, batch, record
from tests.support.data_requests import NOW_MS

E = ErrorCode
GOOD, LATE, SPOILED = "good", "a day ahead", "with a wrong checksum"


class Ada(Producer):
    """A producer that sends batches of any sequence number."""

    def made(self, kind: str, sequence: int, attributes: int = TRANSACTIONAL, producer_id: int | None = None) -> bytes:
        return batch(
            record(),
            now=NOW_MS + DAY_MS if kind == LATE else NOW_MS,
            attributes=attributes,
            producer=(self.producer_id if producer_id is None else producer_id, self.epoch, sequence),
            crc_off_by=kind == SPOILED,
        )

    def sends(self, version: int, *batches: tuple[int, bytes | None]) -> list[tuple[int, E, int]]:
        """Partition, error and offset of each answer."""
        parts = tuple(PartitionProduceData(index=index, records=data) for index, data in batches)
        return self.asks_for(version, TopicProduceData(name=TOPIC, partition_data=parts))

    def asks_for(self, version: int, *topics: TopicProduceData, transactional: bool = True) -> list[tuple[int, E, int]]:
        response = self.leader().asks(
            "produce",
            version,
            transactional_id=self.id if transactional else None,
            acks=-1,
            timeout_ms=1_000,
            topic_data=topics,
        )
        return [
            (part.index, part.error_code, part.base_offset)
            for topic in response.responses
            for part in topic.partition_responses
        ]

    def hears(self, version: int, kind: str, sequence: int, attributes: int = TRANSACTIONAL) -> E:
        ((_, error, _),) = self.sends(version, (0, self.made(kind, sequence, attributes)))
        return error


@pytest.fixture
def ada() -> Ada:
    ada = Ada()
    assert ada.init() is E.none
    return ada


@pytest.mark.parametrize(("kind", "error"), [(LATE, E.invalid_timestamp), (SPOILED, E.corrupt_message)])
@pytest.mark.parametrize("version", [11, 12])
def test_later_batches_wait_for_first(ada: Ada, version: int, kind: str, error: E) -> None:
    if version == 11:
        ada.adds(0)
    assert ada.hears(version, kind, 0) is error
    assert ada.hears(version, GOOD, 1) is E.out_of_order_sequence_number
    assert ada.hears(version, GOOD, 1, attributes=0) is E.out_of_order_sequence_number
    assert [ada.hears(version, GOOD, sequence) for sequence in (0, 1, 2)] == [E.none] * 3


def test_first_batch_counts_before_addition(ada: Ada) -> None:
    assert ada.hears(11, GOOD, 0) is E.transaction_abortable
    ada.adds(0)
    assert ada.hears(11, GOOD, 1) is E.out_of_order_sequence_number
    assert ada.hears(11, GOOD, 0) is E.none


def test_newer_clients_start_at_zero(ada: Ada) -> None:
    ada.adds(0)
    assert [ada.hears(11, GOOD, sequence) for sequence in (5, 6)] == [E.none, E.none]
    bob = Ada.__new__(Ada)
    bob._speaks(ada.broker, "y")
    bob.init()
    assert bob.hears(12, GOOD, 5) is E.out_of_order_sequence_number
    assert bob.hears(12, GOOD, 0) is E.none


def test_rejected_batch_is_forgotten(ada: Ada) -> None:
    late, good = ada.made(LATE, 0, 0), ada.made(GOOD, 1, 0)
    for data, error in ((late, E.invalid_timestamp), (good, E.none)):
        topic = TopicProduceData(name=TOPIC, partition_data=(PartitionProduceData(index=0, records=data),))
        assert [response[1] for response in ada.asks_for(11, topic, transactional=False)] == [error]


def test_duplicate_partition_uses_last(ada: Ada) -> None:
    good, late = ada.made(GOOD, -1, 0, -1), ada.made(LATE, -1, 0, -1)
    assert ada.sends(11, (0, good), (0, good)) == [(0, E.none, 0)]
    assert ada.sends(11, (0, late), (0, good)) == [(0, E.none, 1)]
    assert ada.sends(11, (0, good), (0, late)) == [(0, E.invalid_timestamp, -1)]
    assert ada.sends(11, (9, good), (9, good)) == [(9, E.unknown_topic_or_partition, -1)]


def test_invalid_duplicate_reports_error(ada: Ada) -> None:
    good = ada.made(GOOD, -1, 0, -1)
    assert ada.sends(11, (0, good), (0, b"")) == [(0, E.invalid_record, -1)]
    assert ada.sends(11, (0, b""), (0, good)) == [(0, E.invalid_record, -1)]
    assert ada.sends(11, (0, good)) == [(0, E.none, 2)]


def test_duplicate_topic_is_answered_once(ada: Ada) -> None:
    good = ada.made(GOOD, -1, 0, -1)
    first, second = (
        TopicProduceData(name=TOPIC, partition_data=(PartitionProduceData(index=index, records=good),))
        for index in (0, 1)
    )
    empty = TopicProduceData(name=TOPIC, partition_data=())
    assert ada.asks_for(11, first, second) == [(0, E.none, 0), (1, E.none, 0)]
    assert ada.asks_for(11, first, first) == [(0, E.none, 1)]
    assert ada.asks_for(11, empty) == ada.asks_for(11) == []


def test_duplicate_transactional_partition_uses_last(ada: Ada) -> None:
    ada.adds(0)
    assert [response[1] for response in ada.sends(11, (0, ada.made(GOOD, 0)), (0, ada.made(GOOD, 1)))] == [E.none]


def test_one_transaction_has_one_producer(ada: Ada) -> None:
    other = ada.made(GOOD, 0, producer_id=ada.producer_id + 1)
    response = ada.sends(12, (0, ada.made(GOOD, 0)), (1, other))
    assert response == [(0, E.invalid_producer_id_mapping, -1), (1, E.invalid_producer_id_mapping, -1)]
