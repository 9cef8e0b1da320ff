"""ReadShareGroupState (key 84), version 0 (KIP-932): leaders read the states of share partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from kohort.broker.apis.share_state_requests import ResponseMaker, ask_each
from kohort.coordinator.share_state.state_requests import read_state
from kohort.protocol.messages.read_share_group_state import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateResult,
)

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket
    from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
    from kohort.coordinator.share_state.state_outcome import OnOutcome, StateOutcome
    from kohort.protocol.errors import ErrorCode
    from kohort.protocol.messages.share_states import StateBatch


def handle(node: Node, request: ReadShareGroupStateRequest, ticket: Ticket) -> Task[Any]:
    """Read states. The response is sent when the new leader epochs are written."""
    coordinator = node.share_coordinator

    def ask(key: SharePartitionKey, requested: PartitionData, on_outcome: OnOutcome, now_ms: int) -> None:
        read_state(coordinator, key, requested.leader_epoch, on_outcome, now_ms)

    return ask_each(node, request, ticket, ask, _MAKER)


def error_response(request: ReadShareGroupStateRequest, error_code: ErrorCode) -> ReadShareGroupStateResponse:
    response: ReadShareGroupStateResponse = _MAKER.refuse_each(request, error_code)
    return response


def _result(index: int, outcome: StateOutcome) -> PartitionResult:
    return PartitionResult(
        partition=index,
        error_code=outcome.error_code,
        error_message=outcome.error_message,
        state_epoch=outcome.state_epoch,
        start_offset=outcome.start_offset,
        # Not converted, because there can be many, and they have the fields of the message's type.
        state_batches=cast("tuple[StateBatch, ...]", outcome.batches),
    )


_MAKER = ResponseMaker(ReadShareGroupStateResponse, ReadStateResult, _result)
