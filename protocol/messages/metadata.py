"""Metadata (key 3): brokers, topics and partition leaders."""

from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class MetadataRequestTopic:
    topic_id: UUID | None = None  # from v10 on
    name: str | None


@shape
class MetadataRequest:
    topics: tuple[MetadataRequestTopic, ...] | None
    allow_auto_topic_creation: bool = True  # from v4 on
    include_topic_authorized_operations: bool = False  # from v8 on
    include_cluster_authorized_operations: bool = False  # v8 to v10


@shape
class MetadataResponseBroker:
    node_id: int
    host: str
    port: int
    rack: str | None = None  # from v1 on


@shape
class MetadataResponsePartition:
    error_code: ErrorCode
    partition_index: int
    leader_id: int
    leader_epoch: int = -1  # from v7 on
    replica_nodes: tuple[int, ...] = ()
    isr_nodes: tuple[int, ...] = ()
    offline_replicas: tuple[int, ...] = ()  # from v5 on


@shape
class MetadataResponseTopic:
    error_code: ErrorCode
    name: str | None
    topic_id: UUID | None = None  # from v10 on
    is_internal: bool = False  # from v1 on
    partitions: tuple[MetadataResponsePartition, ...]
    topic_authorized_operations: int = -(2**31)  # from v8 on


@shape
class MetadataResponse:
    throttle_time_ms: int = 0  # from v3 on
    brokers: tuple[MetadataResponseBroker, ...]
    cluster_id: str | None = None  # from v2 on
    controller_id: int = -1  # from v1 on
    topics: tuple[MetadataResponseTopic, ...]
    error_code: ErrorCode = ErrorCode.none  # from v13 on
    cluster_authorized_operations: int = -(2**31)  # v8 to v10


MESSAGE = Message("metadata", MetadataRequest, MetadataResponse)
