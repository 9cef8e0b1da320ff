"""What is written in steps is, byte for byte, what is written at once."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from kio.static.constants import EntityType

from kohort.protocol.codec import ResponseTooLargeError
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages import message_of
from kohort.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from kohort.protocol.messages.metadata import MESSAGE, MetadataResponse, MetadataResponsePartition
from kohort.protocol.messages.metadata import MetadataResponseTopic as Topic
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


def test_a_frame_may_have_so_many_bytes_and_no_more() -> None:
    one = Coordinator(key="g" * 100, node_id=1, host="h", port=1, error_code=ErrorCode.none, error_message="")
    response = FindCoordinatorResponse(coordinators=(one,) * 1_000)
    message = message_of("find_coordinator")
    size = len(written(message.write_in_steps(4, 5, response, 1 << 30))[1])
    assert len(written(message.write_in_steps(4, 5, response, size))[1]) == size
    with pytest.raises(ResponseTooLargeError, match=r"find_coordinator v4: more than 50000 bytes"):
        written(message.write_in_steps(4, 5, response, 50_000))
