"""ReadShareGroupState (key 84): states of share partitions, for their leaders."""

from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.share_states import StateBatch
from kohort.protocol.shape import shape


@shape
class PartitionData:
    partition: int
    leader_epoch: int


@shape
class ReadStateData:
    topic_id: UUID | None
    partitions: tuple[PartitionData, ...]


@shape
class ReadShareGroupStateRequest:
    group_id: str
    topics: tuple[ReadStateData, ...]


@shape
class PartitionResult:
    partition: int
    error_code: ErrorCode
    error_message: str | None = None
    state_epoch: int = 0
    start_offset: int = 0
    state_batches: tuple[StateBatch, ...] = ()


@shape
class ReadStateResult:
    topic_id: UUID | None
    partitions: tuple[PartitionResult, ...]


@shape
class ReadShareGroupStateResponse:
    results: tuple[ReadStateResult, ...]


MESSAGE = Message("read_share_group_state", ReadShareGroupStateRequest, ReadShareGroupStateResponse)
