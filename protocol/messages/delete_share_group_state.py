"""DeleteShareGroupState (key 86): deletes the states of share partitions."""

from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class PartitionData:
    partition: int


@shape
class DeleteStateData:
    topic_id: UUID | None
    partitions: tuple[PartitionData, ...]


@shape
class DeleteShareGroupStateRequest:
    group_id: str
    topics: tuple[DeleteStateData, ...]


@shape
class PartitionResult:
    partition: int
    error_code: ErrorCode
    error_message: str | None = None


@shape
class DeleteStateResult:
    topic_id: UUID | None
    partitions: tuple[PartitionResult, ...]


@shape
class DeleteShareGroupStateResponse:
    results: tuple[DeleteStateResult, ...]


MESSAGE = Message("delete_share_group_state", DeleteShareGroupStateRequest, DeleteShareGroupStateResponse)
