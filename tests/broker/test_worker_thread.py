"""What takes long is checked in a thread: its connection waits, others are served, and what was decided still holds."""

from __future__ import annotations

from typing import Any

import pytest

from kohort.broker.apis.produce.batch_checking import DECOMPRESSED_PER_TURN, RECORDS_PER_TURN
from kohort.broker.cluster.moving import move_leader
from kohort.protocol.errors import ErrorCode
from kohort.storage.validation import ERRORS_ANSWERED
from tests.storage.odd_batches import GZIP, SNAPPY, ZSTD, batch, gz, record, snappy, zstd
from tests.support.broker import Broker, Client
from tests.support.data_requests import NOW_MS, delete, given_topic, production
from tests.support.frames import frame
from tests.support.worker_thread import Thread

E = ErrorCode
MIB = 1 << 20


def many(count: int = RECORDS_PER_TURN + 1) -> bytes:
    return batch(b"".join(record(n) for n in range(count)), now=NOW_MS, count=count)


def unfolding(size: int, codec: int = ZSTD) -> bytes:
    pack = {ZSTD: zstd, GZIP: gz, SNAPPY: snappy}[codec]
    return batch(pack(record(value=bytes(size))), now=NOW_MS, attributes=codec)


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def thread(broker: Broker) -> Thread:
    return Thread(broker)


@pytest.fixture
def ada(broker: Broker) -> Client:
    ada = broker.client()
    given_topic(ada)
    return ada


def sends(client: Client, records: bytes, correlation_id: int = 1, name: str = "topic", acks: int = -1) -> None:
    client.says(frame("produce", 9, correlation_id, **production(records, name, acks=acks)))


def hears(client: Client) -> list[tuple[int, E, int]]:
    """Return correlation id, error and offset of each Produce response."""
    return [
        (number, part.error_code, part.base_offset)
        for number, response in client.hears("produce", 9)
        for part in response.responses[0].partition_responses
    ]


@pytest.mark.parametrize(
    "records", [many(), *(unfolding(DECOMPRESSED_PER_TURN, codec) for codec in (ZSTD, GZIP, SNAPPY))]
)
def test_other_connections_are_served(thread: Thread, broker: Broker, ada: Client, records: bytes) -> None:
    bob = broker.client()
    sends(ada, records)
    sends(ada, batch(record(), now=NOW_MS), 2)
    assert hears(ada) == []
    sends(bob, batch(record(), now=NOW_MS), 3)
    assert hears(bob) == [(3, E.none, 0)]
    assert thread.works() == 1
    assert [response[:2] for response in hears(ada)] == [(1, E.none), (2, E.none)]


def test_short_batch_needs_no_thread(thread: Thread, ada: Client) -> None:
    sends(ada, many(RECORDS_PER_TURN))
    sends(ada, unfolding(DECOMPRESSED_PER_TURN - 100))
    assert [response[1] for response in hears(ada)] == [E.none, E.none]
    assert thread.works() == 0


@pytest.mark.parametrize("codec", [ZSTD, GZIP, SNAPPY])
def test_decompressed_size_limit(codec: int) -> None:
    broker = Broker(kohort_batch_decompressed_max_bytes=2 * MIB)
    thread, ada = Thread(broker), broker.client()
    given_topic(ada)
    sends(ada, unfolding(2 * MIB - 100, codec))
    sends(ada, unfolding(2 * MIB, codec), 2)
    assert thread.works() == 2
    answers = ada.hears("produce", 9)
    taken, refused = (response.responses[0].partition_responses[0] for _, response in answers)
    assert taken.error_code is E.none
    assert (refused.error_code, refused.log_start_offset) == (E.message_too_large, -1)
    assert "kohort.batch.decompressed.max.bytes" in refused.error_message


def test_decompression_bomb_is_stopped(thread: Thread, ada: Client) -> None:
    bomb = batch(zstd(bytes(200 * MIB)), now=NOW_MS, attributes=ZSTD)
    assert len(bomb) < 20_000
    sends(ada, bomb)
    assert thread.works() == 1
    assert hears(ada) == [(1, E.message_too_large, -1)]


def test_record_errors_are_limited(thread: Thread, ada: Client) -> None:
    given_topic(ada, "compacted", cleanup_policy="compact")
    count = ERRORS_ANSWERED + 5
    body = zstd(b"".join(record(n, key=None) for n in range(count)))
    sends(ada, batch(body, now=NOW_MS, count=count, attributes=ZSTD), name="compacted")
    assert thread.works() == 1
    ((_, response),) = ada.hears("produce", 9)
    (part,) = response.responses[0].partition_responses
    assert part.error_code is E.invalid_record
    assert [record_error.batch_index for record_error in part.record_errors] == list(range(ERRORS_ANSWERED))
    assert f"due to {ERRORS_ANSWERED} record errors in total" in part.error_message


def test_topic_deletion_during_threaded_produce(thread: Thread, broker: Broker, ada: Client) -> None:
    sends(ada, many())
    delete(broker.client())
    thread.works()
    assert hears(ada) == [(1, E.unknown_topic_or_partition, -1)]


def test_leader_moves_during_threaded_produce() -> None:
    broker = Broker(nodes=2)
    thread, ada = Thread(broker), broker.client()
    given_topic(ada)
    topic = broker.cluster.topics.by_name("topic")
    assert topic is not None
    leader = broker.client(topic.partitions[0].leader - broker.cluster.nodes[0].id)
    sends(leader, many())
    other = next(node for node in broker.cluster.nodes if node.id != topic.partitions[0].leader)
    move_leader(broker.cluster, topic, topic.partitions[0], other.id, broker.clock.now_ms())
    thread.works()
    assert hears(leader) == [(1, E.not_leader_or_follower, -1)]


def test_disconnect_during_threaded_produce(thread: Thread, broker: Broker, ada: Client) -> None:
    sends(ada, many(), acks=0)
    ada.connection.connection_lost(None)
    assert thread.works() == 1
    bob = broker.client()
    sends(bob, batch(record(), now=NOW_MS), 2)
    assert hears(bob) == [(2, E.none, RECORDS_PER_TURN + 1)]


def test_unanswered_request_frees_connection(thread: Thread, ada: Client) -> None:
    sends(ada, many(), acks=0)
    sends(ada, batch(record(), now=NOW_MS), 2)
    assert thread.works() == 1
    assert hears(ada) == [(2, E.none, RECORDS_PER_TURN + 1)]
    sends(ada, many()[:-1] + b"\2", 3, acks=0)
    thread.works()
    assert ada.closed


def test_work_without_thread_is_immediate(ada: Client) -> None:
    sends(ada, many())
    sends(ada, batch(record(), now=NOW_MS), 2)
    assert hears(ada) == [(1, E.none, 0), (2, E.none, RECORDS_PER_TURN + 1)]
    sends(ada, many(), acks=0)
    sends(ada, batch(record(), now=NOW_MS), 4)
    assert [response[0] for response in hears(ada)] == [4]


def test_failing_work_closes_its_connection(
    thread: Thread, broker: Broker, ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("kohort.broker.apis.produce.produce_handler.check_all", fails)
    sends(ada, many())
    with pytest.raises(ZeroDivisionError):  # which the thread logs
        thread.works()
    assert ada.closed
    bob = broker.client()
    sends(bob, batch(record(), now=NOW_MS))
    assert hears(bob) == [(1, E.none, 0)]
