"""InitializeShareGroupState (key 83), version 0 (KIP-932): group coordinators initialize states of share partitions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kohort.broker.apis.share_state_requests import ResponseMaker, ask_each, bare
from kohort.coordinator.share_state.state_requests import initialize_state
from kohort.protocol.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    PartitionData,
    PartitionResult,
)

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket
    from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
    from kohort.coordinator.share_state.state_outcome import OnOutcome
    from kohort.protocol.errors import ErrorCode


def handle(node: Node, request: InitializeShareGroupStateRequest, ticket: Ticket) -> Task[Any]:
    """Initialize states. The response is sent when these are written."""
    coordinator = node.share_coordinator

    def ask(key: SharePartitionKey, initial: PartitionData, on_outcome: OnOutcome, now_ms: int) -> None:
        initialize_state(coordinator, key, initial.state_epoch, initial.start_offset, on_outcome, now_ms)

    return ask_each(node, request, ticket, ask, _MAKER)


def error_response(
    request: InitializeShareGroupStateRequest, error_code: ErrorCode
) -> InitializeShareGroupStateResponse:
    response: InitializeShareGroupStateResponse = _MAKER.refuse_each(request, error_code)
    return response


_MAKER = ResponseMaker(InitializeShareGroupStateResponse, InitializeStateResult, partial(bare, PartitionResult))
