"""Responses as bytes: the expected ones, or the few fields that are checked.

A payload is a frame without its length: the correlation id, which the connection has compared, and the rest.
"""

from collections.abc import Callable
from functools import cache
from struct import Struct, error
from typing import Any, NamedTuple
from uuid import UUID

from kio.index import load_payload_module
from kio.serial import entity_reader
from kio.static.constants import EntityType

from benchmarks.requests import METADATA, PROTOCOL, PROTOCOL_TYPE
from kohort.protocol.errors import DecodeError
from kohort.protocol.wire import compact_bytes, compact_length, compact_string, read_unsigned_varint

NONE = 0
# loading, not available, not the coordinator: errors of a cluster that has just started
COORDINATOR_NOT_READY = (14, 15, 16)
REBALANCE_IN_PROGRESS = 27
MEMBER_ID_REQUIRED = 79

_EPOCH = Struct(">ii")  # member epoch and heartbeat interval
_JOINED = Struct(">xihi")
_FETCHED = Struct(">xihi")
_FETCHED_PARTITION = Struct(">ihqqq")
_NO_TAGS = b"\x00"
_CODE = Struct(">h")
_LISTED_TAIL = b"\x00" + compact_bytes(METADATA) + b"\x00"  # no instance id, the subscription, no tags
_SYNCED_HEAD = bytes(7) + compact_string(PROTOCOL_TYPE) + compact_string(PROTOCOL)

BEAT = bytes(8)  # Heartbeat v4 without correlation id: no tags, no throttling, no error, no tags


class MalformedReplyError(Exception):
    """Response with unexpected bytes."""


class Joined(NamedTuple):
    """Checked fields of a JoinGroup v9 response."""

    error_code: int
    generation: int
    protocol: str
    leader: str
    member_id: str
    listed: list[str]


@cache
def reader(key: int, version: int) -> Callable[[bytes], Any]:
    """Return a function that decodes the payload of any other response with kio."""
    module = load_payload_module(key, version, EntityType.response)
    entity = next(c for c in vars(module).values() if getattr(c, "__type__", None) is EntityType.response)
    read, start = entity_reader(entity), 5 if entity.__flexible__ else 4

    def read_whole(payload: bytes) -> Any:
        try:
            reply, size = read(payload, start)
        except Exception as problem:  # kio raises many kinds for bytes that it cannot read
            raise MalformedReplyError(f"{entity.__name__}: {problem!r}") from problem
        if start + size != len(payload):
            raise MalformedReplyError(f"{entity.__name__}: {len(payload) - start - size} bytes too many")
        return reply

    return read_whole


def error_code(payload: bytes) -> int:
    """Return the error code after tags and throttle time, as in the group APIs."""
    if len(payload) < 11:
        raise MalformedReplyError(f"{len(payload)} bytes")
    return int(_CODE.unpack_from(payload, 9)[0])


def joined(payload: bytes) -> Joined:
    """Decode a JoinGroup v9 response completely.

    Raises:
        MalformedReplyError: It has another length or content.
    """
    try:
        _, code, generation = _JOINED.unpack_from(payload, 4)
        _, at = _text(payload, 15)
        protocol, at = _text(payload, at)
        leader, at = _text(payload, at)
        member_id, at = _text(payload, at + 1)  # whether the leader may skip the assignment lies between
        listed, at = _members(payload, at)
    except (IndexError, DecodeError, ValueError, error) as problem:
        raise MalformedReplyError(f"JoinGroup: {problem!r}") from problem
    if payload[at:] != b"\x00":
        raise MalformedReplyError(f"JoinGroup: {len(payload) - at} bytes where one ends it")
    return Joined(code, generation, protocol, leader, member_id, listed)


class Beat(NamedTuple):
    """Checked fields of a ConsumerGroupHeartbeat v1 response."""

    error_code: int
    epoch: int
    assigned: dict[UUID, set[int]] | None  # None if unchanged


def consumer_beat(payload: bytes, member_id: str) -> Beat:
    """Decode a ConsumerGroupHeartbeat v1 response to a member completely."""
    at = 12 + len(member_id) + 1
    if payload[9:12] == bytes(3) and payload[at + 8 :] == b"\xff\x00":
        epoch, _ = _EPOCH.unpack_from(payload, at)
        if payload[12:at] != compact_string(member_id):
            raise MalformedReplyError(f"ConsumerGroupHeartbeat: an answer to {payload[12:at]!r}, not {member_id}")
        return Beat(0, epoch, None)
    reply = reader(68, 1)(payload)
    if reply.error_code:
        return Beat(reply.error_code, 0, None)
    if reply.member_id != member_id:
        raise MalformedReplyError(f"ConsumerGroupHeartbeat: an answer to {reply.member_id!r}, not {member_id}")
    if reply.assignment is None:
        return Beat(0, reply.member_epoch, None)
    assigned = {entry.topic_id: set(entry.partitions) for entry in reply.assignment.topic_partitions}
    return Beat(0, reply.member_epoch, assigned)


class Fetched(NamedTuple):
    """Checked fields of a Fetch v12 response for one partition."""

    error_code: int
    partition: int
    high_watermark: int
    start: int  # position of the records in the payload
    end: int


def fetched(payload: bytes, topic: str) -> Fetched:
    """Decode a Fetch v12 response for one partition. The records, which may be long, are not copied."""
    head = compact_length(1) + compact_string(topic) + compact_length(1)
    try:
        _, top_code, _ = _FETCHED.unpack_from(payload, 4)
        at = 4 + _FETCHED.size
        if not payload.startswith(head, at):
            raise ValueError("not the requested topic")
        at += len(head)
        partition, code, high_watermark, _, _ = _FETCHED_PARTITION.unpack_from(payload, at)
        at += _FETCHED_PARTITION.size
        if payload[at] > 1:
            raise ValueError("there are aborted transactions")
        length, at = read_unsigned_varint(payload, at + 5)
    except (IndexError, DecodeError, ValueError, error) as problem:
        raise MalformedReplyError(f"Fetch: {problem!r}") from problem
    end = at + max(length - 1, 0)
    if payload[end:] != _NO_TAGS * 3:
        raise MalformedReplyError(f"Fetch: {len(payload) - end} bytes where three end it")
    return Fetched(top_code or code, partition, high_watermark, at, end)


def synced(assignment: bytes) -> bytes:
    """Return the SyncGroup v5 response with `assignment`, without correlation id."""
    return _SYNCED_HEAD + compact_bytes(assignment) + b"\x00"


def leave_response(member_id: str) -> bytes:
    """Return the LeaveGroup v5 response to one member, without correlation id."""
    return bytes(7) + compact_length(1) + compact_string(member_id) + bytes(5)


def _text(payload: bytes, at: int) -> tuple[str, int]:
    length, at = read_unsigned_varint(payload, at)
    if length == 0:
        return "", at
    end = at + length - 1
    if end > len(payload):
        raise IndexError("a string longer than the reply")
    return payload[at:end].decode(), end


def _members(payload: bytes, at: int) -> tuple[list[str], int]:
    count, at = read_unsigned_varint(payload, at)
    listed = []
    for _ in range(count - 1):
        member_id, at = _text(payload, at)
        if not payload.startswith(_LISTED_TAIL, at):
            raise ValueError(f"{member_id} is listed with other metadata than it sent")
        at += len(_LISTED_TAIL)
        listed.append(member_id)
    return listed, at
