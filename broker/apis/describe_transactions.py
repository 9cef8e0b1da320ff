"""DescribeTransactions (key 65), version 0 (KIP-664): states of transactional ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.scheduling.cooperative import Task, one_by_one
from kohort.coordinator.transactions.transaction import State, Transaction
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from kohort.security.rights import DESCRIBE_TOPIC, DESCRIBE_TRANSACTIONAL_ID

if TYPE_CHECKING:
    from kohort.broker.cluster.access import Access
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket


def handle(node: Node, request: DescribeTransactionsRequest, ticket: Ticket) -> Task[DescribeTransactionsResponse]:
    states = yield from one_by_one(lambda name: _describe(node, name, ticket), request.transactional_ids)
    return DescribeTransactionsResponse(transaction_states=states)


def _describe(node: Node, transactional_id: str, ticket: Ticket) -> TransactionState:
    access = node.cluster.access
    if access is not None and not access.allows(ticket, DESCRIBE_TRANSACTIONAL_ID, transactional_id):
        return _refused(transactional_id, ErrorCode.transactional_id_authorization_failed)
    if not transactional_id:
        return _refused(transactional_id, ErrorCode.invalid_request)
    transaction = node.transactions.find(transactional_id)
    if isinstance(transaction, ErrorCode):
        return _refused(transactional_id, transaction)
    if transaction is None or transaction.pending is State.DEAD:
        return _refused(transactional_id, ErrorCode.transactional_id_not_found)
    return TransactionState(
        error_code=ErrorCode.none,
        transactional_id=transactional_id,
        transaction_state=transaction.state.value,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.started_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=_topics(transaction, access, ticket),
    )


def _topics(transaction: Transaction, access: Access | None, ticket: Ticket) -> tuple[TopicData, ...]:
    """Return the partitions by topic, without topics that the client may not see."""
    by_topic: dict[str, list[int]] = {}
    for topic, index in sorted(transaction.partitions):
        by_topic.setdefault(topic, []).append(index)
    return tuple(
        TopicData(topic=topic, partitions=tuple(indexes))
        for topic, indexes in by_topic.items()
        if access is None or access.shows(ticket, DESCRIBE_TOPIC, topic)
    )


def _refused(transactional_id: str, error: ErrorCode) -> TransactionState:
    return TransactionState(
        error_code=error,
        transactional_id=transactional_id,
        transaction_state="",
        transaction_timeout_ms=0,
        transaction_start_time_ms=0,
        producer_id=0,
        producer_epoch=0,
        topics=(),
    )
