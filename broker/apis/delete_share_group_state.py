"""DeleteShareGroupState (key 86), version 0 (KIP-932): group coordinators delete the states of share partitions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kohort.broker.apis.share_state_requests import ResponseMaker, ask_each, bare
from kohort.coordinator.share_state.state_requests import delete_state
from kohort.protocol.messages.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse,
    DeleteStateResult,
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


def handle(node: Node, request: DeleteShareGroupStateRequest, ticket: Ticket) -> Task[Any]:
    """Delete states. The response is sent when the deletions are written."""
    coordinator = node.share_coordinator

    def ask(key: SharePartitionKey, _data: PartitionData, on_outcome: OnOutcome, now_ms: int) -> None:
        delete_state(coordinator, key, on_outcome, now_ms)

    return ask_each(node, request, ticket, ask, _MAKER)


def error_response(request: DeleteShareGroupStateRequest, error_code: ErrorCode) -> DeleteShareGroupStateResponse:
    response: DeleteShareGroupStateResponse = _MAKER.refuse_each(request, error_code)
    return response


_MAKER = ResponseMaker(DeleteShareGroupStateResponse, DeleteStateResult, partial(bare, PartitionResult))
