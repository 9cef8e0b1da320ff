"""InitProducerId (key 22): an id for an idempotent producer."""

from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class InitProducerIdRequest:
    transactional_id: str | None
    transaction_timeout_ms: int
    producer_id: int = -1  # from v3 on
    producer_epoch: int = -1  # from v3 on


@dataclass(slots=True, kw_only=True)
class InitProducerIdResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    producer_id: int = -1
    producer_epoch: int


MESSAGE = Message("init_producer_id", InitProducerIdRequest, InitProducerIdResponse)
