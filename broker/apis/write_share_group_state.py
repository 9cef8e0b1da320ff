"""WriteShareGroupState (key 85), versions 0-1: leaders write the states of share partitions.

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
    """Write states. The response is sent when these are written."""
    coordinator = node.share_coordinator

    def ask(key: SharePartitionKey, data: PartitionData, on_outcome: OnOutcome, now_ms: int) -> None:
        write_state(coordinator, key, _write(data), on_outcome, now_ms)

    return ask_each(node, request, ticket, ask, _MAKER)


def error_response(request: WriteShareGroupStateRequest, error_code: ErrorCode) -> WriteShareGroupStateResponse:
    response: WriteShareGroupStateResponse = _MAKER.refuse_each(request, error_code)
    return response


def _write(data: PartitionData) -> StateWrite:
    batches = (  # created one by one in the coordinator's slices
        StateBatch(batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count)
        for batch in data.state_batches
    )
    return StateWrite(data.state_epoch, data.leader_epoch, data.start_offset, data.delivery_complete_count, batches)


_MAKER = ResponseMaker(WriteShareGroupStateResponse, WriteStateResult, partial(bare, PartitionResult))
