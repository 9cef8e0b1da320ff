"""EndTxn (key 26): commits or aborts a transaction."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class EndTxnRequest:
    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool


@shape
class EndTxnResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    producer_id: int = -1  # from v5 on
    # epoch for the producer's next requests
    producer_epoch: int = -1  # from v5 on


MESSAGE = Message("end_txn", EndTxnRequest, EndTxnResponse)
