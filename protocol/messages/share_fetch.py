"""ShareFetch (key 78): acknowledgements by a member of a share group, and records that it acquires."""

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Final
from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.leaders import LeaderIdAndEpoch, NodeEndpoint, leader_and_epoch, node_endpoints
from kohort.protocol.messages.share_acknowledgements import AcknowledgementBatch
from kohort.protocol.shape import shape
from kohort.protocol.wire import INT, SHORT, compact_length, compact_string, frame_header, uuid


@shape
class FetchPartition:
    partition_index: int
    acknowledgement_batches: tuple[AcknowledgementBatch, ...] = ()


@shape
class FetchTopic:
    topic_id: UUID | None
    partitions: tuple[FetchPartition, ...]


@shape
class ForgottenTopic:
    topic_id: UUID | None
    partitions: tuple[int, ...] = ()


@shape
class ShareFetchRequest:
    group_id: str | None = None
    member_id: str | None
    share_session_epoch: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int = 2**31 - 1
    max_records: int
    batch_size: int
    share_acquire_mode: int = 0  # from v2 on
    is_renew_ack: bool = False  # from v2 on
    topics: tuple[FetchTopic, ...]
    forgotten_topics_data: tuple[ForgottenTopic, ...]


@shape
class AcquiredRecords:
    first_offset: int
    last_offset: int
    delivery_count: int


@shape
class PartitionData:
    partition_index: int
    error_code: ErrorCode
    error_message: str | None = None
    acknowledge_error_code: int = 0
    acknowledge_error_message: str | None = None
    current_leader: LeaderIdAndEpoch
    records: Sequence[bytes | memoryview] = ()  # whole batches in any number of pieces, which are sent unchanged
    acquired_records: tuple[AcquiredRecords, ...] = ()


@shape
class ShareFetchableTopicResponse:
    topic_id: UUID | None
    partitions: tuple[PartitionData, ...]


@shape
class ShareFetchResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    error_message: str | None = None
    acquisition_lock_timeout_ms: int = 0
    responses: tuple[ShareFetchableTopicResponse, ...] = ()
    node_endpoints: tuple[NodeEndpoint, ...] = ()


# Topics, partitions and ranges of a response that is encoded at once, in about ten milliseconds. Encoding it in steps
# costs ten times as much for each range, and copies the records.
MAX_AT_ONCE: Final = 16_000

_HEAD = Struct(">ih").pack
_PARTITION = Struct(">ih").pack
_ACQUIRED = Struct(">qqhB").pack
_NO_TAGS = b"\x00"


def _writer(version: int) -> Callable[[int, ShareFetchResponse], list[bytes | memoryview]]:
    """Return a writer that keeps the frame in pieces, so that records are not copied."""

    def write(correlation_id: int, response: ShareFetchResponse) -> list[bytes | memoryview]:
        pieces: list[bytes | memoryview] = [b""]
        parts = [
            _HEAD(response.throttle_time_ms, response.error_code),
            compact_string(response.error_message),
            INT.pack(response.acquisition_lock_timeout_ms),
            compact_length(len(response.responses)),
        ]
        for topic in response.responses:
            parts += uuid(topic.topic_id), compact_length(len(topic.partitions))
            for partition in topic.partitions:
                _add(parts, partition)
                if partition.records:
                    pieces.append(b"".join(parts))
                    pieces += partition.records
                    parts.clear()
                parts.append(_acquired(partition.acquired_records))
            parts.append(_NO_TAGS)
        parts += node_endpoints(response.node_endpoints), _NO_TAGS
        pieces.append(b"".join(parts))
        pieces[0] = frame_header(correlation_id, True, sum(map(len, pieces)))
        return pieces

    return write


def _add(parts: list[bytes], partition: PartitionData) -> None:
    """Encode a partition, up to the length of its records."""
    parts += (
        _PARTITION(partition.partition_index, partition.error_code),
        compact_string(partition.error_message),
        SHORT.pack(partition.acknowledge_error_code),
        compact_string(partition.acknowledge_error_message),
        leader_and_epoch(partition.current_leader),
        compact_length(sum(map(len, partition.records))),
    )


def _acquired(acquired: tuple[AcquiredRecords, ...]) -> bytes:
    ranges = [_ACQUIRED(records.first_offset, records.last_offset, records.delivery_count, 0) for records in acquired]
    return b"".join((compact_length(len(ranges)), *ranges, _NO_TAGS))


def _is_small(response: ShareFetchResponse) -> bool:
    count = 0
    for topic in response.responses:
        count += 1 + len(topic.partitions)
        if count > MAX_AT_ONCE:
            return False
        count += sum([len(partition.acquired_records) for partition in topic.partitions])
    return count <= MAX_AT_ONCE


MESSAGE = Message("share_fetch", ShareFetchRequest, ShareFetchResponse, write_by_hand=_writer, small=_is_small)
