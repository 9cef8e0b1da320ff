"""InitProducerId (key 22): id and epoch for an idempotent or transactional producer."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class InitProducerIdRequest:
    transactional_id: str | None
    transaction_timeout_ms: int
    producer_id: int = -1  # from v3 on
    producer_epoch: int = -1  # from v3 on


@shape
class InitProducerIdResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    producer_id: int = -1
    producer_epoch: int


MESSAGE = Message("init_producer_id", InitProducerIdRequest, InitProducerIdResponse)
