"""AlterReplicaLogDirs (key 34): moves replicas to another log directory of a broker."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class AlterReplicaLogDirTopic:
    name: str
    partitions: tuple[int, ...]


@shape
class AlterReplicaLogDir:
    path: str
    topics: tuple[AlterReplicaLogDirTopic, ...]


@shape
class AlterReplicaLogDirsRequest:
    dirs: tuple[AlterReplicaLogDir, ...]


@shape
class AlterReplicaLogDirPartitionResult:
    partition_index: int
    error_code: ErrorCode


@shape
class AlterReplicaLogDirTopicResult:
    topic_name: str
    partitions: tuple[AlterReplicaLogDirPartitionResult, ...]


@shape
class AlterReplicaLogDirsResponse:
    throttle_time_ms: int = 0
    results: tuple[AlterReplicaLogDirTopicResult, ...]


MESSAGE = Message("alter_replica_log_dirs", AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse)
