"""ShareAcknowledge (key 79): acknowledgements by a member of a share group."""

from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.leaders import LeaderIdAndEpoch, NodeEndpoint
from kohort.protocol.messages.share_acknowledgements import AcknowledgementBatch
from kohort.protocol.shape import shape


@shape
class AcknowledgePartition:
    partition_index: int
    acknowledgement_batches: tuple[AcknowledgementBatch, ...]


@shape
class AcknowledgeTopic:
    topic_id: UUID | None
    partitions: tuple[AcknowledgePartition, ...]


@shape
class ShareAcknowledgeRequest:
    group_id: str | None = None
    member_id: str | None
    share_session_epoch: int
    is_renew_ack: bool = False  # from v2 on
    topics: tuple[AcknowledgeTopic, ...]


@shape
class PartitionData:
    partition_index: int
    error_code: ErrorCode
    error_message: str | None = None
    current_leader: LeaderIdAndEpoch


@shape
class ShareAcknowledgeTopicResponse:
    topic_id: UUID | None
    partitions: tuple[PartitionData, ...]


@shape
class ShareAcknowledgeResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    error_message: str | None = None
    acquisition_lock_timeout_ms: int = 0  # from v2 on
    responses: tuple[ShareAcknowledgeTopicResponse, ...] = ()
    node_endpoints: tuple[NodeEndpoint, ...] = ()


MESSAGE = Message("share_acknowledge", ShareAcknowledgeRequest, ShareAcknowledgeResponse)
