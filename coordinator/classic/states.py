"""The states of a classic group, their transitions, and the error of each request in each state (classic-groups §2.2).

A test checks every pair of state and request. None means that the function named in the comment handles the request.
"""

from enum import Enum
from typing import Final

from kohort.protocol.errors import ErrorCode


class State(Enum):
    """State of a classic group. The value is its name in the protocol."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"

    # Hash by identity: Enum's own method is Python code that hashes the name at each lookup in the tables below.
    __hash__ = object.__hash__


# The states from which a state can be entered (Kafka: `ClassicGroupState.validPreviousStates`).
ALLOWED_FROM: Final[dict[State, frozenset[State]]] = {
    State.EMPTY: frozenset({State.PREPARING_REBALANCE}),
    State.PREPARING_REBALANCE: frozenset({State.EMPTY, State.COMPLETING_REBALANCE, State.STABLE}),
    State.COMPLETING_REBALANCE: frozenset({State.PREPARING_REBALANCE}),
    State.STABLE: frozenset({State.COMPLETING_REBALANCE}),
    State.DEAD: frozenset(State),
}

# Heartbeat of a valid member (classic-groups §6.1).
HEARTBEAT: Final[dict[State, ErrorCode]] = {
    State.EMPTY: ErrorCode.unknown_member_id,
    State.PREPARING_REBALANCE: ErrorCode.rebalance_in_progress,
    State.COMPLETING_REBALANCE: ErrorCode.none,  # members may send heartbeats between their join and their sync
    State.STABLE: ErrorCode.none,
    State.DEAD: ErrorCode.coordinator_not_available,
}

# The errors up to Kafka 2.4 (`kohort.as.kafka`).
HEARTBEAT_NEEDS_SYNC: Final = HEARTBEAT | {State.COMPLETING_REBALANCE: ErrorCode.rebalance_in_progress}

# SyncGroup of a valid member (classic-groups §5.2).
SYNC: Final[dict[State, ErrorCode | None]] = {
    State.EMPTY: ErrorCode.unknown_member_id,
    State.PREPARING_REBALANCE: ErrorCode.rebalance_in_progress,
    State.COMPLETING_REBALANCE: None,  # syncing._await_assignment
    State.STABLE: None,  # syncing.sync_group
    State.DEAD: ErrorCode.coordinator_not_available,
}

# JoinGroup of a member of the group (classic-groups §3.5).
REJOIN: Final[dict[State, ErrorCode | None]] = {
    State.EMPTY: ErrorCode.unknown_member_id,
    State.PREPARING_REBALANCE: None,  # joining._rejoin
    State.COMPLETING_REBALANCE: None,
    State.STABLE: None,
    State.DEAD: ErrorCode.coordinator_not_available,
}

# OffsetCommit of a valid member in the current generation (classic-groups §7.2).
COMMIT: Final[dict[State, ErrorCode]] = {
    State.EMPTY: ErrorCode.unknown_member_id,  # without a generation: NONE (classic-groups §7.2)
    State.PREPARING_REBALANCE: ErrorCode.none,
    State.COMPLETING_REBALANCE: ErrorCode.rebalance_in_progress,
    State.STABLE: ErrorCode.none,
    State.DEAD: ErrorCode.coordinator_not_available,
}

# DeleteGroups (classic-groups §8.3).
DELETE: Final[dict[State, ErrorCode]] = {
    State.EMPTY: ErrorCode.none,
    State.PREPARING_REBALANCE: ErrorCode.non_empty_group,
    State.COMPLETING_REBALANCE: ErrorCode.non_empty_group,
    State.STABLE: ErrorCode.non_empty_group,
    State.DEAD: ErrorCode.group_id_not_found,
}

REBALANCES: Final = ALLOWED_FROM[State.PREPARING_REBALANCE]  # states from which a rebalance can start
