"""DescribeTransactions (key 65): the current transactions of transactional ids."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class DescribeTransactionsRequest:
    transactional_ids: tuple[str, ...]


@shape
class TopicData:
    topic: str
    partitions: tuple[int, ...]


@shape
class TransactionState:
    error_code: ErrorCode
    transactional_id: str
    transaction_state: str
    transaction_timeout_ms: int
    transaction_start_time_ms: int  # wall clock; -1: no transaction
    producer_id: int
    producer_epoch: int
    topics: tuple[TopicData, ...]


@shape
class DescribeTransactionsResponse:
    throttle_time_ms: int = 0
    transaction_states: tuple[TransactionState, ...]


MESSAGE = Message("describe_transactions", DescribeTransactionsRequest, DescribeTransactionsResponse)
