"""ReadShareGroupStateSummary (key 87), versions 0-1: start offsets of share partitions.

v0 (KIP-932) · v1 the number of records whose delivery is complete (KIP-1226).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kohort.broker.apis.share_state_requests import ResponseMaker, ask_each
from kohort.coordinator.share_state.state_requests import summarize_state
from kohort.protocol.messages.read_share_group_state_summary import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket
    from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
    from kohort.coordinator.share_state.state_outcome import OnOutcome, StateOutcome
    from kohort.protocol.errors import ErrorCode


def handle(node: Node, request: ReadShareGroupStateSummaryRequest, ticket: Ticket) -> Task[Any]:
    coordinator = node.share_coordinator

    def ask(key: SharePartitionKey, _data: PartitionData, on_outcome: OnOutcome, now_ms: int) -> None:
        on_outcome(summarize_state(coordinator, key), now_ms)

    return ask_each(node, request, ticket, ask, _MAKER)


def error_response(
    request: ReadShareGroupStateSummaryRequest, error_code: ErrorCode
) -> ReadShareGroupStateSummaryResponse:
    response: ReadShareGroupStateSummaryResponse = _MAKER.refuse_each(request, error_code)
    return response


def _result(index: int, outcome: StateOutcome) -> PartitionResult:
    return PartitionResult(
        partition=index,
        error_code=outcome.error_code,
        error_message=outcome.error_message,
        state_epoch=outcome.state_epoch,
        leader_epoch=outcome.leader_epoch,
        start_offset=outcome.start_offset,
        delivery_complete_count=outcome.delivery_complete_count,
    )


_MAKER = ResponseMaker(ReadShareGroupStateSummaryResponse, ReadStateSummaryResult, _result)
