"""Produce (key 0): record batches for partitions."""

from collections.abc import Callable
from struct import Struct
from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.leaders import LeaderIdAndEpoch, NodeEndpoint, leader_and_epoch, node_endpoints
from kohort.protocol.shape import shape
from kohort.protocol.wire import FLEXIBLE, INT, PLAIN, Form, frame, tag, uuid


@shape
class PartitionProduceData:
    index: int
    records: bytes | None


@shape
class TopicProduceData:
    topic_id: UUID | None = None  # from v13 on
    partition_data: tuple[PartitionProduceData, ...]
    name: str = ""  # up to v12


@shape
class ProduceRequest:
    transactional_id: str | None = None
    acks: int
    timeout_ms: int
    topic_data: tuple[TopicProduceData, ...]


@shape
class BatchIndexAndErrorMessage:
    batch_index: int
    batch_index_error_message: str | None = None


@shape
class PartitionProduceResponse:
    index: int
    error_code: ErrorCode
    base_offset: int
    log_append_time_ms: int = -1  # wall clock; -1: the records keep the producer's timestamps
    log_start_offset: int = -1  # from v5 on
    record_errors: tuple[BatchIndexAndErrorMessage, ...] = ()  # from v8 on
    error_message: str | None = None  # from v8 on
    current_leader: LeaderIdAndEpoch | None = None  # from v10 on


@shape
class TopicProduceResponse:
    topic_id: UUID | None = None  # from v13 on
    partition_responses: tuple[PartitionProduceResponse, ...]
    name: str = ""  # up to v12


@shape
class ProduceResponse:
    responses: tuple[TopicProduceResponse, ...]
    throttle_time_ms: int = 0
    node_endpoints: tuple[NodeEndpoint, ...] = ()  # from v10 on


def _writer(version: int) -> Callable[[int, ProduceResponse], bytes]:
    flexible = version >= 9
    form = FLEXIBLE if flexible else PLAIN
    array, string, tags = form.array, form.string, form.tags
    add_partition = _partition_writer(version, form)

    def write(correlation_id: int, response: ProduceResponse) -> bytes:
        parts = [array(len(response.responses))]
        for topic in response.responses:
            parts.append(uuid(topic.topic_id) if version >= 13 else string(topic.name))
            parts.append(array(len(topic.partition_responses)))
            for partition in topic.partition_responses:
                add_partition(parts, partition)
            parts.append(tags)
        parts.append(INT.pack(response.throttle_time_ms))
        if version >= 10 and response.node_endpoints:
            parts += b"\x01", tag(0, node_endpoints(response.node_endpoints))
        else:
            parts.append(tags)
        return frame(correlation_id, flexible, b"".join(parts))

    return write


def _partition_writer(version: int, form: Form) -> Callable[[list[bytes], PartitionProduceResponse], None]:
    array, string, tags = form.array, form.string, form.tags
    start, long = Struct(">ihqq").pack, Struct(">q").pack
    whole = Struct(">ihqqq").pack
    nothing_else = array(0) + string(None) + tags

    def add(parts: list[bytes], partition: PartitionProduceResponse) -> None:
        if (
            version >= 8
            and partition.error_code == 0
            and not partition.record_errors
            and not (partition.error_message is not None or partition.current_leader is not None)
        ):
            parts += (
                whole(
                    partition.index,
                    partition.error_code,
                    partition.base_offset,
                    partition.log_append_time_ms,
                    partition.log_start_offset,
                ),
                nothing_else,
            )
            return
        parts.append(start(partition.index, partition.error_code, partition.base_offset, partition.log_append_time_ms))
        if version >= 5:
            parts.append(long(partition.log_start_offset))
        if version >= 8:
            parts.append(array(len(partition.record_errors)))
            for record in partition.record_errors:
                parts += INT.pack(record.batch_index), string(record.batch_index_error_message), tags
            parts.append(string(partition.error_message))
        if version >= 10 and partition.current_leader is not None:
            parts += b"\x01", tag(0, leader_and_epoch(partition.current_leader))
        else:
            parts.append(tags)

    return add


MESSAGE = Message("produce", ProduceRequest, ProduceResponse, write_by_hand=_writer)
