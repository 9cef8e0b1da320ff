"""Lines of a recorded conversation: formatting and parsing are inverse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.protocol.consumer_protocol import Assignment, Subscription, write_assignment, write_subscription
from kohort.protocol.messages import message_of
from kohort.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kohort.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kohort.proxy.talk.payloads import in_words, to_bytes, topics_in
from kohort.proxy.talk.short_forms import lengthened, shortened
from kohort.proxy.talk.talk_fields import from_values, to_values
from kohort.proxy.talk.talk_lines import CONNECTS, Step, read_line, shown_client
from kohort.proxy.talk.talk_values import Value, read_values, show

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(0, 99), inner),
    max_leaves=12,
)


@given(VALUES)
def test_value_round_trip(value: Value) -> None:
    shown = show(value)
    assert shown.isprintable(), "a line stays a line, and shows what it holds"
    assert read_values(shown) == value


@pytest.mark.parametrize("text", ["{", "{a", "[1, 2", "{a: }", "{a: 1} b", '"', "[" * 100_000])
def test_invalid_value_is_explained(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|cannot read|brackets"):
        read_values(text)


@pytest.mark.parametrize(
    "line",
    [
        "   1234 ms  ada connects as billing-1",
        "   1234 ms  ada connects as nobody",
        '   1234 ms  ada connects as "nobody"',
        '   1234 ms  ada connects as "5"',
        "   1234 ms  ada/12 disconnects",
        "      0 ms  ada Heartbeat v4 {group_id: billing, generation_id: 3, member_id: $ada}",
        "12345678 ms  ada <- REBALANCE_IN_PROGRESS",
        "      1 ms  ada <- NONE {assignment: assignment(orders:0+1)}",
        "      1 ms  ada <- {topics: {orders: {0: NONE}}}",
        "      1 ms  ada <-",
    ],
)
def test_line_round_trip(line: str) -> None:
    read = read_line(line, 7)
    assert read is not None
    assert (str(read), read.number) == (line, 7)


@given(st.none() | st.text())
def test_client_ids_stay(client_id: str | None) -> None:
    line = str(Step(CONNECTS, "ada", {"client": shown_client(client_id)}))
    read = read_line(line, 1)
    assert read is not None
    assert read.client_id == client_id


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("ada Heartbeat v4", "a line begins with a time and a speaker"),
        ("   1234 ms  ada Heartbeat", "cannot follow 'ada Heartbeat'"),
        ("   1234 ms  ada Heartbeat v4 {group_id: billing", "cannot follow"),
        ("   1234 ms  ada Heartbeat v4 {group_id billing}", "expected ':'"),
    ],
)
def test_invalid_line_is_explained(line: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_line(line, 1)


def test_subscription_omits_user_data() -> None:
    subscription = Subscription(
        version=3,
        topics=("orders", "refunds"),
        user_data=b"secret",
        owned_partitions={"orders": (0, 2)},
        generation_id=7,
        rack_id="r1",
    )
    words = in_words("metadata", write_subscription(subscription))
    assert words == "subscription(orders refunds orders:0+2 generation:7 rack:r1)"
    assert in_words("metadata", to_bytes(words)) == words
    assert b"secret" not in to_bytes(words)


def test_short_subscription_uses_older_version() -> None:
    older = write_subscription(Subscription(version=1, topics=("orders",), owned_partitions={"orders": (1,)}))
    assert in_words("metadata", b"\x00\x03" + older[2:]) == "subscription(orders orders:1)"


@pytest.mark.parametrize("topic", ["generation", "rack"])
def test_option_named_owned_topic_is_length(topic: str) -> None:
    data = write_subscription(Subscription(version=1, topics=(topic,), owned_partitions={topic: (0, 1)}))
    words = in_words("metadata", data)
    assert words == f"left_out({len(data)})"
    assert len(to_bytes(words)) == len(data)


@pytest.mark.parametrize("topic", ["generation", "rack"])
def test_option_named_topic_round_trip(topic: str) -> None:
    words = in_words("metadata", write_subscription(Subscription(topics=(topic, "orders"))))
    assert words == f"subscription({topic} orders)"
    assert in_words("metadata", to_bytes(words)) == words
    assert list(topics_in(words)) == [topic, "orders"]
    words = in_words("assignment", write_assignment(Assignment(partitions={topic: (0, 1)})))
    assert words == f"assignment({topic}:0+1)"
    assert list(topics_in(words)) == [topic]


def test_empty_rack_and_omitted_fields() -> None:
    assert in_words("metadata", write_subscription(Subscription(topics=("a",), rack_id=""))) == "subscription(a)"
    assert in_words("metadata", to_bytes("left_out(28)")) == "left_out(28)"


def test_assignment_omits_user_data() -> None:
    words = in_words("assignment", write_assignment(Assignment(partitions={"orders": (0, 1)}, user_data=b"secret")))
    assert words == "assignment(orders:0+1)"
    assert in_words("assignment", to_bytes(words)) == words


@pytest.mark.parametrize("data", [b"", b"connect", b"\x00\x00\x00\x00\x00\x01\x00\x03a b\xff\xff\xff\xff"])
def test_other_payloads_are_as_many_bytes(data: bytes) -> None:
    words = in_words("metadata", data)
    assert words == (f"left_out({len(data)})" if data else "")
    assert len(to_bytes(words)) == len(data)


@pytest.mark.parametrize("words", ["left_out(99999999)", "left_out(x)", "secret", "assignment(orders:x)"])
def test_invalid_bytes_are_explained(words: str) -> None:
    with pytest.raises(ValueError, match=r"left_out|expected subscription|invalid literal"):
        to_bytes(words)


def test_request_line_round_trip() -> None:
    request = JoinGroupRequest(
        group_id="billing",
        session_timeout_ms=10_000,
        member_id="",
        protocol_type="consumer",
        protocols=(
            JoinGroupRequestProtocol(name="range", metadata=to_bytes("subscription(orders)")),
            JoinGroupRequestProtocol(name="sticky", metadata=b"secret"),
        ),
    )
    values = shortened(to_values(JoinGroupRequest, request))
    assert show(values) == (
        "{group_id: billing, session_timeout_ms: 10000, protocol_type: consumer, "
        "protocols: {range: subscription(orders), sticky: left_out(6)}}"
    )
    made = from_values(JoinGroupRequest, lengthened(JoinGroupRequest, values), "JoinGroup")
    assert shortened(to_values(JoinGroupRequest, made)) == values


def test_commit_metadata_is_omitted() -> None:
    partitions = tuple(
        OffsetCommitRequestPartition(partition_index=index, committed_offset=5 * index, committed_metadata=note)
        for index, note in enumerate(("", "secret"))
    )
    request = OffsetCommitRequest(
        group_id="g", member_id="", topics=(OffsetCommitRequestTopic(name="orders", partitions=partitions),)
    )
    values = shortened(to_values(OffsetCommitRequest, request))
    assert show(values["topics"]) == (
        "{orders: [{partition_index: 0, committed_offset: 0}, "
        "{partition_index: 1, committed_offset: 5, committed_metadata: left_out(6)}]}"
    )
    made = from_values(OffsetCommitRequest, lengthened(OffsetCommitRequest, values), "OffsetCommit")
    frame = message_of("offset_commit").write_request(8, 1, "ada", made)
    assert b"xxxxxx" in frame


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"group": "g"}, "JoinGroup has no field group"),
        ({"group_id": 5}, "JoinGroup.group_id: expected text, not 5"),
        ({"session_timeout_ms": "long"}, "JoinGroup.session_timeout_ms: expected a number, not 'long'"),
        ({"protocols": "range"}, "JoinGroup.protocols: expected a list"),
        ({"protocols": ["range"]}, r"JoinGroup.protocols\[0\]: expected fields"),
    ],
)
def test_invalid_request_is_explained(values: Value, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        from_values(JoinGroupRequest, lengthened(JoinGroupRequest, values), "JoinGroup")
