"""What comes of a request to a share coordinator, for one share partition."""

from collections.abc import Callable
from typing import Final, NamedTuple

from kohort.coordinator.share_state.share_state import UNKNOWN_COUNT, ShareState
from kohort.coordinator.share_state.state_batches import UNKNOWN_OFFSET, StateBatch
from kohort.protocol.errors import ErrorCode


class StateOutcome(NamedTuple):
    """NONE, or the error and its message; and what was read, where something was."""

    error_code: ErrorCode
    error_message: str | None = None
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = 0
    delivery_complete_count: int = UNKNOWN_COUNT
    batches: tuple[StateBatch, ...] = ()


OnOutcome = Callable[[StateOutcome, int], None]
"""What follows: it gets the outcome and the time."""

DONE: Final = StateOutcome(ErrorCode.none)

NOT_INITIALIZED: Final = StateOutcome(ErrorCode.none, start_offset=UNKNOWN_OFFSET)
"""The summary of a share partition of which nothing is known."""

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
}
"""What Kafka says beside the code."""


def refused(error: ErrorCode, message: str | None = None) -> StateOutcome:
    """An error, with Kafka's words for it unless there are better ones."""
    return StateOutcome(error, message or MESSAGES.get(error))


def read_outcome(state: ShareState) -> StateOutcome:
    """All that is known of a share partition."""
    return StateOutcome(
        ErrorCode.none,
        None,
        state.state_epoch,
        state.leader_epoch,
        state.start_offset,
        state.delivery_complete_count,
        tuple(state.batches),
    )
