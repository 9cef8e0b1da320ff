"""Requests as bytes, encoded once and sent many times.

A frame has its four length bytes, and a correlation id of zero in bytes 8 to 12, which the connection replaces. The
frames of the group APIs are built here, because each of thousands of members needs one; a test compares them with
those of kio. kio encodes all others.
"""

from collections.abc import Collection, Mapping, Sequence
from struct import Struct
from typing import Any
from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.wire import INT, compact_bytes, compact_length, compact_string, string

CLIENT = "bench"
PROTOCOL_TYPE = "consumer"
PROTOCOL = "range"
# subscription to the topic `orders`, in version 1 of the consumer protocol
METADATA = b"\x00\x01\x00\x00\x00\x01\x00\x06orders\xff\xff\xff\xff\x00\x00\x00\x00"

_HEADER = Struct(">hhi")
_TIMEOUTS = Struct(">ii")
_NONE = b"\x00"
_NO_TAGS = b"\x00"


def join_group(group: str, member_id: str, session_timeout_ms: int, rebalance_timeout_ms: int = 60_000) -> bytes:
    protocol = compact_string(PROTOCOL) + compact_bytes(METADATA) + _NO_TAGS
    timeouts = _TIMEOUTS.pack(session_timeout_ms, rebalance_timeout_ms)
    return _frame(
        11,
        9,
        compact_string(group) + timeouts + compact_string(member_id) + _NONE + compact_string(PROTOCOL_TYPE),
        compact_length(1) + protocol + _NONE + _NO_TAGS,
    )


def sync_group(group: str, member_id: str, generation: int, plan: dict[str, bytes]) -> bytes:
    """Return a SyncGroup v5 request; `plan` holds all assignments if the leader sends it, else nothing."""
    return _frame(
        14,
        5,
        compact_string(group) + INT.pack(generation) + compact_string(member_id) + _NONE,
        compact_string(PROTOCOL_TYPE) + compact_string(PROTOCOL) + compact_length(len(plan)),
        *[compact_string(member) + compact_bytes(assignment) + _NO_TAGS for member, assignment in plan.items()],
        _NO_TAGS,
    )


def heartbeat(group: str, member_id: str, generation: int) -> bytes:
    return _frame(12, 4, compact_string(group), INT.pack(generation), compact_string(member_id), _NONE + _NO_TAGS)


def consumer_heartbeat(
    group: str,
    member_id: str,
    epoch: int,
    owned: Mapping[UUID, Collection[int]] | None = None,
    joins: Sequence[str] | None = None,
) -> bytes:
    """Return a ConsumerGroupHeartbeat v1 request.

    Args:
        owned: Partitions of the member, or None if unchanged.
        joins: Topics of the subscription.
    """
    names = _NONE if joins is None else compact_length(len(joins)) + b"".join(map(compact_string, joins))
    return _frame(
        68,
        1,
        compact_string(group) + compact_string(member_id) + INT.pack(epoch) + _NONE + _NONE,
        INT.pack(-1 if joins is None else 60_000) + names + _NONE + _NONE,
        _NONE if owned is None else compact_length(len(owned)) + b"".join(map(_owned, owned.items())),
        _NO_TAGS,
    )


def _owned(topic: tuple[UUID, Collection[int]]) -> bytes:
    topic_id, partitions = topic
    return topic_id.bytes + compact_length(len(partitions)) + b"".join(map(INT.pack, partitions)) + _NO_TAGS


def leave_group(group: str, member_id: str) -> bytes:
    member = compact_string(member_id) + _NONE + _NONE + _NO_TAGS
    return _frame(13, 5, compact_string(group) + compact_length(1) + member + _NO_TAGS)


def by_kio(message: Message[Any, Any], version: int, request: object) -> bytes:
    raw = message.write_request(version, 0, CLIENT, request)
    return INT.pack(len(raw)) + raw


def _frame(key: int, version: int, *body: bytes) -> bytes:
    raw = b"".join((_HEADER.pack(key, version, 0), string(CLIENT), _NO_TAGS, *body))
    return INT.pack(len(raw)) + raw
