"""Requests to share coordinators: initialize, read, write, summarize and delete the state of a share partition.

Checks are in Kafka's order (`ShareCoordinatorShard`; share-groups §15). The callback of a request is called at once if
nothing must be written, and otherwise after the write.
"""

from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Final, NamedTuple

from kohort.coordinator.pace import Pace
from kohort.coordinator.share_state.share_coordinator import ShareCoordinator
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.coordinator.share_state.share_state import NO_EPOCH, UNKNOWN_COUNT, ShareState, StateUpdate
from kohort.coordinator.share_state.share_state_records import snapshot_value, update_value
from kohort.coordinator.share_state.state_batches import UNKNOWN_OFFSET, Merge, StateBatch, combining
from kohort.coordinator.share_state.state_outcome import (
    MESSAGES,
    NOT_INITIALIZED,
    SUCCESS,
    OnOutcome,
    StateOutcome,
    read_outcome,
    refused,
    summary_of,
)
from kohort.protocol.errors import ErrorCode
from kohort.protocol.records.layouts import SHARE_SNAPSHOT, SHARE_UPDATE

_NONE: Final = ErrorCode.none
_NEGATIVE_PARTITION: Final = refused(ErrorCode.invalid_request, "The partition id cannot be a negative number.")
_NEGATIVE_EPOCH: Final = refused(ErrorCode.invalid_request, "The leader epoch cannot be a negative number.")
_NOT_READ: Final = refused(ErrorCode.invalid_request, "Read operation on uninitialized share partition not allowed.")
_NOT_WRITTEN: Final = refused(
    ErrorCode.invalid_request, "Write operation on uninitialized share partition not allowed."
)
_UNKNOWN_PARTITION: Final = refused(ErrorCode.unknown_topic_or_partition)
_FENCED_LEADER: Final = refused(ErrorCode.fenced_leader_epoch)
_FENCED_STATE: Final = refused(ErrorCode.fenced_state_epoch)


# Larger states do not fit into a record of the default size, so only updates are written until there are fewer batches.
# Kafka fails at every write then. It accepts records of more than 50,000 fates in one batch of the log.
MAX_SNAPSHOT_BATCHES: Final = 50_000


class StateWrite(NamedTuple):
    """Write request of a leader for a share partition."""

    state_epoch: int  # NO_EPOCH: any
    leader_epoch: int  # NO_EPOCH: any
    start_offset: int  # UNKNOWN_OFFSET: unchanged
    delivery_complete_count: int
    batches: Iterable[StateBatch]


def initialize_state(
    coordinator: ShareCoordinator,
    key: SharePartitionKey,
    state_epoch: int,
    start_offset: int,
    on_outcome: OnOutcome,
    now_ms: int,
) -> None:
    """Replace the state by a new one. Errors: FENCED_STATE_EPOCH, UNKNOWN_TOPIC_OR_PARTITION."""

    def check(state: ShareState | None) -> StateOutcome | None:
        if state is not None and state_epoch != NO_EPOCH and state_epoch < state.state_epoch:
            return _FENCED_STATE
        return None if coordinator.has_partition(key.topic_id, key.partition) else _UNKNOWN_PARTITION

    def begin(state: ShareState | None, now_ms: int) -> None:
        wall_ms = coordinator.wall_ms(now_ms)
        snapshot_epoch = 0 if state is None else state.snapshot_epoch + 1
        count = UNKNOWN_COUNT if start_offset == UNKNOWN_OFFSET else 0
        fresh = ShareState(snapshot_epoch, state_epoch, 0, start_offset, count, created_ms=wall_ms, written_ms=wall_ms)
        write_snapshot(coordinator, key, _as_is(fresh), partial(on_outcome, SUCCESS), on_outcome, now_ms)

    _check_in_turn(coordinator, key, check, begin, on_outcome, now_ms)


