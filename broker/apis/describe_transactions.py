"""DescribeTransactions (key 65), version 0 (KIP-664): where transactional ids are with their transactions."""

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
    """One answer for each id; TRANSACTIONAL_ID_NOT_FOUND for one that is not known here."""
    states = yield from one_by_one(lambda each: _describe(node, each, ticket), request.transactional_ids)
    return DescribeTransactionsResponse(transaction_states=states)


def _describe(node: Node, transactional_id: str, ticket: Ticket) -> TransactionState:
    access = node.cluster.access
    if access is not None and not access.allows(ticket, DESCRIBE_TRANSACTIONAL_ID, transactional_id):
        return _refused(transactional_id, ErrorCode.transactional_id_authorization_failed)
    if not transactional_id:
        return _refused(transactional_id, ErrorCode.invalid_request)
    found = node.transactions.find(transactional_id)
    if isinstance(found, ErrorCode):
        return _refused(transactional_id, found)
    if found is None or found.pending is State.DEAD:
        return _refused(transactional_id, ErrorCode.transactional_id_not_found)
    return TransactionState(
        error_code=ErrorCode.none,
        transactional_id=transactional_id,
        transaction_state=found.state.value,
        transaction_timeout_ms=found.timeout_ms,
        transaction_start_time_ms=found.started_ms,
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        topics=_topics(found, access, ticket),
    )


def _topics(transaction: Transaction, access: Access | None, ticket: Ticket) -> tuple[TopicData, ...]:
    """Without those that one may not see."""
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
