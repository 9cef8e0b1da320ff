"""AddPartitionsToTxn (key 24), versions 0 to 5.

v0 (KIP-98) and v1 alike · v2 PRODUCER_FENCED may be answered (KIP-588) · v3 tagged fields · v4 several transactions at
a time, and asking whether partitions were added: for brokers (KIP-890) · v5 TRANSACTION_ABORTABLE may be answered.

One partition that does not exist, and nothing is added: the others hear OPERATION_NOT_ATTEMPTED.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket

FENCED_SINCE = 2

Outcome = Mapping[tuple[str, int], ErrorCode]


def handle(node: Node, request: AddPartitionsToTxnRequest, ticket: Ticket) -> AddPartitionsToTxnResponse | None:
    """None: answered when all transactions are written."""
    outcomes: dict[int, AddPartitionsToTxnResult] = {}

    def done(number: int, outcome: Outcome) -> None:
        outcomes[number] = _result(request.transactions[number], outcome)
        if len(outcomes) == len(request.transactions):
            results = tuple(outcomes[each] for each in range(len(outcomes)))
            ticket.reply(AddPartitionsToTxnResponse(results_by_transaction=results))

    for number, transaction in enumerate(request.transactions):
        _add(node, transaction, ticket, partial(done, number))
    return None if request.transactions else AddPartitionsToTxnResponse(results_by_transaction=())


def _add(node: Node, transaction: AddPartitionsToTxnTransaction, ticket: Ticket, done: partial[None]) -> None:
    named = [(topic.name, index) for topic in transaction.topics for index in topic.partitions]
    missing = {each for each in named if not _exists(node, *each)}
    if missing:
        not_attempted, unknown = ErrorCode.operation_not_attempted, ErrorCode.unknown_topic_or_partition
        done({each: unknown if each in missing else not_attempted for each in named})
        return
    who = transaction.transactional_id, transaction.producer_id, transaction.producer_epoch
    if transaction.verify_only:
        done(verify_partitions(node.transactions, *who, frozenset(named)))
        return

    def added(error: ErrorCode) -> None:
        if error is ErrorCode.producer_fenced and ticket.version < FENCED_SINCE:
            error = ErrorCode.invalid_producer_epoch
        done(dict.fromkeys(named, error))

    add_partitions(node.transactions, *who, frozenset(named), added, ticket.received_at_ms)


def _exists(node: Node, name: str, index: int) -> bool:
    topic = node.cluster.topics.by_name(name)
    return topic is not None and topic.partition(index) is not None


def _result(transaction: AddPartitionsToTxnTransaction, outcome: Outcome) -> AddPartitionsToTxnResult:
    return AddPartitionsToTxnResult(
        transactional_id=transaction.transactional_id,
        topic_results=tuple(
            AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=tuple(
                    AddPartitionsToTxnPartitionResult(
                        partition_index=index, partition_error_code=outcome[topic.name, index]
                    )
                    for index in topic.partitions
                ),
            )
            for topic in transaction.topics
        ),
    )


def error_response(request: AddPartitionsToTxnRequest, error_code: ErrorCode) -> AddPartitionsToTxnResponse:
    """What a request hears that failed here."""
    return AddPartitionsToTxnResponse(
        error_code=error_code,
        results_by_transaction=tuple(
            _result(each, {(topic.name, index): error_code for topic in each.topics for index in topic.partitions})
            for each in request.transactions
        ),
    )