def read_state(
    coordinator: ShareCoordinator, key: SharePartitionKey, leader_epoch: int, on_outcome: OnOutcome, now_ms: int
) -> None:
    """Read the state for a leader.

    A newer leader epoch is stored first, so that writes of earlier leaders are fenced. Errors: INVALID_REQUEST if it is
    not initialized, FENCED_LEADER_EPOCH, UNKNOWN_TOPIC_OR_PARTITION.
    """

    def check(state: ShareState | None) -> StateOutcome | None:
        if leader_epoch < 0 and coordinator.rules.keeps_share_progress:
            return _NEGATIVE_EPOCH
        if state is None:
            return _NOT_READ
        if leader_epoch < state.leader_epoch:
            return _FENCED_LEADER
        return None if coordinator.has_partition(key.topic_id, key.partition) else _UNKNOWN_PARTITION

    def read(state: ShareState | None, now_ms: int) -> None:
        assert state is not None, "checked above"
        if leader_epoch == state.leader_epoch:
            on_outcome(read_outcome(state), now_ms)
            return
        epoch_write = StateWrite(NO_EPOCH, leader_epoch, state.start_offset, state.delivery_complete_count, ())
        _write(
            coordinator, key, state, epoch_write, partial(_read_again, coordinator, key, on_outcome), on_outcome, now_ms
        )

    _check_in_turn(coordinator, key, check, read, on_outcome, now_ms)


def _read_again(coordinator: ShareCoordinator, key: SharePartitionKey, on_outcome: OnOutcome, now_ms: int) -> None:
    states = coordinator.states_of(key)
    assert not isinstance(states, ErrorCode), "it has just been written"
    on_outcome(read_outcome(states[key]), now_ms)


def write_state(
    coordinator: ShareCoordinator, key: SharePartitionKey, write: StateWrite, on_outcome: OnOutcome, now_ms: int
) -> None:
    """Update the state.

    Errors: INVALID_REQUEST if it is not initialized, FENCED_LEADER_EPOCH, FENCED_STATE_EPOCH,
    UNKNOWN_TOPIC_OR_PARTITION.
    """

    def check(state: ShareState | None) -> StateOutcome | None:
        if state is None:
            return _NOT_WRITTEN
        if write.leader_epoch != NO_EPOCH and write.leader_epoch < state.leader_epoch:
            return _FENCED_LEADER
        if write.state_epoch != NO_EPOCH and write.state_epoch < state.state_epoch:
            return _FENCED_STATE
        return None if coordinator.has_partition(key.topic_id, key.partition) else _UNKNOWN_PARTITION

    def note(state: ShareState | None, now_ms: int) -> None:
        assert state is not None, "checked above"
        _write(coordinator, key, state, write, partial(on_outcome, SUCCESS), on_outcome, now_ms)

    _check_in_turn(coordinator, key, check, note, on_outcome, now_ms)


def delete_state(coordinator: ShareCoordinator, key: SharePartitionKey, on_outcome: OnOutcome, now_ms: int) -> None:
    """Delete the state, if it exists. Error: UNKNOWN_TOPIC_OR_PARTITION."""

    def check(state: ShareState | None) -> StateOutcome | None:
        return None if coordinator.has_partition(key.topic_id, key.partition) else _UNKNOWN_PARTITION

    def delete(state: ShareState | None, now_ms: int) -> None:
        if state is None:
            on_outcome(SUCCESS, now_ms)
            return

        def written(error: ErrorCode, now_ms: int) -> None:
            on_outcome(SUCCESS if error is _NONE else _not_written(error), now_ms)

        coordinator.forget(key, written, now_ms)

    _check_in_turn(coordinator, key, check, delete, on_outcome, now_ms)


def summarize_state(coordinator: ShareCoordinator, key: SharePartitionKey) -> StateOutcome:
    """Return epochs, start offset and count, or NOT_INITIALIZED. Error: UNKNOWN_TOPIC_OR_PARTITION."""
    states = coordinator.states_of(key)
    if isinstance(states, ErrorCode):
        return refused(states)
    if key.partition < 0:
        return _NEGATIVE_PARTITION
    if not coordinator.has_partition(key.topic_id, key.partition):
        return _UNKNOWN_PARTITION
    state = states.get(key)
    return NOT_INITIALIZED if state is None else summary_of(state)


def _check_in_turn(
    coordinator: ShareCoordinator,
    key: SharePartitionKey,
    check: Callable[[ShareState | None], StateOutcome | None],
    proceed: Callable[[ShareState | None, int], None],
    on_outcome: OnOutcome,
    now_ms: int,
) -> None:
    def operation(now_ms: int) -> None:
        states = coordinator.states_of(key)
        if isinstance(states, ErrorCode):
            on_outcome(refused(states), now_ms)
            return
        state = states.get(key)
        refusal = _NEGATIVE_PARTITION if key.partition < 0 else check(state)
        if refusal is not None:
            on_outcome(refusal, now_ms)
        else:
            proceed(state, now_ms)

    coordinator.in_turn(key, operation, now_ms)


