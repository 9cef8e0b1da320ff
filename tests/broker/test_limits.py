"""Limits of SECURITY.md that no other test holds: what is within is served, what is beyond is refused."""

from __future__ import annotations

from typing import Any
from unittest.mock import AsyncMock

import pytest

from kohort.broker.apis.config_resources import GROUP
from kohort.broker.runtime.connection import Connection
from kohort.broker.scheduling import paused_reading
from kohort.broker.scheduling.connection_limits import UNREAD_BYTES
from kohort.broker.scheduling.paused_reading import LOOK_EVERY_MS
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.describe_topic_partitions import TopicRequest
from kohort.protocol.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource
from kohort.protocol.messages.streams_group_heartbeat import Subtopology, Topology
from kohort.whatif.clients.classic_group_member import ClassicMember
from kohort.whatif.clients.group_member import to_commit
from tests.support.batches import batch
from tests.support.broker import Broker, Client, Wire
from tests.support.data_requests import NOW_MS, given_topic, produce
from tests.support.frames import frame, heartbeat

DAY_MS = 86_400_000
REFUSED = E.invalid_session_timeout


def test_socket_request_max_bytes() -> None:
    broker = Broker(socket_request_max_bytes=1_000)
    ada, eve = broker.client(), broker.client()
    ada.sends((1_000).to_bytes(4, "big"))
    eve.sends((1_001).to_bytes(4, "big"))
    assert (ada.closed, eve.closed) == (False, True)


def test_max_request_partition_size_limit() -> None:
    ada = Broker(max_request_partition_size_limit=2).client()
    given_topic(ada, partitions=3)
    asked: dict[str, Any] = {"topics": (TopicRequest(name="topic"),), "response_partition_limit": 2_000, "cursor": None}
    answer = ada.asks("describe_topic_partitions", 0, **asked)
    assert [partition.partition_index for partition in answer.topics[0].partitions] == [0, 1]
    assert (answer.next_cursor.topic_name, answer.next_cursor.partition_index) == ("topic", 2)


async def test_socket_listen_backlog_size() -> None:
    server = Broker(socket_listen_backlog_size=7).server
    server.loop = AsyncMock()
    await server.listen("127.0.0.1", 0)
    (call,) = server.loop.create_server.await_args_list
    call.kwargs["sock"].close()
    assert call.kwargs["backlog"] == 7


def ready(**settings: Any) -> Broker:
    broker = Broker(**settings)
    broker.cluster.offsets_topic.create(0)
    return broker


def joins(broker: Broker, session_ms: int = 30_000) -> E:
    """Return a new member's response with all delays set to zero."""
    client = broker.client()
    client.says(frame("join_group", 2, **ClassicMember("ada", session_ms=session_ms, rebalance_ms=1_000).join().fields))
    broker.loop.wait(1)
    ((_, response),) = client.hears("join_group", 2)
    error: E = response.error_code
    return error


def test_group_max_size() -> None:
    broker = ready(group_max_size=1, group_initial_rebalance_delay_ms=0)
    assert [joins(broker), joins(broker)] == [E.none, E.group_max_size_reached]


def test_group_session_timeout_limits() -> None:
    for session_ms, error in ((1_999, REFUSED), (2_000, E.none), (3_000, E.none), (3_001, REFUSED)):
        limits = {"group_min_session_timeout_ms": 2_000, "group_max_session_timeout_ms": 3_000}
        assert joins(ready(**limits, group_initial_rebalance_delay_ms=0), session_ms) is error


def test_group_consumer_max_size() -> None:
    broker = ready(group_consumer_max_size=1)
    given_topic(broker.client())
    errors = [
        broker.client()
        .asks(
            "consumer_group_heartbeat",
            1,
            group_id="g",
            member_id=member_id,
            member_epoch=0,
            rebalance_timeout_ms=30_000,
            subscribed_topic_names=("topic",),
            topic_partitions=(),
        )
        .error_code
        for member_id in ("ada", "bob")
    ]
    assert errors == [E.none, E.group_max_size_reached]


def test_group_share_max_size() -> None:
    broker = ready(group_share_max_size=1)
    given_topic(broker.client())
    joining = {"group_id": "g", "member_epoch": 0, "rack_id": None, "subscribed_topic_names": ("topic",)}
    errors = [
        broker.client().asks("share_group_heartbeat", 1, member_id=member_id, **joining).error_code
        for member_id in ("ada", "bob")
    ]
    assert errors == [E.none, E.group_max_size_reached]


def test_group_streams_max_size() -> None:
    broker = ready(group_streams_max_size=1)
    given_topic(broker.client())
    topology = Topology(epoch=0, subtopologies=(Subtopology(subtopology_id="0", source_topics=("topic",)),))
    none: dict[str, Any] = {"active_tasks": (), "standby_tasks": (), "warmup_tasks": ()}
    joining = {"group_id": "g", "member_epoch": 0, "rebalance_timeout_ms": 30_000, "topology": topology, **none}
    errors = []
    for member_id in ("ada", "bob"):
        answer = broker.client().asks("streams_group_heartbeat", 0, member_id=member_id, process_id="p", **joining)
        errors.append(answer.error_code)
    assert errors == [E.none, E.group_max_size_reached]


@pytest.mark.parametrize(
    ("limit", "name", "least", "too_few"),
    [
        ("group_share_min_delivery_count_limit", "share.delivery.count.limit", 3, 2),
        ("group_share_min_partition_max_record_locks", "share.partition.max.record.locks", 200, 199),
    ],
)
def test_share_group_minimums(limit: str, name: str, least: int, too_few: int) -> None:
    ada = ready(**{limit: least}).client()
    assert [configure(ada, name, value) for value in (least, too_few)] == [E.none, E.invalid_config]


