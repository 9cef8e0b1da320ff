"""AddOffsetsToTxn (key 25): adds a group whose offsets a transaction is going to commit."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class AddOffsetsToTxnRequest:
    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str


@shape
class AddOffsetsToTxnResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode


MESSAGE = Message("add_offsets_to_txn", AddOffsetsToTxnRequest, AddOffsetsToTxnResponse)
