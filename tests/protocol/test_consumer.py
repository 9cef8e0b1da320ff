"""The consumer protocol inside of JoinGroup and SyncGroup, and the two ways in which it can be wrong."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.protocol.consumer_protocol import (
    MAX_PARTITIONS,
    MAX_TOPICS,
    Assignment,
    ImpossibleLengthError,
    Subscription,
    read_assignment,
    read_subscription,
    subscribed_topics,
    write_assignment,
    write_subscription,
)
from kohort.protocol.wire import INT

SUBSCRIPTION = bytes.fromhex("0003 00000001 0001 74 ffffffff 00000001 0001 74 00000002 00000000 00000001 00000007 ffff")
ASSIGNMENT = bytes.fromhex("0003 00000001 0001 74 00000002 00000000 00000001 ffffffff")

partitions = st.dictionaries(st.text(max_size=5), st.lists(st.integers(0, 9), max_size=3).map(tuple), max_size=3)
optional_bytes = st.none() | st.binary(max_size=5)


def test_golden_subscription() -> None:
    subscription = Subscription(topics=("t",), owned_partitions={"t": (0, 1)}, generation_id=7)
    assert read_subscription(SUBSCRIPTION) == subscription
    assert write_subscription(subscription) == SUBSCRIPTION
    assert subscribed_topics(SUBSCRIPTION) == frozenset({"t"})


def test_golden_assignment() -> None:
    assignment = Assignment(partitions={"t": (0, 1)})
    assert read_assignment(ASSIGNMENT) == assignment
    assert write_assignment(assignment) == ASSIGNMENT


@given(
    st.integers(0, 3), st.lists(st.text(max_size=5), max_size=3).map(tuple), optional_bytes, partitions,
    st.integers(-1, 9), st.none() | st.text(max_size=5),
)  # fmt: skip
def test_every_version_is_readable(
    version: int,
    topics: tuple[str, ...],
    user_data: bytes | None,
    owned: dict[str, tuple[int, ...]],
    generation_id: int,
    rack_id: str | None,
) -> None:
    subscription = Subscription(
        version=version,
        topics=topics,
        user_data=user_data,
        owned_partitions=owned if version >= 1 else {},
        generation_id=generation_id if version >= 2 else -1,
        rack_id=rack_id if version >= 3 else None,
    )
    assert read_subscription(write_subscription(subscription)) == subscription
    assert subscribed_topics(write_subscription(subscription)) == frozenset(topics)
    assignment = Assignment(version=version, partitions=owned, user_data=user_data)
    assert read_assignment(write_assignment(assignment)) == assignment


def test_newer_version_uses_newest_layout() -> None:
    newer = read_subscription(b"\x00\x63" + SUBSCRIPTION[2:] + b"what came later")
    assert newer is not None
    assert (newer.version, newer.topics, newer.generation_id) == (99, ("t",), 7)


def test_repeated_topic_merges_partitions() -> None:
    twice = bytes.fromhex("0000 00000002 0001 74 00000001 00000000 0001 74 00000001 00000005 ffffffff")
    assert read_assignment(twice) == Assignment(version=0, partitions={"t": (0, 5)})


def test_repeated_topic_is_read_quickly() -> None:
    often = bytes.fromhex("0000") + INT.pack(MAX_TOPICS) + bytes.fromhex("0000 00000001 00000007") * MAX_TOPICS
    assignment = read_assignment(often + bytes.fromhex("ffffffff"))
    assert assignment is not None
    assert assignment.partitions == {"": (7,) * MAX_TOPICS}


def test_too_many_topics_are_unknown() -> None:
    topics = bytes.fromhex("0000") + INT.pack(MAX_TOPICS + 1) + bytes(2 * (MAX_TOPICS + 1)) + bytes.fromhex("ffffffff")
    assert subscribed_topics(topics) is None
    assert read_subscription(topics) is None
    count = MAX_PARTITIONS + 1
    partitions = bytes.fromhex("0000 00000001 0001 74") + INT.pack(count) + bytes(4 * count) + bytes.fromhex("ffffffff")
    assert read_assignment(partitions) is None


@pytest.mark.parametrize("metadata", ["", "00", "0000", "6d", "0000000000", "00000000000000", "00000000000001 00"])
def test_truncated_bytes_are_unknown(metadata: str) -> None:
    assert subscribed_topics(bytes.fromhex(metadata)) is None
    assert read_subscription(bytes.fromhex(metadata)) is None


@pytest.mark.parametrize(
    "metadata",
    [
        "0000 7fffffff",
        "0000 ffffffff",  # no list may be null
        "0000 00000001",
        "0000 00000001 0005 74",  # a topic longer than what is left
        "0000 00000001 ffff 00000000",  # a topic that is null
        "0000 00000000 00000009 00",  # user data longer than what is left
    ],
)
def test_excessive_length_raises(metadata: str) -> None:
    with pytest.raises(ImpossibleLengthError):
        subscribed_topics(bytes.fromhex(metadata))
    with pytest.raises(ImpossibleLengthError):
        read_subscription(bytes.fromhex(metadata))


def test_coordinator_ignores_fields_after_user_data() -> None:
    broken = bytes.fromhex("0003 00000001 0001 74 ffffffff 7fffffff")
    assert subscribed_topics(broken) == frozenset({"t"})
    with pytest.raises(ImpossibleLengthError):
        read_subscription(broken)


def test_negative_versions() -> None:
    negative = b"\xff\xff" + SUBSCRIPTION[2:]
    assert subscribed_topics(negative) == frozenset({"t"})
    assert read_subscription(negative) is None
    assert read_assignment(b"\xff\xff" + ASSIGNMENT[2:]) is None


def test_malformed_topics_are_read_like_java() -> None:
    assert subscribed_topics(bytes.fromhex("0000 00000001 0002 74ff ffffffff")) == frozenset({"t\ufffd"})


@given(st.binary(max_size=40), st.integers(0, 40))
def test_random_bytes(data: bytes, cut: int) -> None:
    for blob in (data, SUBSCRIPTION[:cut] + data, ASSIGNMENT[:cut] + data):
        for read in (subscribed_topics, read_subscription, read_assignment):
            with contextlib.suppress(ImpossibleLengthError):
                read(blob)
