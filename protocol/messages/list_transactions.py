"""ListTransactions (key 66): the transactional ids that this broker coordinates."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class ListTransactionsRequest:
    state_filters: tuple[str, ...]
    producer_id_filters: tuple[int, ...]
    # only transactions that run longer, in milliseconds; negative: all
    duration_filter: int = -1  # from v1 on
    transactional_id_pattern: str | None = None  # from v2 on


@shape
class TransactionState:
    transactional_id: str
    producer_id: int
    transaction_state: str


@shape
class ListTransactionsResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    unknown_state_filters: tuple[str, ...] = ()
    transaction_states: tuple[TransactionState, ...]


MESSAGE = Message("list_transactions", ListTransactionsRequest, ListTransactionsResponse)
