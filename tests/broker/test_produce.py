"""Produce: stored and rejected records, and responses to idempotent producers."""

from io import StringIO
from typing import Any
from uuid import UUID

import pytest

from kohort.protocol.errors import ErrorCode
from tests.support.batches import batch
from tests.support.broker import Broker
from tests.support.data_requests import NOW_MS, UNKNOWN_ID, delete, fetch, given_topic, produce, production, records
from tests.support.frames import frame


@pytest.mark.parametrize("version", range(3, 14))
def test_records_are_returned_unchanged(version: int) -> None:
    broker = Broker()
    ada = broker.client()
    topic_id = given_topic(ada)
    by_id: dict[str, Any] = {"topic_id": topic_id} if version >= 13 else {}
    first = produce(ada, batch((b"k", b"v"), b"w"), version=version, **by_id)
    second = produce(ada, batch(b"x"), version=version, **by_id)
    assert (first.error_code, first.base_offset, first.log_append_time_ms) == (ErrorCode.none, 0, -1)
    assert (second.error_code, second.base_offset) == (ErrorCode.none, 2)
    assert records(fetch(ada, ("topic", 0, 0))) == [(0, b"k", b"v"), (1, None, b"w"), (2, None, b"x")]


def test_missing_topic_is_not_created() -> None:
    broker = Broker()
    ada = broker.client()
    topic_id = given_topic(ada)
    assert produce(ada, batch(b"x"), "nowhere").error_code == ErrorCode.unknown_topic_or_partition
    assert produce(ada, batch(b"x"), index=3).error_code == ErrorCode.unknown_topic_or_partition
    assert produce(ada, batch(b"x"), index=-1).error_code == ErrorCode.unknown_topic_or_partition
    for version, asked, answer in (
        (13, UNKNOWN_ID, ErrorCode.unknown_topic_id),
        (13, None, ErrorCode.unknown_topic_id),
        (13, topic_id, ErrorCode.none),
    ):
        assert produce(ada, batch(b"x"), version=version, topic_id=asked).error_code == answer
    assert "nowhere" not in broker.cluster.topics


def test_refusals_come_in_kafka_s_order() -> None:
    ada = Broker().client()
    given_topic(ada)
    assert produce(ada, b"", "nowhere", acks=2).error_code == ErrorCode.unknown_topic_or_partition
    assert produce(ada, b"", acks=2).error_code == ErrorCode.invalid_record
    assert produce(ada, None, acks=2).error_code == ErrorCode.invalid_record
    refused = produce(ada, batch(b"x"), acks=2)
    assert (refused.error_code, refused.base_offset, refused.log_start_offset) == (
        ErrorCode.invalid_required_acks,
        -1,
        -1,
    )


def test_partitions_fail_individually() -> None:
    ada = Broker().client()
    given_topic(ada, partitions=2)
    good, bad = production(batch(b"x")), production(batch(b"x", crc_off_by=1), index=1)
    response = ada.asks("produce", 9, **{**good, "topic_data": good["topic_data"] + bad["topic_data"]})
    answers = [part.error_code for each in response.responses for part in each.partition_responses]
    assert answers == [ErrorCode.none, ErrorCode.corrupt_message]


def test_invalid_batch_is_rejected_with_reasons() -> None:
    ada = Broker().client()
    given_topic(ada, "compacted", cleanup_policy="compact")
    refused = produce(ada, batch((b"k", b"v"), b"w"), "compacted")
    assert (refused.error_code, refused.log_start_offset) == (ErrorCode.invalid_record, 0)
    ((number, problem),) = [
        (record_error.batch_index, record_error.batch_index_error_message) for record_error in refused.record_errors
    ]
    assert number == 1
    assert problem == "Compacted topic cannot accept message without key in topic partition compacted-0"


