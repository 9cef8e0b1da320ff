"""StreamsGroupHeartbeat (key 88): metadata and tasks of a streams group's member (KIP-1071)."""

from collections.abc import Callable, Sequence
from struct import Struct, pack
from typing import Final

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape
from kohort.protocol.wire import INT, compact_length, compact_string, frame


@shape
class KeyValue:
    key: str
    value: str


@shape
class TopicInfo:
    name: str
    partitions: int
    replication_factor: int
    topic_configs: tuple[KeyValue, ...]


@shape
class CopartitionGroup:
    source_topics: tuple[int, ...] = ()
    source_topic_regex: tuple[int, ...] = ()
    repartition_source_topics: tuple[int, ...] = ()


@shape
class Subtopology:
    subtopology_id: str
    source_topics: tuple[str, ...] = ()
    source_topic_regex: tuple[str, ...] = ()
    state_changelog_topics: tuple[TopicInfo, ...] = ()
    repartition_sink_topics: tuple[str, ...] = ()
    repartition_source_topics: tuple[TopicInfo, ...] = ()
    copartition_groups: tuple[CopartitionGroup, ...] = ()


@shape
class Topology:
    epoch: int
    subtopologies: tuple[Subtopology, ...]


@shape
class TaskIds:
    subtopology_id: str
    partitions: tuple[int, ...] = ()


@shape
class Endpoint:
    host: str
    port: int


@shape
class TaskOffset:
    subtopology_id: str
    partition: int
    offset: int


@shape
class StreamsGroupHeartbeatRequest:
    group_id: str
    member_id: str
    member_epoch: int
    endpoint_information_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology: Topology | None = None
    active_tasks: tuple[TaskIds, ...] | None = None
    standby_tasks: tuple[TaskIds, ...] | None = None
    warmup_tasks: tuple[TaskIds, ...] | None = None
    process_id: str | None = None
    user_endpoint: Endpoint | None = None
    client_tags: tuple[KeyValue, ...] | None = None
    task_offsets: tuple[TaskOffset, ...] | None = None
    task_end_offsets: tuple[TaskOffset, ...] | None = None
    shutdown_application: bool = False


@shape
class Status:
    status_code: int
    status_detail: str


@shape
class TopicPartition:
    topic: str
    partitions: tuple[int, ...]


@shape
class EndpointToPartitions:
    user_endpoint: Endpoint
    active_partitions: tuple[TopicPartition, ...]
    standby_partitions: tuple[TopicPartition, ...]


@shape
class StreamsGroupHeartbeatResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    error_message: str | None = None
    member_id: str = ""
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    acceptable_recovery_lag_legacy: int = 0  # v0 only
    acceptable_recovery_lag: int = -1  # from v1 on
    task_offset_interval_ms: int = 0
    status: tuple[Status, ...] | None = ()
    active_tasks: tuple[TaskIds, ...] | None = None
    standby_tasks: tuple[TaskIds, ...] | None = None
    warmup_tasks: tuple[TaskIds, ...] | None = None
    topology_description_required: bool = False  # from v1 on
    endpoint_information_epoch: int = 0
    partitions_by_user_endpoint: tuple[EndpointToPartitions, ...] | None = None


_MAX_SHORT: Final = 50  # subtopologies and endpoints in a response that is written in one step

_HEAD: Final = Struct(">ih").pack
_NUMBERS: Final = (Struct(">iiii").pack, Struct(">iiiq").pack)  # by version
_NO_TAGS: Final = b"\x00"
_NOTHING_NEW: Final = b"\x01\x00\x00\x00"  # no status; tasks are unchanged
_DESCRIPTION: Final = (b"\x00", b"\x01")


def _writer(version: int) -> Callable[[int, StreamsGroupHeartbeatResponse], bytes]:
    pack_numbers, has_description = _NUMBERS[version], version >= 1

    def write(correlation_id: int, response: StreamsGroupHeartbeatResponse) -> bytes:
        interval_ms = response.task_offset_interval_ms
        if has_description:
            intervals = interval_ms, response.acceptable_recovery_lag
        else:
            intervals = response.acceptable_recovery_lag_legacy, interval_ms
        body = b"".join(
            (
                _HEAD(response.throttle_time_ms, response.error_code),
                compact_string(response.error_message),
                compact_string(response.member_id),
                pack_numbers(response.member_epoch, response.heartbeat_interval_ms, *intervals),
                _news(response),
                _DESCRIPTION[response.topology_description_required] if has_description else b"",
                INT.pack(response.endpoint_information_epoch),
                _endpoints(response.partitions_by_user_endpoint),
                _NO_TAGS,
            )
        )
        return frame(correlation_id, True, body)

    return write


def _is_short(response: StreamsGroupHeartbeatResponse) -> bool:
    return (
        len(response.active_tasks or ()) <= _MAX_SHORT
        and len(response.standby_tasks or ()) <= _MAX_SHORT
        and len(response.partitions_by_user_endpoint or ()) <= _MAX_SHORT
    )


def _news(response: StreamsGroupHeartbeatResponse) -> bytes:
    status, active = response.status, response.active_tasks
    standby, warmup = response.standby_tasks, response.warmup_tasks
    if status is not None and not status and active is None and standby is None and warmup is None:
        return _NOTHING_NEW
    return b"".join((_statuses(status), _tasks(active), _tasks(standby), _tasks(warmup)))


def _statuses(statuses: Sequence[Status] | None) -> bytes:
    if statuses is None:
        return b"\x00"
    entries = [pack(">b", one.status_code) + compact_string(one.status_detail) + _NO_TAGS for one in statuses]
    return compact_length(len(entries)) + b"".join(entries)


def _tasks(tasks: Sequence[TaskIds] | None) -> bytes:
    if tasks is None:
        return b"\x00"
    return compact_length(len(tasks)) + b"".join([_partitions(one.subtopology_id, one.partitions) for one in tasks])


def _endpoints(entries: Sequence[EndpointToPartitions] | None) -> bytes:
    if entries is None:
        return b"\x00"
    parts = [compact_length(len(entries))]
    for entry in entries:
        endpoint = entry.user_endpoint
        parts += compact_string(endpoint.host), pack(">H", endpoint.port), _NO_TAGS
        for topics in (entry.active_partitions, entry.standby_partitions):
            parts.append(compact_length(len(topics)))
            parts += [_partitions(topic.topic, topic.partitions) for topic in topics]
        parts.append(_NO_TAGS)
    return b"".join(parts)


def _partitions(name: str, partitions: Sequence[int]) -> bytes:
    count = len(partitions)
    return compact_string(name) + compact_length(count) + pack(f">{count}i", *partitions) + _NO_TAGS


MESSAGE = Message(
    "streams_group_heartbeat",
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    write_by_hand=_writer,
    small=_is_short,
)
