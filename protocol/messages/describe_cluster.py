"""DescribeCluster (key 60): the brokers and the controller (KIP-700)."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class DescribeClusterRequest:
    include_cluster_authorized_operations: bool
    endpoint_type: int = 1  # from v1 on
    include_fenced_brokers: bool = False  # from v2 on


@shape
class DescribeClusterBroker:
    broker_id: int
    host: str
    port: int
    rack: str | None = None
    is_fenced: bool = False  # from v2 on


@shape
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
