"""WriteShareGroupState (key 85), versions 0-1: leaders say what has become of records.

v0 (KIP-932) · v1 the number of records whose delivery is complete (KIP-1226).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kohort.broker.apis.share_state_requests import ResponseMaker, ask_each, bare
from kohort.coordinator.share_state.state_batches import StateBatch
from kohort.coordinator.share_state.state_requests import StateWrite, write_state
from kohort.protocol.messages.write_share_group_state import (
    PartitionData,
    PartitionResult,
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
    WriteStateResult,
)

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket
    from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
    from kohort.coordinator.share_state.state_outcome import OnOutcome
    from kohort.protocol.errors import ErrorCode


def handle(node: Node, request: WriteShareGroupStateRequest, ticket: Ticket) -> Task[Any]:
    """Answers for each partition when that is written."""
    coordinator = node.share_coordinator

    def ask(key: SharePartitionKey, asked: PartitionData, then: OnOutcome, now_ms: int) -> None:
        write_state(coordinator, key, _write(asked), then, now_ms)

    return ask_each(node, request, ticket, ask, _MAKER)


def error_response(request: WriteShareGroupStateRequest, error_code: ErrorCode) -> WriteShareGroupStateResponse:
    """The error for every partition."""
    response: WriteShareGroupStateResponse = _MAKER.refuse_each(request, error_code)
    return response


def _write(asked: PartitionData) -> StateWrite:
    batches = (  # made one by one in the coordinator's slices
        StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
        for each in asked.state_batches
    )
    return StateWrite(asked.state_epoch, asked.leader_epoch, asked.start_offset, asked.delivery_complete_count, batches)


_MAKER = ResponseMaker(WriteShareGroupStateResponse, WriteStateResult, partial(bare, PartitionResult))
