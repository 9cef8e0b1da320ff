"""DescribeCluster (key 60): the brokers and the controller (KIP-700)."""

from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class DescribeClusterRequest:
    include_cluster_authorized_operations: bool
    endpoint_type: int = 1  # from v1 on
    include_fenced_brokers: bool = False  # from v2 on


@dataclass(slots=True, kw_only=True)
class DescribeClusterBroker:
    broker_id: int
    host: str
    port: int
    rack: str | None = None
    is_fenced: bool = False  # from v2 on


@dataclass(slots=True, kw_only=True)
class DescribeClusterResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    error_message: str | None = None
    endpoint_type: int = 1  # from v1 on
    cluster_id: str
    controller_id: int = -1
    brokers: tuple[DescribeClusterBroker, ...]
    cluster_authorized_operations: int = -(2**31)


MESSAGE = Message("describe_cluster", DescribeClusterRequest, DescribeClusterResponse)
