"""DeleteShareGroupOffsets (key 92): deletes the states of a share group for topics (KIP-932)."""

from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class DeleteShareGroupOffsetsRequestTopic:
    topic_name: str


@shape
class DeleteShareGroupOffsetsRequest:
    group_id: str
    topics: tuple[DeleteShareGroupOffsetsRequestTopic, ...] = ()


@shape
class DeleteShareGroupOffsetsResponseTopic:
    topic_name: str
    topic_id: UUID | None = None
    error_code: ErrorCode = ErrorCode.none
    error_message: str | None = None


@shape
class DeleteShareGroupOffsetsResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    error_message: str | None = None
    responses: tuple[DeleteShareGroupOffsetsResponseTopic, ...] = ()


MESSAGE = Message("delete_share_group_offsets", DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsResponse)
