"""Requests are read in every version, and whatever nobody should send is refused, quickly."""

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from kohort.protocol.codec import MAX_ANSWER_ELEMENTS
from kohort.protocol.errors import DecodeError, ErrorCode
from kohort.protocol.messages.api_versions import ApiVersionsResponse, SupportedFeatureKey
from kohort.protocol.wire import compact_length, compact_string, unsigned_varint
from tests.protocol.messages import SOME_VERSIONS, VERSIONS, load, request_bodies
from tests.support.effort import examples

quick = examples(0.06, without=HealthCheck)

HUGE = [b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\x0f", b"\xff" * 6]
"""Counts in the thousands of millions, as four bytes and compactly."""


def read_or_refuse(name: str, version: int, body: bytes) -> object:
    try:
        return load(name).read(version, body, 0)
    except DecodeError:
        return None


@pytest.mark.parametrize(("name", "version"), SOME_VERSIONS)
@quick
@given(data=st.data())
def test_read_message_can_be_written(name: str, version: int, data: st.DataObject) -> None:
    message = load(name)
    body = data.draw(request_bodies(name, version))
    request = message.read(version, b"12345" + body, 5, max_elements=len(body))
    assert message.write_request(version, 0, None, request).endswith(body)


@pytest.mark.parametrize(("name", "version"), SOME_VERSIONS)
@quick
@given(data=st.data(), junk=st.binary(max_size=60))
def test_spoiled_requests(name: str, version: int, data: st.DataObject, junk: bytes) -> None:
    body = data.draw(request_bodies(name, version))
    at = data.draw(st.integers(0, len(body)))
    read_or_refuse(name, version, body[:at])
    read_or_refuse(name, version, junk)
    for spoiler in (junk, *HUGE):
        read_or_refuse(name, version, body[:at] + spoiler + body[at:])
        read_or_refuse(name, version, body[:at] + spoiler + body[at + len(spoiler) :])


def test_untrusted_answer_with_tagged_lists() -> None:
    feature = SupportedFeatureKey(name="share.version", min_version=0, max_version=1)
    said = ApiVersionsResponse(error_code=ErrorCode.none, api_keys=(), supported_features=(feature, feature))
    frame = load("api_versions").write(4, 7, said)
    assert isinstance(frame, bytes)
    correlation_id, heard = load("api_versions").read_answer(4, frame[4:])
    assert (correlation_id, [each.name for each in heard.supported_features]) == (7, ["share.version"] * 2)
    with pytest.raises(DecodeError):
        load("api_versions").read_answer(4, frame[4:-20])


@pytest.mark.parametrize(("name", "version"), VERSIONS)
def test_every_shape_has_kafkas_fields(name: str, version: int) -> None:
    message = load(name)
    read_or_refuse(name, version, b"")
    for side in (message.request, message.response):
        assert side.__doc__  # the signature, which dataclasses write
    message.writer_by_kio(version)


@pytest.mark.parametrize(
    ("name", "version", "body"),
    [
        ("heartbeat", 0, "000167"),
        ("heartbeat", 4, "0267"),
        ("heartbeat", 0, "ffff 00000001 0001 61"),  # a null group
        ("heartbeat", 0, "fffe 00000001 0001 61"),  # another way to say so
        ("heartbeat", 4, "0267 00000001 0261 00 01 07 03 0102"),  # a tagged field cut short
        ("heartbeat", 4, "0267 00000001 0261 00 ffffffff0f"),
        ("heartbeat", 5, "0267 00000001 0261 00 00"),  # a version there is not
        ("produce", 2, "ffff 00001388 00000000"),  # one that is only advertised
        ("describe_groups", 0, "7fffffff"),
        ("describe_groups", 0, "ffffffff"),  # no array of groups may be null
        ("describe_groups", 5, "ffffffff0f 00 00"),
        ("describe_groups", 5, "00 00 00"),
        ("delete_groups", 2, "ffffffff7f"),
        ("offset_commit", 8, "0267 00000001 0161 00 02 0274 ffffffff0f"),
        ("metadata", 0, "ffffffff"),  # null from version 1 on only
        ("produce", 9, "00 0001 00000001 00 00"),
        ("produce", 9, "808000 0001 00000001 00 00"),
        ("produce", 9, "80808080800000 0001 00000001 01 00"),  # a varint of six bytes
    ],
)
def test_refused(name: str, version: int, body: str) -> None:
    with pytest.raises(DecodeError):
        load(name).read(version, bytes.fromhex(body), 0)


def test_null_arrays_where_they_may_be() -> None:
    assert load("metadata").read(1, bytes.fromhex("ffffffff"), 0).topics is None
    assert load("offset_fetch").read(2, bytes.fromhex("0001 67 ffffffff"), 0).groups[0].topics is None


def test_trailing_bytes_are_ignored() -> None:
    assert load("heartbeat").read(0, bytes.fromhex("0001 67 00000001 0001 61") + b"more", 0).member_id == "a"


@pytest.mark.parametrize(
    ("name", "version", "body", "plain"),
    [
        ("heartbeat", 0, "0002 67ff 00000001 0001 61", "0004 67efbfbd 00000001 0001 61"),  # no UTF-8
        ("heartbeat", 4, "0367ff 00000001 0261 00 00", "0567efbfbd 00000001 0261 00 00"),
        ("heartbeat", 3, "0001 67 00000001 0001 61 fffe", "0001 67 00000001 0001 61 ffff"),  # another null
        ("metadata", 1, "fffffffe", "ffffffff"),
        ("produce", 3, "8000 ffff 00000001 00000000", "ffff ffff 00000001 00000000"),
        ("metadata", 4, "00000000 02", "00000000 01"),  # another true
        ("heartbeat", 4, "828000 67 00000001 0261 808000 00", "02 67 00000001 0261 00 00"),  # overlong lengths
        ("metadata", 9, "818000 01 00 00 00", "01 01 00 00 00"),
        ("produce", 9, "8000 0001 00000001 01 00", "00 0001 00000001 01 00"),
        ("produce", 9, "00 0001 00000001 02 0274 02 00000007 8000 00 00 00",
         "00 0001 00000001 02 0274 02 00000007 00 00 00 00"),
        ("offset_commit", 2, "0001 67 00000001 0001 6d 7fffffffffffffff 00000000",  # kept for ever
         "0001 67 00000001 0001 6d 0020c49ba5e353f7 00000000"),
        ("offset_commit", 2, "0001 67 00000001 0001 6d 8000000000000000 00000000",
         "0001 67 00000001 0001 6d ffdf3b645a1cac09 00000000"),
    ],
)  # fmt: skip
def test_accepts_same_input_as_kafka(name: str, version: int, body: str, plain: str) -> None:
    # observed on Apache Kafka 4.3, which responds to all of them
    message = load(name)
    assert message.read(version, bytes.fromhex(body), 0) == message.read(version, bytes.fromhex(plain), 0)


@pytest.mark.parametrize("size", [32_767, 32_768])
def test_string_length_is_limited(size: int) -> None:
    body = compact_string("g" * size) + bytes.fromhex("00000001 0261 00 00")
    if size == 32_767:
        assert load("heartbeat").read(4, body, 0).group_id == "g" * size
    else:
        with pytest.raises(DecodeError, match="a text of 32768 bytes"):
            load("heartbeat").read(4, body, 0)


@pytest.mark.parametrize("count", [40_000, 40_001])
@pytest.mark.parametrize(
    ("name", "version", "before", "element", "after"),
    [
        ("describe_groups", 5, "", "01", "00 00"),
        ("list_groups", 5, "", "0261", "01 00"),
        ("delete_topics", 6, "", "0261" + "00" * 17, "00000000 00"),
        ("offset_commit", 9, "0267 00000001 0261 00", "0274 01 00", "00"),
        ("offset_commit", 9, "0267 00000001 0261 00 02 0274", "00" * 22, "00 00"),
    ],
)
def test_request_elements_are_limited(
    name: str, version: int, before: str, element: str, after: str, count: int
) -> None:
    body = bytes.fromhex(before) + compact_length(count) + bytes.fromhex(element) * count + bytes.fromhex(after)
    total = count + (before.endswith("0274"))
    if total <= 40_000:
        load(name).read(version, body, 0, 40_000)
    else:
        with pytest.raises(DecodeError, match=r"kohort\.request\.max\.elements"):
            load(name).read(version, body, 0, 40_000)


def test_tagged_fields_count_as_elements() -> None:
    body = bytes.fromhex("0267 00000001 0261 00") + unsigned_varint(40_001) + bytes.fromhex("0700") * 40_001
    with pytest.raises(DecodeError, match="more than 40000"):
        load("heartbeat").read(4, body, 0, 40_000)


UNKNOWN = "01 07 03 010203"
"""A section of one tagged field that nobody knows."""


@pytest.mark.parametrize(
    ("name", "version", "body", "plain"),
    [
        ("heartbeat", 4, f"0267 00000001 0261 00 {UNKNOWN}", "0267 00000001 0261 00 00"),
        (
            "join_group",
            6,
            f"0267 00002710 00007530 0261 00 02 63 02 0272 020a {UNKNOWN} {UNKNOWN}",
            "0267 00002710 00007530 0261 00 02 63 02 0272 020a 00 00",
        ),
        ("list_groups", 5, f"01 01 {UNKNOWN}", "01 01 00"),
        ("offset_delete", 0, "0001 67 00000000", "0001 67 00000000"),
        (  # one known (0: cluster id) and one unknown, and an unknown one inside of a known one (1: replica state)
            "fetch",
            15,
            "000001f4 00000001 00000001 00 00000000 ffffffff 01 01 01"
            f" 03 00 02 02 63 01 12 ffffffff 0000000000000000 {UNKNOWN} 09 00",
            "000001f4 00000001 00000001 00 00000000 ffffffff 01 01 01"
            " 02 00 02 02 63 01 0d ffffffff 0000000000000000 00",
        ),
    ],
)
def test_unknown_tagged_fields_are_skipped(name: str, version: int, body: str, plain: str) -> None:
    message = load(name)
    assert message.read(version, bytes.fromhex(body), 0) == message.read(version, bytes.fromhex(plain), 0)


def test_durations_are_milliseconds() -> None:
    request = load("join_group").read(0, bytes.fromhex("0001 67 00002710 0000 0001 63 00000000"), 0)
    assert (request.session_timeout_ms, request.rebalance_timeout_ms) == (10_000, -1)
    assert request.group_instance_id is None


def test_rejects_oversized_answer() -> None:
    count = MAX_ANSWER_ELEMENTS + 1
    frame = bytes(6) + count.to_bytes(4, "big") + bytes(6 * count)
    with pytest.raises(DecodeError, match=f"more than {MAX_ANSWER_ELEMENTS} array elements"):
        load("api_versions").read_answer(0, frame)
