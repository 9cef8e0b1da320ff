"""Responses written by hand are the bytes kio writes, in every version."""

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from kio.static.constants import EntityType

from kohort.protocol.wire import INT
from tests.protocol.messages import SOME_VERSIONS, VERSIONS, load
from tests.protocol.strategies import entities
from tests.support.effort import examples

BY_HAND = [(name, version) for name, version in VERSIONS if load(name).written_by_hand]


def test_hot_responses_are_hand_written() -> None:
    assert {name for name, _ in BY_HAND} == {
        "consumer_group_heartbeat", "fetch", "heartbeat", "join_group", "leave_group", "offset_commit", "offset_fetch",
        "produce", "share_fetch", "streams_group_heartbeat", "sync_group",
    }  # fmt: skip


@pytest.mark.parametrize(("name", "version"), BY_HAND)
@examples(0.1, without=HealthCheck)
@given(data=st.data(), correlation_id=st.integers(-(2**31), 2**31 - 1))
def test_hand_writers(name: str, version: int, data: st.DataObject, correlation_id: int) -> None:
    message = load(name)
    response = data.draw(entities(message.entity(version, EntityType.response)).map(message.to_newest(version)))
    written = message.write(version, correlation_id, response)
    frame = b"".join(written) if isinstance(written, list) else written
    assert frame == message.writer_by_kio(version)(correlation_id, response)
    assert INT.unpack_from(frame)[0] == len(frame) - 4


@pytest.mark.parametrize(("name", "version"), SOME_VERSIONS)
@examples(0.03, without=HealthCheck)
@given(data=st.data())
def test_written_response_is_readable(name: str, version: int, data: st.DataObject) -> None:
    message = load(name)
    response = data.draw(entities(message.entity(version, EntityType.response)).map(message.to_newest(version)))
    written = message.write(version, 7, response)
    frame = b"".join(written) if isinstance(written, list) else written
    assert message.read_response(version, frame[4:]) == (7, response)
