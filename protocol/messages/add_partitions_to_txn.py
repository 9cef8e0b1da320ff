"""AddPartitionsToTxn (key 24): adds partitions that a transaction is going to write to."""

from kohort.protocol.codec import Message, Older
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class AddPartitionsToTxnTopic:
    name: str
    partitions: tuple[int, ...]


@shape
class AddPartitionsToTxnTransaction:
    transactional_id: str
    producer_id: int
    producer_epoch: int
    verify_only: bool = False
    topics: tuple[AddPartitionsToTxnTopic, ...]


@shape
class AddPartitionsToTxnRequest:
    transactions: tuple[AddPartitionsToTxnTransaction, ...]  # one, up to v3


@shape
class AddPartitionsToTxnPartitionResult:
    partition_index: int
    partition_error_code: ErrorCode


@shape
class AddPartitionsToTxnTopicResult:
    name: str
    results_by_partition: tuple[AddPartitionsToTxnPartitionResult, ...]


@shape
class AddPartitionsToTxnResult:
    transactional_id: str
    topic_results: tuple[AddPartitionsToTxnTopicResult, ...]


@shape
class AddPartitionsToTxnResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.none  # from v4 on
    results_by_transaction: tuple[AddPartitionsToTxnResult, ...]  # up to v3 the first one counts, its id is not sent


@shape
class _RequestForOne:
    v3_and_below_transactional_id: str
    v3_and_below_producer_id: int
    v3_and_below_producer_epoch: int
    v3_and_below_topics: tuple[AddPartitionsToTxnTopic, ...]


@shape
class _ResponseForOne:
    throttle_time_ms: int = 0
    results_by_topic_v3_and_below: tuple[AddPartitionsToTxnTopicResult, ...]


def _request_to_newest(old: _RequestForOne) -> AddPartitionsToTxnRequest:
    transaction = AddPartitionsToTxnTransaction(
        transactional_id=old.v3_and_below_transactional_id,
        producer_id=old.v3_and_below_producer_id,
        producer_epoch=old.v3_and_below_producer_epoch,
        topics=old.v3_and_below_topics,
    )
    return AddPartitionsToTxnRequest(transactions=(transaction,))


def _request_from_newest(new: AddPartitionsToTxnRequest) -> _RequestForOne:
    transaction = new.transactions[0]
    return _RequestForOne(
        v3_and_below_transactional_id=transaction.transactional_id,
        v3_and_below_producer_id=transaction.producer_id,
        v3_and_below_producer_epoch=transaction.producer_epoch,
        v3_and_below_topics=transaction.topics,
    )


def _response_to_newest(old: _ResponseForOne) -> AddPartitionsToTxnResponse:
    result = AddPartitionsToTxnResult(transactional_id="", topic_results=old.results_by_topic_v3_and_below)
    return AddPartitionsToTxnResponse(throttle_time_ms=old.throttle_time_ms, results_by_transaction=(result,))


def _response_from_newest(new: AddPartitionsToTxnResponse) -> _ResponseForOne:
    results = new.results_by_transaction[0].topic_results
    return _ResponseForOne(throttle_time_ms=new.throttle_time_ms, results_by_topic_v3_and_below=results)


MESSAGE = Message(
    "add_partitions_to_txn",
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    older_request=Older(3, _RequestForOne, _request_to_newest, _request_from_newest),
    older_response=Older(3, _ResponseForOne, _response_to_newest, _response_from_newest),
)
