"""AddPartitionsToTxn (key 24), versions 0 to 5.

v0 (KIP-98) and v1 alike · v2 PRODUCER_FENCED is possible (KIP-588) · v3 tagged fields · v4 several transactions, and
checks whether partitions were added: for brokers (KIP-890) · v5 TRANSACTION_ABORTABLE is possible.

If one partition does not exist, none is added, and the others return OPERATION_NOT_ATTEMPTED.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from kohort.base.logs import log
from kohort.broker.scheduling.cooperative import Task, one_by_one
from kohort.coordinator.at_once import at_once
from kohort.coordinator.transactions.adding import add_partitions, verify_partitions
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from kohort.protocol.topic_partition import TopicPartition
from kohort.security.rights import CLUSTER_ACTION, WRITE_TOPIC, WRITE_TRANSACTIONAL_ID

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket

FENCED_SINCE = 2
FOR_BROKERS_FROM = 4  # from this version on only brokers may send the request

Outcome = Mapping[TopicPartition, ErrorCode]


def handle(node: Node, request: AddPartitionsToTxnRequest, ticket: Ticket) -> Task[AddPartitionsToTxnResponse | None]:
    """Add partitions to transactions. The response is sent when all are written, and never for an empty request.

    If a transactional id occurs twice, the partitions of its last entry are added, and an error for the whole
    transaction lists those of its first entry (`AddPartitionsToTxnRequest.partitionsByTransaction`,
    `errorResponseForTransaction`).
    """
    access = node.cluster.access
    if (
        access is not None
        and ticket.version >= FOR_BROKERS_FROM
        and not access.allows_on_cluster(ticket, CLUSTER_ACTION)
    ):
        error = ErrorCode.cluster_authorization_failed
        return AddPartitionsToTxnResponse(error_code=error, results_by_transaction=())
    results: list[Result] = []
    first = {entry.transactional_id: entry for entry in reversed(request.transactions)}
    named = {entry.transactional_id: _Named(node, entry, ticket) for entry in request.transactions}
    waits = False

    def on_result(result: Result) -> None:
        results.append(result)
        if waits and len(results) == len(request.transactions):
            ticket.work_on(_response(results))

    for transaction in request.transactions:
        transactional_id = transaction.transactional_id
        if (
            access is not None
            and ticket.version < FOR_BROKERS_FROM
            and not access.allows(ticket, WRITE_TRANSACTIONAL_ID, transactional_id)
        ):
            error = ErrorCode.transactional_id_authorization_failed
            on_result(_result_for_all(first[transactional_id], error))
            continue
        yield from named[transactional_id].look()
        _add(node, transaction, named[transactional_id], first[transactional_id], ticket, on_result)
        yield
    if not request.transactions:
        log.warning("AddPartitionsToTxn without any transaction: Kafka never answers it")
    elif len(results) == len(request.transactions):
        return (yield from _response(results))
    waits = True
    return None


Result = Task[AddPartitionsToTxnResult]  # the result for one transaction, built in slices


def _response(results: list[Result]) -> Task[AddPartitionsToTxnResponse]:
    transactions = []
    for result in results:
        transactions.append((yield from result))
    return AddPartitionsToTxnResponse(results_by_transaction=tuple(transactions))


class _Named:
    """Partitions of a transactional id. They are checked once, even if the id occurs several times."""

    def __init__(self, node: Node, last: AddPartitionsToTxnTransaction, ticket: Ticket) -> None:
        self._node = node
        self._last = last
        self._looked = False
        self._access = None if ticket.version >= FOR_BROKERS_FROM else node.cluster.access
        self._ticket = ticket
        self.all: list[TopicPartition] = []
        self.distinct: frozenset[TopicPartition] = frozenset()
        # partitions that do not exist or that the client may not write to
        self.refused: dict[TopicPartition, ErrorCode] = {}

    def look(self) -> Task[None]:
        if self._looked:
            return
        self._looked = True
        access = self._access
        for topic in self._last.topics:
            allowed = access is None or access.allows(self._ticket, WRITE_TOPIC, topic.name)
            for index in topic.partitions:
                self.all.append((topic.name, index))
                if not allowed:
                    self.refused[topic.name, index] = ErrorCode.topic_authorization_failed
                elif not _exists(self._node, topic.name, index):
                    self.refused[topic.name, index] = ErrorCode.unknown_topic_or_partition
                yield
        self.distinct = frozenset(self.all)


def _add(
    node: Node,
    transaction: AddPartitionsToTxnTransaction,
    named: _Named,
    listed: AddPartitionsToTxnTransaction,
    ticket: Ticket,
    on_result: Callable[[Result], None],
) -> None:
    if named.refused:
        outcome = {key: named.refused.get(key, ErrorCode.operation_not_attempted) for key in named.all}
        on_result(_result(transaction.transactional_id, outcome))
        return
    producer = transaction.transactional_id, transaction.producer_id, transaction.producer_epoch
    if transaction.verify_only:
        on_result(
            _result(transaction.transactional_id, verify_partitions(node.transactions, *producer, named.distinct))
        )
        return

    def added(error: ErrorCode, _: int) -> None:
        if error is ErrorCode.producer_fenced and ticket.version < FENCED_SINCE:
            error = ErrorCode.invalid_producer_epoch
        on_result(_result_for_all(listed, error))

    add_partitions(node.transactions, *producer, named.distinct, added, ticket.received_at_ms)


def _exists(node: Node, name: str, index: int) -> bool:
    topic = node.cluster.topics.by_name(name)
    return topic is not None and topic.partition(index) is not None


def _result(transactional_id: str, outcome: Outcome) -> Result:
    topics: dict[str, list[AddPartitionsToTxnPartitionResult]] = {}
    for (name, index), error in outcome.items():
        answer = AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=error)
        topics.setdefault(name, []).append(answer)
        yield
    return AddPartitionsToTxnResult(
        transactional_id=transactional_id,
        topic_results=tuple(
            AddPartitionsToTxnTopicResult(name=name, results_by_partition=tuple(answers))
            for name, answers in topics.items()
        ),
    )


def _result_for_all(transaction: AddPartitionsToTxnTransaction, error: ErrorCode) -> Result:
    """Build a result with the same error for all partitions as requested, duplicates included."""
    topics = []
    for topic in transaction.topics:
        answers = yield from one_by_one(partial(_answer, error), topic.partitions)
        topics.append(AddPartitionsToTxnTopicResult(name=topic.name, results_by_partition=answers))
    return AddPartitionsToTxnResult(transactional_id=transaction.transactional_id, topic_results=tuple(topics))


def _answer(error: ErrorCode, index: int) -> AddPartitionsToTxnPartitionResult:
    return AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=error)


def error_response(request: AddPartitionsToTxnRequest, error_code: ErrorCode) -> AddPartitionsToTxnResponse:
    return AddPartitionsToTxnResponse(
        error_code=error_code,
        results_by_transaction=tuple(at_once(_result_for_all(entry, error_code)) for entry in request.transactions),
    )
