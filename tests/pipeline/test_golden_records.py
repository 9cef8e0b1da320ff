"""Golden bytes of the offsets topic. Hexadecimal as in segment files, next to their meaning."""

from __future__ import annotations

import pytest

from kohort.protocol.records.record_reader import Decoded, Value, decode, decode_key
from kohort.protocol.records.record_writer import encode_key, encode_value
from kohort.protocol.records.schema import RecordError

ID = bytes(range(16))
SUBSCRIPTION = "0003 00000001 0001 74 ffffffff 00000001 0001 74 00000002 00000000 00000001 00000007 ffff"
ASSIGNMENT = "0003 00000001 0001 74 00000002 00000000 00000001 ffffffff"
COMMIT = {"offset": 100, "leaderEpoch": 10, "metadata": "m", "commitTimestamp": 1234, "expireTimestamp": -1}
PARTITIONS = {"topicId": ID, "partitions": [0, 1], "assignmentEpochs": None}
MEMBER = {
    "instanceId": None, "rackId": None, "clientId": "c", "clientHost": "/127.0.0.1", "subscribedTopicNames": ["t"],
    "subscribedTopicRegex": None, "rebalanceTimeoutMs": 300000, "serverAssignor": "uniform",
    "classicMemberMetadata": None,
}  # fmt: skip

VALUES: dict[str, tuple[int, str, Value]] = {
    "commit v3": (1, "0003 0000000000000064 0000000a 0001 6d 00000000000004d2", COMMIT | {"topicId": bytes(16)}),
    "commit v1, no leader epoch, no expiry": (
        1, "0001 0000000000000064 0001 6d 00000000000004d2 ffffffffffffffff",
        COMMIT | {"leaderEpoch": -1, "topicId": bytes(16)},
    ),
    "commit v4 with topic id": (
        1, "0004 0000000000000064 0000000a 02 6d 00000000000004d2 01 00 10 000102030405060708090a0b0c0d0e0f",
        COMMIT | {"topicId": ID},
    ),
    "commit v4 without": (
        1, "0004 0000000000000064 0000000a 01 00000000000004d2 00", COMMIT | {"metadata": "", "topicId": bytes(16)},
    ),
    "classic group of one": (
        2,
        "0003 0008636f6e73756d6572 00000008 000572616e6765 00026d31 00000199c82cc000 00000001 00026d31 ffff 000163 "
        f"000a2f3132372e302e302e31 000493e0 0000afc8 00000026 {SUBSCRIPTION} 00000019 {ASSIGNMENT}",
        {
            "protocolType": "consumer", "generation": 8, "protocol": "range", "leader": "m1",
            "currentStateTimestamp": 1760000000000,
            "members": [{
                "memberId": "m1", "groupInstanceId": None, "clientId": "c", "clientHost": "/127.0.0.1",
                "rebalanceTimeout": 300000, "sessionTimeout": 45000,
                "subscription": bytes.fromhex(SUBSCRIPTION), "assignment": bytes.fromhex(ASSIGNMENT),
            }],
        },
    ),
    "classic group, empty": (
        2, "0003 0008636f6e73756d6572 00000009 ffff ffff 00000199c82cc000 00000000",
        {
            "protocolType": "consumer", "generation": 9, "protocol": None, "leader": None,
            "currentStateTimestamp": 1760000000000, "members": [],
        },
    ),
    "epoch of 4.0": (3, "0000 00000005 00", {"epoch": 5, "metadataHash": 0, "creationTimeMs": -1}),
    "epoch with hash": (3, "0000 00000005 01 00 08 000000000000004d", {"epoch": 5, "metadataHash": 77, "creationTimeMs": -1}),
    "member": (5, "0000 00 00 02 63 0b 2f3132372e302e302e31 02 02 74 00 000493e0 08 756e69666f726d 00", MEMBER),
    "member as 4.3.0 writes it": (
        5,
        "0000 00 00 04 632d31 0b 2f3132372e302e302e31 02 0a 74656c656d65747279 01 00003a98 00 01 00 01 00",
        MEMBER | {
            "clientId": "c-1", "subscribedTopicNames": ["telemetry"], "subscribedTopicRegex": "",
            "rebalanceTimeoutMs": 15000, "serverAssignor": None,
        },
    ),
    "target epoch": (6, "0000 00000005 00", {"assignmentEpoch": 5, "assignmentTimestamp": 0}),
    "target epoch of 4.3": (
        6, "0000 00000005 01 00 08 00000199c82cc000", {"assignmentEpoch": 5, "assignmentTimestamp": 1760000000000},
    ),
    "target of a member": (
        7, "0000 02 000102030405060708090a0b0c0d0e0f 03 00000000 00000001 00 00", {"topicPartitions": [PARTITIONS]},
    ),
    "current of a member": (
        8, "0000 00000005 00000004 00 02 000102030405060708090a0b0c0d0e0f 03 00000000 00000001 00 01 00",
        {
            "memberEpoch": 5, "previousMemberEpoch": 4, "state": 0, "assignedPartitions": [PARTITIONS],
            "partitionsPendingRevocation": [],
        },
    ),
    "regular expression": (
        16, "0000 02 02 74 0000000000000009 00000199c82cc000 00",
        {"topics": ["t"], "version": 9, "timestamp": 1760000000000},
    ),
    "share epoch of 4.1": (11, "0000 00000005 000000000000004d 00", {"epoch": 5, "metadataHash": 77}),
}  # fmt: skip

