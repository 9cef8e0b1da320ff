"""Upkeep of `__share_group_state`: snapshots of share partitions without writes, and truncation of the log.

Source: Kafka's `ShareCoordinatorShard.snapshotColdPartitions`, `ShareCoordinatorOffsetsManager`.
"""

from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Final
from uuid import UUID

from kohort.coordinator.share_state.share_coordinator import ShareCoordinator
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.coordinator.share_state.share_state import ShareState
from kohort.coordinator.share_state.state_outcome import StateOutcome
from kohort.coordinator.share_state.state_requests import write_snapshot
from kohort.protocol.errors import ErrorCode

VISITED_AT_ONCE: Final = 256  # share partitions that are visited between two yields


def redundant_before(coordinator: ShareCoordinator, partition: int, end_offset: int) -> int | None:
    """Return the offset below which the partition's log is redundant, or None if it is unknown at the moment.

    Args:
        end_offset: End offset of the log. The offset of a pending write is not known yet.
    """
    shard = coordinator.shards.get(partition)
    if shard is None or coordinator.writes_to(partition):
        return None
    return min((state.snapshot_offset for state in shard.states.values()), default=end_offset)


def snapshot_cold(coordinator: ShareCoordinator, cold_after_ms: int, now_ms: int) -> Iterator[None]:
    """Write snapshots of states whose last one is older than `cold_after_ms`, so that the log can be truncated.

    Yield so that other requests are served. A partition is skipped if every snapshot is such a copy: nothing has
    changed since.
    """
    before_ms = coordinator.wall_ms(now_ms) - cold_after_ms
    for _, states in coordinator.active_states():
        if all(state.created_ms != state.written_ms for state in states.values()):
            continue
        for number, (key, state) in enumerate(list(states.items())):
            if state.written_ms <= before_ms:
                _rewrite(coordinator, key, now_ms)
            if not (number + 1) % VISITED_AT_ONCE:
                yield


def _rewrite(coordinator: ShareCoordinator, key: SharePartitionKey, now_ms: int) -> None:
    def operation(now_ms: int) -> None:
        states = coordinator.states_of(key)
        state = None if isinstance(states, ErrorCode) else states.get(key)
        if state is not None:
            write_snapshot(coordinator, key, _copying(coordinator, state, now_ms), _on_success, _on_failure, now_ms)

    coordinator.in_turn(key, operation, now_ms)


def _copying(coordinator: ShareCoordinator, state: ShareState, now_ms: int) -> Generator[None, None, ShareState]:
    yield from ()
    return replace(state.snapshot(coordinator.wall_ms(now_ms)), created_ms=state.created_ms)


def topic_deleted_in_states(coordinator: ShareCoordinator, topic_id: UUID, now_ms: int) -> Iterator[None]:
    """Delete the states of a deleted topic. Yield so that other requests are served."""
    visited = 0
    for _, states in coordinator.active_states():
        for key in list(states):
            visited += 1
            if key.topic_id == topic_id:
                _forget(coordinator, key, now_ms)
            if not visited % VISITED_AT_ONCE:
                yield


def _forget(coordinator: ShareCoordinator, key: SharePartitionKey, now_ms: int) -> None:
    def operation(now_ms: int) -> None:
        states = coordinator.states_of(key)
        if not isinstance(states, ErrorCode) and key in states:
            coordinator.forget(key, lambda error, now_ms: None, now_ms)

    coordinator.in_turn(key, operation, now_ms)


def _on_success(now_ms: int) -> None:
    """Ignore the success."""


def _on_failure(outcome: StateOutcome, now_ms: int) -> None:
    """Ignore the failure: the next run tries again."""
