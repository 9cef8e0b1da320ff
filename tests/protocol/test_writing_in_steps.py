"""What is written in steps is, byte for byte, what is written at once."""

from dataclasses import fields, is_dataclass, replace
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from kio.static.constants import EntityType

from kohort.protocol.codec import ResponseTooLargeError
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages import message_of
from kohort.protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kohort.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from kohort.protocol.messages.leaders import LeaderIdAndEpoch
from kohort.protocol.messages.metadata import MESSAGE, MetadataResponse, MetadataResponsePartition
from kohort.protocol.messages.metadata import MetadataResponseTopic as Topic
from kohort.protocol.messages.share_fetch import (
    AcquiredRecords,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchResponse,
)
from kohort.protocol.messages.share_group_heartbeat import Assignment, ShareGroupHeartbeatResponse, TopicPartitions
from kohort.protocol.writing_in_steps import StepWriter
from tests.protocol.messages import SOME_VERSIONS, load
from tests.protocol.strategies import entities
from tests.support.effort import examples

ONE_ONLY = {"add_partitions_to_txn": 3, "find_coordinator": 3, "leave_group": 2, "offset_fetch": 7}
"""Up to these versions there was room for one element."""


def written(steps: Any) -> tuple[int, bytes]:
    count = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            frame = end.value
            return count, frame if isinstance(frame, bytes) else b"".join(frame)
        count += 1


def lengthened(value: Any, more: int) -> Any:
    """A structure with `more` elements in every array of structures that has any."""
    longer = {}
    for member in fields(value):
        each = getattr(value, member.name)
        if isinstance(each, tuple) and each and is_dataclass(each[0]):
            first, last = lengthened(each[0], more), each[-1]
            longer[member.name] = (first, *each[1:], *(last,) * more)
    return replace(value, **longer)


@pytest.mark.parametrize(("name", "version"), SOME_VERSIONS)
@examples(0.02, without=HealthCheck)
@given(data=st.data(), more=st.sampled_from([0, 5, 34]))
def test_in_every_version_of_every_api(name: str, version: int, data: st.DataObject, more: int) -> None:
    message = load(name)
    response = data.draw(entities(message.entity(version, EntityType.response)).map(message.to_newest(version)))
    if name not in ONE_ONLY or version > ONE_ONLY[name]:
        response = lengthened(response, more)
    at_once = message.writer_by_kio(version)(5, response)
    assert written(message.write_in_steps(version, 5, response, 1 << 30))[1] == at_once


@examples(0.3)
@given(st.lists(st.integers(0, 80), max_size=60), st.integers(0, 13))
def test_lists_in_lists(lengths: list[int], version: int) -> None:
    def topic(number: int, length: int) -> Topic:
        partitions = (
            MetadataResponsePartition(error_code=ErrorCode.none, partition_index=n, leader_id=1, replica_nodes=(1, 2))
            for n in range(length)
        )
        return Topic(error_code=ErrorCode.none, name=f"topic-{number}", partitions=tuple(partitions))

    response = MetadataResponse(brokers=(), topics=tuple(topic(n, length) for n, length in enumerate(lengths)))
    count, frame = written(MESSAGE.write_in_steps(version, 5, response, 1 << 30))
    assert frame == MESSAGE.write(version, 5, response)
    assert count >= sum(length for length in lengths if length > 32)


@pytest.mark.parametrize("version", [1, 4])
def test_repeated_parts_are_written_once(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    configs = tuple(
        DescribeConfigsResourceResult(name=f"name-{n}", value=f"{n}", read_only=False, is_sensitive=False, synonyms=())
        for n in range(20)
    )
    results = [
        DescribeConfigsResult(
            error_code=ErrorCode.none,
            error_message="",
            resource_type=2,
            resource_name=f"topic-{n % 7}",
            configs=configs,
        )
        for n in range(50)
    ]
    response = DescribeConfigsResponse(results=(*results, *results[:1] * 500))
    message = message_of("describe_configs")
    at_once = message.write(version, 5, response)
    written_structures = []
    put = StepWriter.put

    def counting(writer: StepWriter, buffer: Any, value: Any) -> None:
        written_structures.append(value)
        put(writer, buffer, value)

    monkeypatch.setattr(StepWriter, "put", counting)
    assert written(message.write_in_steps(version, 5, response, 1 << 30))[1] == at_once
    assert len(written_structures) <= len(results) + len(configs)


def test_long_number_arrays_take_steps() -> None:
    topics = tuple(TopicPartitions(topic_id=UUID(int=n), partitions=tuple(range(n * 700))) for n in range(4))
    response = ShareGroupHeartbeatResponse(
        error_code=ErrorCode.none, member_id="m", assignment=Assignment(topic_partitions=topics)
    )
    message = message_of("share_group_heartbeat")
    assert not message.is_short(1, response)
    count, frame = written(message.write_in_steps(1, 5, response, 1 << 30))
    assert frame == message.write(1, 5, response)
    assert count >= sum(len(topic.partitions) for topic in topics) // 512


def test_frame_size_is_limited() -> None:
    one = Coordinator(key="g" * 100, node_id=1, host="h", port=1, error_code=ErrorCode.none, error_message="")
    response = FindCoordinatorResponse(coordinators=(one,) * 1_000)
    message = message_of("find_coordinator")
    size = len(written(message.write_in_steps(4, 5, response, 1 << 30))[1])
    assert len(written(message.write_in_steps(4, 5, response, size))[1]) == size
    with pytest.raises(ResponseTooLargeError, match=r"find_coordinator v4: more than 50000 bytes"):
        written(message.write_in_steps(4, 5, response, 50_000))


@pytest.mark.parametrize(("ranges", "takes_steps"), [(15_000, False), (17_000, True)])
def test_share_fetch_is_written_by_hand(ranges: int, takes_steps: bool) -> None:
    message = message_of("share_fetch")
    acquired = tuple(AcquiredRecords(first_offset=n, last_offset=n, delivery_count=1) for n in range(ranges))
    leader = LeaderIdAndEpoch(leader_id=0, leader_epoch=0)
    part = PartitionData(
        partition_index=0,
        error_code=ErrorCode.none,
        current_leader=leader,
        records=(b"abc",),
        acquired_records=acquired,
    )
    topic = ShareFetchableTopicResponse(topic_id=UUID(int=1), partitions=(part,))
    response = ShareFetchResponse(error_code=ErrorCode.none, responses=(topic,))
    count, frame = written(message.write_in_steps(2, 5, response, 1 << 30))
    assert (count > 0) is takes_steps
    assert frame == b"".join(cast("list[bytes]", message.write(2, 5, response)))
    assert message.is_short(2, response) is not takes_steps
