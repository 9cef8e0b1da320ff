"""What keeps `__share_group_state` short: snapshots of what nobody writes any more, and where its log may begin.

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

LOOKED_AT_ONCE: Final = 256
"""After this many share partitions others may be served."""


def redundant_before(coordinator: ShareCoordinator, partition: int, end_offset: int) -> int | None:
    """The offset before which the partition's log says nothing that counts; None: it is not known just now.

    `end_offset`: of the log. What is being written has no place in it yet.
    """
    shard = coordinator.shards.get(partition)
    if shard is None or coordinator.writes_to(partition):
        return None
    return min((state.snapshot_offset for state in shard.states.values()), default=end_offset)


def snapshot_cold(coordinator: ShareCoordinator, cold_after_ms: int, now_ms: int) -> Iterator[None]:
    """Writes anew what was last written whole `cold_after_ms` ago, so that the log can begin later. Yields for others.

    Where every snapshot is such a copy nothing has happened since, and it is left.
    """
    before_ms = coordinator.wall_ms(now_ms) - cold_after_ms
    for _, states in coordinator.active_states():
        if all(state.created_ms != state.written_ms for state in states.values()):
            continue
        for number, (key, state) in enumerate(list(states.items())):
            if state.written_ms <= before_ms:
                _write_anew(coordinator, key, now_ms)
            if not (number + 1) % LOOKED_AT_ONCE:
                yield


def _write_anew(coordinator: ShareCoordinator, key: SharePartitionKey, now_ms: int) -> None:
    def operation(now_ms: int) -> None:
        states = coordinator.states_of(key)
        state = None if isinstance(states, ErrorCode) else states.get(key)
        if state is not None:
            write_snapshot(coordinator, key, _copying(coordinator, state, now_ms), _done, _failed, now_ms)

    coordinator.in_turn(key, operation, now_ms)


def _copying(coordinator: ShareCoordinator, state: ShareState, now_ms: int) -> Generator[None, None, ShareState]:
    yield from ()
    return replace(state.snapshot(coordinator.wall_ms(now_ms)), created_ms=state.created_ms)


def topic_deleted_in_states(coordinator: ShareCoordinator, topic_id: UUID, now_ms: int) -> Iterator[None]:
    """Forgets what is kept of a topic that is gone. Yields where others may be served."""
    looked_at = 0
    for _, states in coordinator.active_states():
        for key in list(states):
            looked_at += 1
            if key.topic_id == topic_id:
                _forget(coordinator, key, now_ms)
            if not looked_at % LOOKED_AT_ONCE:
                yield


def _forget(coordinator: ShareCoordinator, key: SharePartitionKey, now_ms: int) -> None:
    def operation(now_ms: int) -> None:
        states = coordinator.states_of(key)
        if not isinstance(states, ErrorCode) and key in states:
            coordinator.forget(key, lambda error, now_ms: None, now_ms)

    coordinator.in_turn(key, operation, now_ms)


def _done(now_ms: int) -> None:
    """The snapshot is written."""


def _failed(outcome: StateOutcome, now_ms: int) -> None:
    """It could not be written: the next time."""
