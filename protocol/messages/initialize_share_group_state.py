"""InitializeShareGroupState (key 83): initializes the states of share partitions."""

from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class PartitionData:
    partition: int
    state_epoch: int
    start_offset: int  # -1: the leader decides


@shape
class InitializeStateData:
    topic_id: UUID | None
    partitions: tuple[PartitionData, ...]


@shape
class InitializeShareGroupStateRequest:
    group_id: str
    topics: tuple[InitializeStateData, ...]


@shape
class PartitionResult:
    partition: int
    error_code: ErrorCode
    error_message: str | None = None


@shape
class InitializeStateResult:
    topic_id: UUID | None
    partitions: tuple[PartitionResult, ...]


@shape
class InitializeShareGroupStateResponse:
    results: tuple[InitializeStateResult, ...]


MESSAGE = Message("initialize_share_group_state", InitializeShareGroupStateRequest, InitializeShareGroupStateResponse)
