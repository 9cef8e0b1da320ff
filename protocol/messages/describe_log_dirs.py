"""DescribeLogDirs (key 35): log directories of this broker, and the sizes of their partitions."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class DescribableLogDirTopic:
    topic: str
    partitions: tuple[int, ...]


@shape
class DescribeLogDirsRequest:
    topics: tuple[DescribableLogDirTopic, ...] | None  # None: all


@shape
class DescribeLogDirsPartition:
    partition_index: int
    partition_size: int
    offset_lag: int
    is_future_key: bool


@shape
class DescribeLogDirsTopic:
    name: str
    partitions: tuple[DescribeLogDirsPartition, ...]


@shape
class DescribeLogDirsResult:
    error_code: ErrorCode
    log_dir: str
    topics: tuple[DescribeLogDirsTopic, ...]
    total_bytes: int = -1  # from v4 on
    usable_bytes: int = -1  # from v4 on
    is_cordoned: bool = False  # from v5 on


@shape
class DescribeLogDirsResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.none  # from v3 on
    results: tuple[DescribeLogDirsResult, ...]


MESSAGE = Message("describe_log_dirs", DescribeLogDirsRequest, DescribeLogDirsResponse)