@pytest.mark.parametrize(
    ("limit", "name", "most"),
    [
        ("group_consumer_max_session_timeout_ms", "consumer.session.timeout.ms", 50_000),
        ("group_consumer_max_heartbeat_interval_ms", "consumer.heartbeat.interval.ms", 9_000),
        ("group_consumer_max_assignment_interval_ms", "consumer.assignment.interval.ms", 9_000),
        ("group_share_max_session_timeout_ms", "share.session.timeout.ms", 50_000),
        ("group_share_max_heartbeat_interval_ms", "share.heartbeat.interval.ms", 9_000),
        ("group_share_max_assignment_interval_ms", "share.assignment.interval.ms", 9_000),
        ("group_share_max_record_lock_duration_ms", "share.record.lock.duration.ms", 50_000),
        ("group_share_max_delivery_count_limit", "share.delivery.count.limit", 7),
        ("group_share_max_partition_max_record_locks", "share.partition.max.record.locks", 3_000),
        ("group_streams_max_session_timeout_ms", "streams.session.timeout.ms", 50_000),
        ("group_streams_max_heartbeat_interval_ms", "streams.heartbeat.interval.ms", 9_000),
        ("group_streams_max_assignment_interval_ms", "streams.assignment.interval.ms", 9_000),
        ("group_streams_max_standby_replicas", "streams.num.standby.replicas", 1),
    ],
)
def test_group_config_limits(limit: str, name: str, most: int) -> None:
    ada = ready(**{limit: most}).client()
    assert [configure(ada, name, value) for value in (most, most + 1)] == [E.none, E.invalid_config]


def configure(client: Client, name: str, value: int) -> E:
    config = AlterableConfig(name=name, config_operation=0, value=str(value))
    resource = AlterConfigsResource(resource_type=GROUP, resource_name="g", configs=(config,))
    answer = client.asks("incremental_alter_configs", 1, resources=(resource,), validate_only=False)
    error: E = answer.responses[0].error_code
    return error


def test_offset_metadata_max_bytes() -> None:
    ada = ready(offset_metadata_max_bytes=4).client()
    given_topic(ada)
    errors = []
    for note in ("four", "five5"):
        answer = ada.asks("offset_commit", 9, group_id="g", member_id="", topics=to_commit("topic", {0: 1}, note))
        errors.append(answer.topics[0].partitions[0].error_code)
    assert errors == [E.none, E.offset_metadata_too_large]


def test_transaction_max_timeout_ms() -> None:
    broker = Broker(transaction_max_timeout_ms=5_000)
    broker.cluster.transaction_topic.create(0)
    errors = [
        broker.client().asks("init_producer_id", 4, transactional_id="x", transaction_timeout_ms=timeout_ms).error_code
        for timeout_ms in (5_000, 5_001)
    ]
    assert errors == [E.none, E.invalid_transaction_timeout]


@pytest.mark.parametrize(
    ("limit", "direction"),
    [("log_message_timestamp_after_max_ms", 1), ("log_message_timestamp_before_max_ms", -1)],
)
def test_message_timestamp_limits(limit: str, direction: int) -> None:
    ada = ready(**{limit: 5_000}).client()
    given_topic(ada)
    near, far = (batch(b"x", at=NOW_MS + direction * away_ms) for away_ms in (5_000, 5_001))
    assert [produce(ada, each).error_code for each in (near, far)] == [E.none, E.invalid_timestamp]


def test_producer_id_expiration_ms() -> None:
    # an expired producer may start at any sequence number; a remembered one may not skip any
    broker = Broker(producer_id_expiration_ms=DAY_MS)
    ada = broker.client()
    given_topic(ada)
    assert produce(ada, batch(b"x", at=NOW_MS, producer=(7, 0, 0))).error_code is E.none
    assert produce(ada, batch(b"x", at=NOW_MS, producer=(7, 0, 5))).error_code is E.out_of_order_sequence_number
    broker.loop.wait(2 * DAY_MS)
    bob = broker.client()
    assert produce(bob, batch(b"x", at=NOW_MS, producer=(7, 0, 5))).error_code is E.none


def test_all_read_on_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paused_reading, "ALL_READ_ON_BYTES", 1 << 20)
    broker = Broker()
    broker.api("heartbeat").handle = lambda node, request, ticket: None  # they wait
    hogs = [broker.client() for _ in range(6)]
    for hog in hogs:
        while hog.wire.reading:
            hog.says(heartbeat(0), *[heartbeat(1)] * 500)
    for _ in range(60):
        broker.loop.wait(LOOK_EVERY_MS)
        for hog in hogs:
            if hog.wire.reading:
                hog.says(*[heartbeat(1)] * 4_000)
    held = sum(hog.connection.held_bytes for hog in hogs)
    assert (1 << 20) <= held < 3 << 20
    assert not any(hog.wire.reading for hog in hogs)


def test_unread_bytes() -> None:
    told: list[int] = []

    class Told(Wire):
        def set_write_buffer_limits(self, high: int) -> None:
            told.append(high)

    broker, wire = Broker(), Told("10.0.0.7", ("10.0.0.1", 9092))
    Connection(broker.server, broker.cluster.nodes[0]).connection_made(wire)  # type: ignore[arg-type]
    assert told == [UNREAD_BYTES]
