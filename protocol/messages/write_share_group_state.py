"""WriteShareGroupState (key 85): states of share partitions from their leaders."""

from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.share_states import StateBatch
from kohort.protocol.shape import shape


@shape
class PartitionData:
    partition: int
    state_epoch: int
    leader_epoch: int
    start_offset: int  # -1: unchanged
    delivery_complete_count: int = -1  # from v1 on
    state_batches: tuple[StateBatch, ...]


@shape
class WriteStateData:
    topic_id: UUID | None
    partitions: tuple[PartitionData, ...]


@shape
class WriteShareGroupStateRequest:
    group_id: str
    topics: tuple[WriteStateData, ...]


@shape
class PartitionResult:
    partition: int
    error_code: ErrorCode
    error_message: str | None = None


@shape
class WriteStateResult:
    topic_id: UUID | None
    partitions: tuple[PartitionResult, ...]


@shape
class WriteShareGroupStateResponse:
    results: tuple[WriteStateResult, ...]


MESSAGE = Message("write_share_group_state", WriteShareGroupStateRequest, WriteShareGroupStateResponse)
