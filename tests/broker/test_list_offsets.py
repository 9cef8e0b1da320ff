"""ListOffsets and OffsetForLeaderEpoch: offsets by time and by leader epoch."""

import pytest

from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsTopic
from kohort.protocol.messages.offset_for_leader_epoch import OffsetForLeaderPartition, OffsetForLeaderTopic
from tests.support.batches import batch
from tests.support.broker import Broker, Client
from tests.support.data_requests import given_topic, offset_at, produce


def given_records() -> Client:
    ada = Broker().client()
    given_topic(ada)
    produce(ada, batch(b"a", at=1_000))
    produce(ada, batch(b"b", b"c", at=3_000))
    return ada


@pytest.mark.parametrize(
    ("timestamp", "answer"),
    [
        (500, (1_000, 0, 0)),
        (2_000, (3_000, 1, 0)),
        (4_000, (-1, -1, -1)),
        (-1, (-1, 3, 0)),
        (-2, (-1, 0, 0)),
        (-3, (3_000, 1, 0)),
        (-4, (-1, 0, 0)),
        (-5, (-1, -1, -1)),
    ],
)
def test_offsets_are_found_by_time(timestamp: int, answer: tuple[int, int, int]) -> None:
    offset = offset_at(given_records(), timestamp)
    assert (offset.error_code, offset.timestamp, offset.offset, offset.leader_epoch) == (ErrorCode.none, *answer)


@pytest.mark.parametrize("timestamp", [-1, -2, -3, -4, -5, 0])
def test_empty_log_has_no_timestamps(timestamp: int) -> None:
    ada = Broker().client()
    given_topic(ada)
    offset = offset_at(ada, timestamp)
    assert offset.error_code == ErrorCode.none
    assert (offset.timestamp, offset.offset) == (-1, 0 if timestamp in (-1, -2, -4) else -1)


@pytest.mark.parametrize(("timestamp", "since"), [(-3, 7), (-4, 8), (-5, 9), (-6, 11)])
def test_special_timestamps_require_their_version(timestamp: int, since: int) -> None:
    ada = given_records()
    assert offset_at(ada, timestamp, version=since - 1).error_code == ErrorCode.unsupported_version
    assert offset_at(ada, timestamp, version=since).error_code == ErrorCode.none


@pytest.mark.parametrize("version", range(1, 12))
def test_every_version_returns_start_and_end(version: int) -> None:
    ada = given_records()
    assert [offset_at(ada, at, version=version).offset for at in (-1, -2)] == [3, 0]
    assert offset_at(ada, -7, version=version).error_code == ErrorCode.unsupported_version
    assert offset_at(ada, -1, index=7, version=version).error_code == ErrorCode.unknown_topic_or_partition


def test_refusals() -> None:
    ada = given_records()
    assert offset_at(ada, -1, "nowhere").error_code == ErrorCode.unknown_topic_or_partition
    assert offset_at(ada, -1, epoch=99).error_code == ErrorCode.unknown_leader_epoch
    assert offset_at(ada, -1, epoch=0).error_code == ErrorCode.none
    part = ListOffsetsPartition(partition_index=0, timestamp=-1)
    response = ada.asks(
        "list_offsets", 9, replica_id=-1, topics=(ListOffsetsTopic(name="topic", partitions=(part, part)),)
    )
    ((answer,),) = [topic.partitions for topic in response.topics]
    assert (answer.error_code, answer.offset) == (ErrorCode.invalid_request, -1)


def test_another_node_than_the_leader_refuses() -> None:
    broker = Broker(nodes=2)
    given_topic(broker.client(0))
    assert offset_at(broker.client(1), -1).error_code == ErrorCode.not_leader_or_follower


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize(
    ("name", "current", "epoch", "answer"),
    [
        ("topic", -1, 0, (ErrorCode.none, 0, 3)),
        ("topic", 0, 0, (ErrorCode.none, 0, 3)),
        ("topic", -1, 5, (ErrorCode.none, -1, -1)),
        ("topic", -1, -1, (ErrorCode.none, -1, -1)),
        ("topic", 3, 0, (ErrorCode.unknown_leader_epoch, -1, -1)),
        ("nowhere", -1, 0, (ErrorCode.unknown_topic_or_partition, -1, -1)),
    ],
)
def test_leader_epochs_have_an_end(
    version: int, name: str, current: int, epoch: int, answer: tuple[ErrorCode, int, int]
) -> None:
    part = OffsetForLeaderPartition(partition=0, current_leader_epoch=current, leader_epoch=epoch)
    response = given_records().asks(
        "offset_for_leader_epoch", version, topics=(OffsetForLeaderTopic(topic=name, partitions=(part,)),)
    )
    ((found,),) = [topic.partitions for topic in response.topics]
    assert (found.error_code, found.leader_epoch, found.end_offset) == answer
