"""Fetch (key 1): record batches of partitions, as soon as there are enough bytes or the wait time has passed."""

from collections.abc import Callable, Sequence
from struct import Struct
from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.leaders import LeaderIdAndEpoch, NodeEndpoint, leader_and_epoch, node_endpoints
from kohort.protocol.shape import shape
from kohort.protocol.wire import FLEXIBLE, INT, PLAIN, Form, frame_header, tag, uuid


@shape
class ReplicaState:
    replica_id: int = -1
    replica_epoch: int = -1


@shape
class FetchPartition:
    partition: int
    current_leader_epoch: int = -1  # from v9 on
    fetch_offset: int
    last_fetched_epoch: int = -1  # from v12 on
    log_start_offset: int = -1  # from v5 on
    partition_max_bytes: int
    replica_directory_id: UUID | None = None  # from v17 on
    high_watermark: int = 2**63 - 1  # from v18 on


@shape
class FetchTopic:
    topic_id: UUID | None = None  # from v13 on
    partitions: tuple[FetchPartition, ...]
    topic: str = ""  # up to v12


@shape
class ForgottenTopic:
    topic_id: UUID | None = None  # from v13 on
    partitions: tuple[int, ...] = ()
    topic: str = ""  # up to v12


@shape
class FetchRequest:
    cluster_id: str | None = None  # from v12 on
    # None or without an id: a consumer
    replica_state: ReplicaState | None = None  # from v15 on
    max_wait_ms: int
    min_bytes: int
    max_bytes: int = 2**31 - 1
    isolation_level: int = 0
    session_id: int = 0  # from v7 on
    session_epoch: int = -1  # from v7 on
    topics: tuple[FetchTopic, ...]
    forgotten_topics_data: tuple[ForgottenTopic, ...] = ()  # from v7 on
    rack_id: str = ""  # from v11 on
    replica_id: int = -1  # up to v14


@shape
class EpochEndOffset:
    epoch: int = -1
    end_offset: int = -1


@shape
class SnapshotId:
    end_offset: int = -1
    epoch: int = -1


@shape
class AbortedTransaction:
    producer_id: int
    first_offset: int


@shape
class PartitionData:
    partition_index: int
    error_code: ErrorCode
    high_watermark: int
    last_stable_offset: int = -1
    log_start_offset: int = -1  # from v5 on
    diverging_epoch: EpochEndOffset | None = None  # from v12 on
    current_leader: LeaderIdAndEpoch | None = None  # from v12 on
    snapshot_id: SnapshotId | None = None  # from v12 on
    aborted_transactions: tuple[AbortedTransaction, ...] | None
    preferred_read_replica: int = -1  # from v11 on
    # whole batches in any number of pieces, which are sent unchanged
    records: Sequence[bytes | memoryview] | None = None


@shape
class FetchableTopicResponse:
    topic_id: UUID | None = None  # from v13 on
    partitions: tuple[PartitionData, ...]
    topic: str = ""  # up to v12


@shape
class FetchResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.none  # from v7 on
    session_id: int = 0  # from v7 on
    responses: tuple[FetchableTopicResponse, ...]
    node_endpoints: tuple[NodeEndpoint, ...] = ()  # from v16 on


def _writer(version: int) -> Callable[[int, FetchResponse], list[bytes | memoryview]]:
    """Return a writer that keeps the frame in pieces, so that records are not copied."""
    flexible = version >= 12
    form = FLEXIBLE if flexible else PLAIN
    array, string, tags = form.array, form.string, form.tags
    add_partition = _partition_writer(version, form)
    error_and_session = Struct(">hi").pack

    def write(correlation_id: int, response: FetchResponse) -> list[bytes | memoryview]:
        pieces: list[bytes | memoryview] = [b""]
        parts = [INT.pack(response.throttle_time_ms)]
        if version >= 7:
            parts.append(error_and_session(response.error_code, response.session_id))
        parts.append(array(len(response.responses)))
        for topic in response.responses:
            parts.append(uuid(topic.topic_id) if version >= 13 else string(topic.topic))
            parts.append(array(len(topic.partitions)))
            for partition in topic.partitions:
                add_partition(parts, partition)
                if partition.records:
                    pieces.append(b"".join(parts))
                    pieces += partition.records
                    parts.clear()
                parts.append(tags_of(partition))
            parts.append(tags)
        if version >= 16 and response.node_endpoints:
            parts += b"\x01", tag(0, node_endpoints(response.node_endpoints))
        else:
            parts.append(tags)
        pieces.append(b"".join(parts))
        pieces[0] = frame_header(correlation_id, flexible, sum(map(len, pieces)))
        return pieces

    def tags_of(partition: PartitionData) -> bytes:
        return _partition_tags(partition) if flexible else b""

    return write


def _partition_writer(version: int, form: Form) -> Callable[[list[bytes], PartitionData], None]:
    """Return a writer of a partition, up to the length of its records."""
    array, tags = form.array, form.tags
    start, long, aborted = Struct(">ihqq").pack, Struct(">q").pack, Struct(">qq").pack

    def add(parts: list[bytes], partition: PartitionData) -> None:
        parts.append(
            start(
                partition.partition_index,
                partition.error_code,
                partition.high_watermark,
                partition.last_stable_offset,
            )
        )
        if version >= 5:
            parts.append(long(partition.log_start_offset))
        if partition.aborted_transactions is None:
            parts.append(array(-1))
        else:
            parts.append(array(len(partition.aborted_transactions)))
            for transaction in partition.aborted_transactions:
                parts += aborted(transaction.producer_id, transaction.first_offset), tags
        if version >= 11:
            parts.append(INT.pack(partition.preferred_read_replica))
        parts.append(array(-1 if partition.records is None else sum(map(len, partition.records))))

    return add


def _partition_tags(partition: PartitionData) -> bytes:
    written = []
    if (diverging := partition.diverging_epoch) is not None:
        written.append(tag(0, Struct(">iqB").pack(diverging.epoch, diverging.end_offset, 0)))
    if partition.current_leader is not None:
        written.append(tag(1, leader_and_epoch(partition.current_leader)))
    if (snapshot := partition.snapshot_id) is not None:
        written.append(tag(2, Struct(">qiB").pack(snapshot.end_offset, snapshot.epoch, 0)))
    return b"".join((bytes((len(written),)), *written)) if written else b"\x00"


MESSAGE = Message("fetch", FetchRequest, FetchResponse, write_by_hand=_writer)