def test_oversized_decompression_is_logged_once(lines: StringIO) -> None:
    client = Broker().client()
    given_topic(client, max_decompressed_message_bytes="40")
    compressed = bytes.fromhex(  # three records in gzip, recorded from Kafka 4.4.0
        "00000000000000000000005d00000000028b901ac40001000000020000018bcfe568000000018bcfe56802ffffffffffffffffffffffff"
        "ffff000000031f8b0800b64d026b02ff4b616060600c4824123031653095a530303191ac858585442d008ee7943199000000"
    )
    for _ in range(2):
        answer = produce(client, compressed)
        assert (answer.error_code, answer.error_message, answer.base_offset) == (ErrorCode.invalid_record, None, -1)
    warning = "rejected a compressed batch whose records exceed max.decompressed.message.bytes (40)"
    assert lines.getvalue().count(warning) == 1


def test_log_append_time_is_returned() -> None:
    broker = Broker()
    ada = broker.client()
    given_topic(ada, "stamped", message_timestamp_type="LogAppendTime")
    broker.clock.advance(5)
    assert produce(ada, batch(b"x", at=1), "stamped").log_append_time_ms == NOW_MS + 5


def test_acks_0_gets_no_response() -> None:
    ada = Broker().client()
    given_topic(ada)
    ada.says(frame("produce", 9, **production(batch(b"x"), acks=0)), frame("api_versions", 0))
    assert len(ada.heard()) == 1
    assert produce(ada, batch(b"y")).base_offset == 1
    ada.says(frame("produce", 9, **production(batch(b"x"), "nowhere", acks=0)))
    assert ada.heard() == []
    assert ada.closed


def test_idempotent_batches_are_deduplicated() -> None:
    ada = Broker().client()
    given_topic(ada)
    producer = ada.asks("init_producer_id", 4, transactional_id=None, transaction_timeout_ms=0).producer_id
    first = batch(b"a", b"b", producer=(producer, 0, 0))
    assert produce(ada, first).base_offset == 0
    again = produce(ada, first)
    assert (again.error_code, again.base_offset, again.log_append_time_ms) == (ErrorCode.none, 0, 1_000)
    gap = produce(ada, batch(b"d", producer=(producer, 0, 7)))
    assert (gap.error_code, gap.base_offset, gap.log_start_offset) == (ErrorCode.out_of_order_sequence_number, -1, 0)
    assert produce(ada, batch(b"c", producer=(producer, 0, 2))).base_offset == 2
    assert produce(ada, batch(b"e", producer=(producer, 1, 0))).base_offset == 3
    assert produce(ada, batch(b"f", producer=(producer, 0, 3))).error_code == ErrorCode.invalid_producer_epoch


def test_transactions_need_a_coordinator() -> None:
    ada = Broker().client()
    given_topic(ada)
    transactional = batch(b"x", attributes=0x10, producer=(1, 0, 0))
    assert produce(ada, transactional).error_code == ErrorCode.transactional_id_authorization_failed
    refused = produce(ada, transactional, transactional_id="t")
    assert refused.error_code == ErrorCode.not_enough_replicas
    assert refused.error_message.endswith("Underlying error: COORDINATOR_NOT_AVAILABLE")
    assert produce(ada, batch(b"x"), transactional_id="t").error_code == ErrorCode.none


def test_internal_topics_are_not_for_producers() -> None:
    broker = Broker()
    ada = broker.client()
    broker.cluster.topics.create("__consumer_offsets")
    assert produce(ada, batch(b"x"), "__consumer_offsets").error_code == ErrorCode.invalid_topic_exception


def test_non_leader_names_the_leader() -> None:
    broker = Broker(nodes=2)
    given_topic(broker.client(0))
    bob = broker.client(1)
    assert produce(bob, batch(b"x")).error_code == ErrorCode.not_leader_or_follower
    response = bob.asks("produce", 10, **production(batch(b"x")))
    assert response.responses[0].partition_responses[0].current_leader.leader_id == 1
    assert [(node_endpoint.node_id, node_endpoint.port) for node_endpoint in response.node_endpoints] == [(1, 9092)]


def test_topic_id_is_stable() -> None:
    ada = Broker().client()
    old = given_topic(ada)
    assert isinstance(old, UUID)
    delete(ada)
    new = given_topic(ada)
    assert produce(ada, batch(b"x"), version=13, topic_id=old).error_code == ErrorCode.unknown_topic_id
    assert produce(ada, batch(b"x"), version=13, topic_id=new).error_code == ErrorCode.none
