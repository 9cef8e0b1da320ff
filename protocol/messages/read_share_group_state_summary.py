"""ReadShareGroupStateSummary (key 87): epochs and start offsets of share partitions."""

from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class PartitionData:
    partition: int
    leader_epoch: int


@shape
class ReadStateSummaryData:
    topic_id: UUID | None
    partitions: tuple[PartitionData, ...]


@shape
class ReadShareGroupStateSummaryRequest:
    group_id: str
    topics: tuple[ReadStateSummaryData, ...]


@shape
class PartitionResult:
    partition: int
    error_code: ErrorCode
    error_message: str | None = None
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = 0
    delivery_complete_count: int = -1  # from v1 on


@shape
class ReadStateSummaryResult:
    topic_id: UUID | None
    partitions: tuple[PartitionResult, ...]


@shape
class ReadShareGroupStateSummaryResponse:
    results: tuple[ReadStateSummaryResult, ...]


MESSAGE = Message(
    "read_share_group_state_summary", ReadShareGroupStateSummaryRequest, ReadShareGroupStateSummaryResponse
)
