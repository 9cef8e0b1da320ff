"""The states of a classic group, where each may go, and what each answers, as data (classic-groups §2.2).

A test walks every pair of state and request. `None` means: there is real work, done by the function named in the
table's comment.
"""

from enum import Enum
from typing import Final

from kohort.protocol.errors import ErrorCode

CLASSIC: Final = "classic"
"""The type of these groups, and of their protocol."""


class State(Enum):
    """A group's state; the value is its name on the wire."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"

    # By identity: Enum's own hashes the name in Python, at each look into the tables below.
    __hash__ = object.__hash__


ALLOWED_FROM: Final[dict[State, frozenset[State]]] = {
    State.EMPTY: frozenset({State.PREPARING_REBALANCE}),
    State.PREPARING_REBALANCE: frozenset({State.EMPTY, State.COMPLETING_REBALANCE, State.STABLE}),
    State.COMPLETING_REBALANCE: frozenset({State.PREPARING_REBALANCE}),
    State.STABLE: frozenset({State.COMPLETING_REBALANCE}),
    State.DEAD: frozenset(State),
}
"""Which states a state is entered from (Kafka: `ClassicGroupState.validPreviousStates`)."""

HEARTBEAT: Final[dict[State, ErrorCode]] = {
    State.EMPTY: ErrorCode.unknown_member_id,
    State.PREPARING_REBALANCE: ErrorCode.rebalance_in_progress,
    State.COMPLETING_REBALANCE: ErrorCode.none,  # members may beat between their join and their sync
    State.STABLE: ErrorCode.none,
    State.DEAD: ErrorCode.coordinator_not_available,
}
"""A valid member's heartbeat (classic-groups §6.1)."""

HEARTBEAT_NEEDS_SYNC: Final = HEARTBEAT | {State.COMPLETING_REBALANCE: ErrorCode.rebalance_in_progress}
"""As brokers answered up to Kafka 2.4 (`kohort.as.kafka`)."""

SYNC: Final[dict[State, ErrorCode | None]] = {
    State.EMPTY: ErrorCode.unknown_member_id,
    State.PREPARING_REBALANCE: ErrorCode.rebalance_in_progress,
    State.COMPLETING_REBALANCE: None,  # syncing._await_assignment
    State.STABLE: None,  # syncing.sync_group
    State.DEAD: ErrorCode.coordinator_not_available,
}
"""A valid member's SyncGroup (classic-groups §5.2)."""

REJOIN: Final[dict[State, ErrorCode | None]] = {
    State.EMPTY: ErrorCode.unknown_member_id,
    State.PREPARING_REBALANCE: None,  # joining._rejoin
    State.COMPLETING_REBALANCE: None,
    State.STABLE: None,
    State.DEAD: ErrorCode.coordinator_not_available,
}
"""A known member's JoinGroup (classic-groups §3.5)."""

COMMIT: Final[dict[State, ErrorCode]] = {
    State.EMPTY: ErrorCode.unknown_member_id,  # with a generation; without one anybody may (classic-groups §7.2)
    State.PREPARING_REBALANCE: ErrorCode.none,
    State.COMPLETING_REBALANCE: ErrorCode.rebalance_in_progress,
    State.STABLE: ErrorCode.none,
    State.DEAD: ErrorCode.coordinator_not_available,
}
"""A valid member's OffsetCommit in the current generation (classic-groups §7.2)."""

DELETE: Final[dict[State, ErrorCode]] = {
    State.EMPTY: ErrorCode.none,
    State.PREPARING_REBALANCE: ErrorCode.non_empty_group,
    State.COMPLETING_REBALANCE: ErrorCode.non_empty_group,
    State.STABLE: ErrorCode.non_empty_group,
    State.DEAD: ErrorCode.group_id_not_found,
}
"""DeleteGroups (classic-groups §8.3)."""

REBALANCES: Final = ALLOWED_FROM[State.PREPARING_REBALANCE]
"""The states from which a rebalance can start."""
