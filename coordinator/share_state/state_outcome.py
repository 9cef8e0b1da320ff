"""Result of a request to a share coordinator for one share partition."""

from collections.abc import Callable
from typing import Final, NamedTuple

from kohort.coordinator.share_state.share_state import UNKNOWN_COUNT, ShareState
from kohort.coordinator.share_state.state_batches import NO_BATCHES, UNKNOWN_OFFSET, StateBatches
from kohort.protocol.errors import ErrorCode


class StateOutcome(NamedTuple):
    """NONE or an error with its message, and the state if it was read."""

    error_code: ErrorCode
    error_message: str | None = None
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = 0
    delivery_complete_count: int = UNKNOWN_COUNT
    batches: StateBatches = NO_BATCHES


OnOutcome = Callable[[StateOutcome, int], None]  # callback for the outcome and the time

SUCCESS: Final = StateOutcome(ErrorCode.none)

# summary of a share partition without state
NOT_INITIALIZED: Final = StateOutcome(ErrorCode.none, start_offset=UNKNOWN_OFFSET)

MESSAGES: Final = {
    ErrorCode.unknown_topic_or_partition: "This server does not host this topic-partition.",
    ErrorCode.fenced_leader_epoch: "The leader epoch in the request is older than the epoch on the broker.",
    ErrorCode.fenced_state_epoch: (
        "The share coordinator rejected the request because the share-group state epoch did not match."
    ),
    ErrorCode.not_coordinator: "This is not the correct coordinator.",
    ErrorCode.coordinator_not_available: "The coordinator is not available.",
    ErrorCode.coordinator_load_in_progress: "The coordinator is loading and hence can't process requests.",
    ErrorCode.unknown_server_error: ("The server experienced an unexpected error when processing the request."),
    ErrorCode.cluster_authorization_failed: "Cluster authorization failed.",
}  # Kafka's messages


def refused(error: ErrorCode, message: str | None = None) -> StateOutcome:
    return StateOutcome(error, message or MESSAGES.get(error))


def read_outcome(state: ShareState) -> StateOutcome:
    return summary_of(state)._replace(batches=state.batches[:])


def summary_of(state: ShareState) -> StateOutcome:
    """Return the outcome without batches."""
    return StateOutcome(
        ErrorCode.none,
        None,
        state.state_epoch,
        state.leader_epoch,
        state.start_offset,
        state.delivery_complete_count,
    )