def _write(
    coordinator: ShareCoordinator,
    key: SharePartitionKey,
    state: ShareState,
    write: StateWrite,
    on_success: Callable[[int], None],
    on_outcome: OnOutcome,
    now_ms: int,
) -> None:
    """Write an update, or a snapshot if there have been enough updates.

    Call `on_success`, or `on_outcome` with the error.
    """
    leader_epoch = state.leader_epoch if write.leader_epoch == NO_EPOCH else write.leader_epoch
    if coordinator.rules.keeps_share_progress:
        write = _without_loss(state, write)
    if state.updates >= coordinator.updates_per_snapshot and len(state.batches) <= MAX_SNAPSHOT_BATCHES:
        snapshot = _refreshing(coordinator, state, write, leader_epoch, now_ms)
        write_snapshot(coordinator, key, snapshot, on_success, on_outcome, now_ms)
        return

    def update() -> Generator[None, None, tuple[bytes, tuple[StateUpdate, Merge]]]:
        pace = Pace()
        update, merge = yield from _updating(state, write, leader_epoch, pace)
        return (yield from update_value(update, pace)), (update, merge)

    def written(change: tuple[StateUpdate, Merge], error: ErrorCode, now_ms: int) -> None:
        if error is _NONE:
            state.apply(*change)
            on_success(now_ms)
        else:
            on_outcome(_not_written(error), now_ms)

    coordinator.append(key, SHARE_UPDATE, update(), written, now_ms)


def _without_loss(state: ShareState, write: StateWrite) -> StateWrite:
    """Return the write with the larger start offset and its count, as of Kafka 4.4 (newer-release §4 rule 3)."""
    start_offset, count = state.start_offset, state.delivery_complete_count
    if write.start_offset == UNKNOWN_OFFSET or write.start_offset < start_offset:
        return write._replace(start_offset=start_offset, delivery_complete_count=count)
    if write.start_offset == start_offset:
        return write._replace(delivery_complete_count=max(count, write.delivery_complete_count))
    return write


def _updating(
    state: ShareState, write: StateWrite, leader_epoch: int, pace: Pace
) -> Generator[None, None, tuple[StateUpdate, Merge]]:
    batches = yield from combining(write.batches, write.start_offset, pace)
    update = StateUpdate(state.snapshot_epoch, leader_epoch, write.start_offset, write.delivery_complete_count, batches)
    return update, (yield from state.merging(update, pace))


def _refreshing(
    coordinator: ShareCoordinator, state: ShareState, write: StateWrite, leader_epoch: int, now_ms: int
) -> Generator[None, None, ShareState]:
    fresh = state.snapshot(coordinator.wall_ms(now_ms))
    if write.state_epoch != NO_EPOCH:
        fresh.state_epoch = write.state_epoch
    fresh.apply(*(yield from _updating(state, write, leader_epoch, Pace())))
    fresh.updates = 0
    return fresh


def _as_is(state: ShareState) -> Generator[None, None, ShareState]:
    yield from ()
    return state


def write_snapshot(
    coordinator: ShareCoordinator,
    key: SharePartitionKey,
    steps: Generator[None, None, ShareState],
    on_success: Callable[[int], None],
    on_outcome: OnOutcome,
    now_ms: int,
) -> None:
    """Write the state that `steps` return. Call `on_success`, or `on_outcome` with the error."""

    def make() -> Generator[None, None, tuple[bytes, ShareState]]:
        fresh = yield from steps
        return (yield from snapshot_value(fresh, Pace())), fresh

    def written(fresh: ShareState, error: ErrorCode, now_ms: int) -> None:
        states = coordinator.states_of(key)
        if error is _NONE and not isinstance(states, ErrorCode):
            if coordinator.appended_offset is not None:
                fresh.snapshot_offset = coordinator.appended_offset
            states[key] = fresh
            on_success(now_ms)
        else:
            on_outcome(_not_written(error), now_ms)

    coordinator.append(key, SHARE_SNAPSHOT, make(), written, now_ms)


def _not_written(error: ErrorCode) -> StateOutcome:
    return refused(error, f"Unable to write share group state: {MESSAGES.get(error, error.name)}")
