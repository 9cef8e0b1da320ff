"""The short way of familiar requests is equal to the long one, and what is remembered is little."""

from __future__ import annotations

import pytest

from kohort.broker.cluster.node import Node
from kohort.broker.familiar_request import PATIENCE, SKIPPED, Familiar
from kohort.protocol.errors import ErrorCode
from kohort.protocol.familiar import LONGEST_BYTES, NUMBERS_AT, Pattern
from kohort.protocol.headers import read_header
from kohort.protocol.messages.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from tests.broker.familiar_world import RIGHTS, World
from tests.support.broker import Broker, Client
from tests.support.data_requests import given_topic
from tests.support.frames import frame
from tests.support.rights import allow, client_of, guarded_broker, take_back
from tests.support.seeds import is_known, seeds

STEPS = 1_200


@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.parametrize("guarded", [False, True], ids=["open", "guarded"])
def test_a_familiar_request_is_answered_as_one_that_is_read(seed: int, guarded: bool) -> None:
    world = World(seed, guarded=guarded)
    world.plays(STEPS)
    quick, slow = map(world.logs, world.brokers)
    assert quick == slow, f"KOHORT_SEED={seed}"
    assert any(quick)
    assert world.repeated > 50 or not is_known(seed), "or else this test shows nothing"


# What is remembered, and for how long


def commit(offset: int, partitions: int = 1, member_id: str = "", group_id: str = "simple") -> bytes:
    parts = tuple(
        OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata="")
        for index in range(partitions)
    )
    topics = (OffsetCommitRequestTopic(name="t", partitions=parts),)
    return frame("offset_commit", 9, offset, group_id=group_id, member_id=member_id, topics=topics)


def errors(client: Client) -> list[ErrorCode]:
    return [p.error_code for _, answer in client.hears("offset_commit", 9) for t in answer.topics for p in t.partitions]


def remembered(client: Client) -> list[Familiar]:
    return [each for each in client.connection.familiar.values() if each.request is not None]


def test_a_right_that_is_lost_between_two_commits_is_missed_at_once() -> None:
    broker = guarded_broker()
    given_topic(client_of(broker, "admin"), "t")
    broker.cluster.offsets_topic.create(0)
    ada = client_of(broker, "ada")
    allow(broker, *RIGHTS)
    for right, error in ((RIGHTS[0], "group_authorization_failed"), (RIGHTS[2], "topic_authorization_failed")):
        for offset in range(5):
            ada.says(commit(offset))
        assert errors(ada) == [ErrorCode.none] * 5
        assert [each.kept is not None for each in remembered(ada)] == [True]
        take_back(broker, right)
        ada.says(commit(5))
        assert errors(ada) == [ErrorCode[error]]
        allow(broker, right)


def test_a_familiar_request_whose_answer_fails_is_answered_with_an_error() -> None:
    broker = Broker()
    ada = broker.client()
    beat = frame("heartbeat", 4, 7, group_id="g", generation_id=1, member_id="m")
    ada.says(beat, beat)
    assert len(remembered(ada)) == 1

    def fails(node: Node, familiar: Familiar, now_ms: int) -> bytes:
        raise ValueError("our bug")

    broker.api("heartbeat").answer = fails
    ada.says(beat)
    *_, (correlation_id, response) = ada.hears("heartbeat", 4)
    assert (correlation_id, response.error_code) == (7, ErrorCode.unknown_server_error)
    assert not ada.closed


def test_what_is_remembered_is_given_back_when_the_client_hangs_up() -> None:
    broker = Broker()
    ada = broker.client()
    for _ in range(3):
        ada.says(commit(1))
    assert len(remembered(ada)) == 1
    ada.connection.connection_lost(None)
    assert not ada.connection.familiar


def test_what_comes_once_and_what_is_long_is_not_remembered() -> None:
    ada = Broker().client()
    ada.says(commit(1))
    assert not remembered(ada)
    for offset in range(3):
        ada.says(commit(offset, partitions=LONGEST_BYTES // 16))
    assert not remembered(ada)


def test_one_version_of_an_api_is_remembered() -> None:
    ada = Broker().client()
    for version in (0, 1, 4):
        for number in range(3):
            ada.says(frame("heartbeat", version, number, group_id="g", generation_id=1, member_id="m"))
    assert [each.version for each in remembered(ada)] == [4]
    assert len(ada.connection.familiar) == 1


def test_a_connection_that_many_members_share_is_left_alone_for_a_while() -> None:
    broker = Broker()
    ada = broker.client()
    for number in range(PATIENCE + 2):
        ada.says(commit(1, member_id=f"member-{number:03}"))
    assert not remembered(ada)
    assert ada.connection.skips == SKIPPED
    for number in range(SKIPPED + 3):
        ada.says(commit(number, member_id="member-001"))
    assert len(remembered(ada)) == 1, "it is asked again later"


def test_whatever_differs_in_one_bit_is_another_request() -> None:
    said = commit(1_000, partitions=2)[8:]
    places = NUMBERS_AT["offset_commit"](9, commit(1_000, partitions=2), commit_body())
    assert places is not None
    pattern = Pattern(said, [place - 8 for place in places])
    assert pattern.numbers(said) == (1_000, 1_000)
    numbers = {place - 8 + byte for place in places for byte in range(8)}
    for byte in range(len(said)):
        for bit in range(8):
            other = bytearray(said)
            other[byte] ^= 1 << bit
            found = pattern.numbers(bytes(other))
            assert (found is not None) == (byte in numbers)
    assert pattern.numbers(said + b"\x00") is None
    assert pattern.numbers(said[:-1]) is None


def commit_body() -> int:
    return read_header(commit(1_000, partitions=2), 4).body_offset
