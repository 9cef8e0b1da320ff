"""ListTransactions (key 66), versions 0 to 2.

v0 (KIP-664) · v1 a minimum duration (KIP-994) · v2 a pattern for ids (KIP-1152).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kohort.coordinator.context import Shard
from kohort.coordinator.transactions.transaction import State
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)
from kohort.security.rights import DESCRIBE_TRANSACTIONAL_ID

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket

_NAMES = {state.value for state in State}


def handle(node: Node, request: ListTransactionsRequest, ticket: Ticket) -> ListTransactionsResponse:
    coordinator = node.transactions
    if any(shard is Shard.LOADING for shard, _ in coordinator.shards.values()):
        return ListTransactionsResponse(error_code=ErrorCode.coordinator_load_in_progress, transaction_states=())
    pattern = None
    if request.transactional_id_pattern:
        try:
            pattern = re.compile(request.transactional_id_pattern)
        except re.error:
            return ListTransactionsResponse(error_code=ErrorCode.invalid_regular_expression, transaction_states=())
    access = node.cluster.access
    wall_ms = coordinator.wall_ms(ticket.received_at_ms)
    states, producers, longer_ms = set(request.state_filters), set(request.producer_id_filters), request.duration_filter
    return ListTransactionsResponse(
        error_code=ErrorCode.none,
        unknown_state_filters=tuple(dict.fromkeys(entry for entry in request.state_filters if entry not in _NAMES)),
        transaction_states=tuple(
            TransactionState(
                transactional_id=entry.transactional_id,
                producer_id=entry.producer_id,
                transaction_state=entry.state.value,
            )
            for entry in coordinator.transactions.values()
            if (not states or entry.state.value in states)
            and (not producers or entry.producer_id in producers)
            and (longer_ms < 0 or wall_ms - entry.started_ms > longer_ms)
            and (pattern is None or pattern.fullmatch(entry.transactional_id))
            and entry.pending is not State.DEAD
            and (access is None or access.shows(ticket, DESCRIBE_TRANSACTIONAL_ID, entry.transactional_id))
        ),
    )