KEYS = {
    "0001 0001 67 0001 74 00000003": (1, {"group": "g", "topic": "t", "partition": 3}),
    "0002 0001 67": (2, {"group": "g"}),
    "0003 0001 67": (3, {"groupId": "g"}),
    "0010 0001 67 0003 742e2a": (16, {"groupId": "g", "regularExpression": "t.*"}),
}


def key_of(kind: int) -> bytes:
    names = {"group": "g", "groupId": "g", "topic": "t", "partition": 3, "memberId": "m", "regularExpression": "r"}
    return encode_key(kind, names)


@pytest.mark.parametrize(("text", "expected"), KEYS.items(), ids=str)
def test_keys(text: str, expected: tuple[int, dict[str, object]]) -> None:
    raw = bytes.fromhex(text)
    decoded = decode_key(raw)
    assert (decoded.type, decoded.key) == expected
    assert encode_key(*expected) == raw


@pytest.mark.parametrize("name", VALUES)
def test_values(name: str) -> None:
    kind, text, expected = VALUES[name]
    raw = bytes.fromhex(text)
    decoded = decode(key_of(kind), raw)
    assert decoded.value == expected
    assert decoded.unknown_tags == []
    if "commit v" not in name and name != "member":  # 4.3.0 writes a null classic part out, the example doesn't
        assert encode_value(kind, raw[1], expected) == raw


def test_two_layouts_of_one_version() -> None:
    # Kafka 4.0 wrote share epochs without the hash under the same version; only the length differs
    decoded = decode(key_of(11), bytes.fromhex("0000 00000005 00"))
    assert (decoded.value, decoded.dialect) == ({"epoch": 5}, "4.0")


def test_redpanda_member_version_prefix() -> None:
    kind, text, expected = VALUES["classic group of one"]
    value = encode_value(2, 3, expected | {"members": [expected["members"][0] | {"memberVersion": 3}]}, "redpanda")
    assert value != bytes.fromhex(text)
    decoded = decode(key_of(kind), value)
    assert decoded.dialect == "redpanda"
    assert decoded.value is not None
    assert decoded.value["members"][0]["clientId"] == "c"


def test_tombstone_has_no_value() -> None:
    assert decode(key_of(2), None) == Decoded(2, {"group": "g"})


def test_unknown_tag_is_kept() -> None:
    decoded = decode(key_of(3), bytes.fromhex("0000 00000005 01 09 02 abcd"))
    assert decoded.value is not None
    assert decoded.value["epoch"] == 5
    assert decoded.unknown_tags == [("", 9, b"\xab\xcd")]


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        (b"\0\x63\0\1g", None, "type 99"),
        (b"\0\1\0\1g", None, "ends inside"),
        (key_of(1), b"\0\x05\0\0", "version 5"),
        (key_of(1), b"\0", "without a version"),
        (None, b"\0\1", "no key"),
        (key_of(2), bytes.fromhex(VALUES["classic group, empty"][1]) + b"\0", "after the value"),
        (key_of(7), bytes.fromhex("0000 ffffffff0f"), "elements"),
    ],
    ids=["unknown type", "short key", "newer version", "no version", "no key", "too long", "huge array"],
)
def test_unknown_layout_is_rejected(key: bytes | None, value: bytes | None, why: str) -> None:
    with pytest.raises(RecordError, match=why):
        decode(key, value)
