"""ConsumerGroupHeartbeat (key 68): subscription and assignment of a consumer group's member."""

from collections.abc import Callable
from dataclasses import field
from struct import Struct, pack
from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape
from kohort.protocol.wire import INT, compact_length, compact_string, uuid


@shape
class TopicPartitions:
    topic_id: UUID | None
    partitions: tuple[int, ...] = ()


@shape
class ConsumerGroupHeartbeatRequest:
    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: tuple[str, ...] | None = None
    subscribed_topic_regex: str | None = None  # from v1 on
    server_assignor: str | None = None
    topic_partitions: tuple[TopicPartitions, ...] | None = None


@shape
class Assignment:
    topic_partitions: tuple[TopicPartitions, ...]


@shape
class ConsumerGroupHeartbeatResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None
    # bytes before and after the correlation id, once encoded: a cached response is encoded only once
    encoded: tuple[bytes, bytes] | None = field(default=None, init=False, compare=False, repr=False)


_HEAD = Struct(">Bih").pack
_EPOCH = Struct(">ii").pack
_EPOCH_AT = -10  # position of the epoch in a response without an assignment
_NO_TAGS = b"\x00"
_NONE, _PRESENT = b"\xff", b"\x01"  # the first byte of a nullable structure (KIP-893)


def _writer(version: int) -> Callable[[int, ConsumerGroupHeartbeatResponse], bytes]:
    def write(correlation_id: int, response: ConsumerGroupHeartbeatResponse) -> bytes:
        encoded = response.encoded
        if encoded is None:
            encoded = response.encoded = _encode(response)
        return encoded[0] + INT.pack(correlation_id) + encoded[1]

    return write


def _encode(response: ConsumerGroupHeartbeatResponse) -> tuple[bytes, bytes]:
    assignment = response.assignment
    body = b"".join(
        (
            _HEAD(0, response.throttle_time_ms, response.error_code),
            compact_string(response.error_message),
            compact_string(response.member_id),
            _EPOCH(response.member_epoch, response.heartbeat_interval_ms),
            _NONE if assignment is None else _assignment(assignment),
            _NO_TAGS,
        )
    )
    return INT.pack(4 + len(body)), body


def in_epoch(response: ConsumerGroupHeartbeatResponse, epoch: int) -> ConsumerGroupHeartbeatResponse:
    """Return a copy of an encoded response without assignment, with another epoch."""
    assert response.assignment is None, "the position of the epoch is fixed"
    changed = ConsumerGroupHeartbeatResponse(
        error_code=response.error_code,
        member_id=response.member_id,
        member_epoch=epoch,
        heartbeat_interval_ms=response.heartbeat_interval_ms,
    )
    if response.encoded is not None:
        head, body = response.encoded
        changed.encoded = head, body[:_EPOCH_AT] + INT.pack(epoch) + body[_EPOCH_AT + 4 :]
    return changed


def _assignment(assignment: Assignment) -> bytes:
    topics = [
        uuid(topic.topic_id)
        + compact_length(len(topic.partitions))
        + pack(f">{len(topic.partitions)}i", *topic.partitions)
        + _NO_TAGS
        for topic in assignment.topic_partitions
    ]
    return b"".join((_PRESENT, compact_length(len(topics)), *topics, _NO_TAGS))


MESSAGE = Message(
    "consumer_group_heartbeat", ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, write_by_hand=_writer
)
