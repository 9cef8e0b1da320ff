"""Transition of records from acquired to another state, which takes effect after a write that may fail.

Until then no member can acquire the records. Source: Kafka's `SharePartition.rollbackOrProcessStateUpdates`;
share-groups §10, §12.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from itertools import compress
from typing import Final

from kohort.coordinator.pace import Pace, column_weight
from kohort.coordinator.share_partitions.dead_letters import (
    LIMIT_MESSAGE,
    REJECTED_MESSAGE,
    DeadLetters,
    letters_of,
)
from kohort.coordinator.share_partitions.in_flight import InFlight, Pending
from kohort.coordinator.share_partitions.record_observer import (
    ACKNOWLEDGED_BY_MEMBER,
    BELOW_START,
    EXPIRED,
    STATE_FORGOTTEN,
    UNOBSERVED,
    Fate,
    fate_of,
)
from kohort.coordinator.share_partitions.record_states import (
    ACQUIRED,
    ARCHIVED,
    ARCHIVING,
    AVAILABLE,
    FATE_AFTER,
    REJECT,
    RELEASE,
    RELEASED,
    STATE_AFTER,
)
from kohort.coordinator.share_partitions.share_partition import Progress, SharePartition
from kohort.coordinator.share_state.state_batches import StateBatches
from kohort.coordinator.share_state.state_outcome import StateOutcome, refused
from kohort.coordinator.share_state.state_requests import StateWrite
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import work_in_turns

_NONE: Final = ErrorCode.none

CLIENT_ERRORS: Final = {
    ErrorCode.none: ErrorCode.none,
    ErrorCode.not_coordinator: ErrorCode.coordinator_not_available,
    ErrorCode.coordinator_not_available: ErrorCode.coordinator_not_available,
    ErrorCode.coordinator_load_in_progress: ErrorCode.coordinator_not_available,
    ErrorCode.group_id_not_found: ErrorCode.group_id_not_found,
    ErrorCode.unknown_topic_or_partition: ErrorCode.unknown_topic_or_partition,
    ErrorCode.fenced_leader_epoch: ErrorCode.not_leader_or_follower,
    ErrorCode.fenced_state_epoch: ErrorCode.not_leader_or_follower,
}  # error sent to clients by error of the share coordinator; UNKNOWN_SERVER_ERROR for others

FENCING: Final = frozenset(
    {ErrorCode.not_leader_or_follower, ErrorCode.group_id_not_found, ErrorCode.unknown_topic_or_partition}
)  # errors sent to clients that make the leader load the state again

MAX_BATCHES: Final = 60_000  # more state batches do not fit into one record of `__share_group_state`

# callback for NONE or the error sent to the client, its message, and the time
OnDone = Callable[[ErrorCode, str | None, int], None]


def client_error(error: ErrorCode) -> ErrorCode:
    return CLIENT_ERRORS.get(error, ErrorCode.unknown_server_error)


class Transition:
    """Pending transition of the records of one member by one request."""

    __slots__ = ("_cause", "_fates", "_first_offset", "_last_offset", "_letters", "_partition", "_pending", "began")

    def __init__(self, partition: SharePartition, member_id: str, cause: str = ACKNOWLEDGED_BY_MEMBER) -> None:
        self._partition = partition
        self._cause = cause
        self._fates: list[Fate] | None = None if partition.host.record_observer is UNOBSERVED else []
        self._pending = Pending(member_id)
        self._first_offset = self._last_offset = -1
        self._letters: list[DeadLetters] = []  # of records that are archiving after the write
        self.began = False

    def begin(self, ranges: range, kinds: bytes) -> None:
        """Apply acknowledgement types to the parts of one range. At the delivery limit, they are not released."""
        partition, in_flight, pending = self._partition, self._partition.in_flight, self._pending
        assert in_flight.holders[ranges.start] == pending.member_id, "the caller has checked the holder"
        states_after = bytearray(STATE_AFTER).ljust(256)
        if RELEASE in kinds:
            states_after[RELEASE] = resulting_state(partition, ranges.start, STATE_AFTER[RELEASE])
        if REJECT in kinds:
            states_after[REJECT] = partition.undeliverable_state
        states = kinds.translate(states_after)
        in_flight.begin_write(ranges, states, pending)
        if ARCHIVING in states:
            for index, kind, state in zip(ranges, kinds, states, strict=True):
                if state == ARCHIVING:
                    self._add_letters(index, is_rejected=kind == REJECT)
        if self._fates is not None:
            for index, kind in zip(ranges, kinds, strict=True):
                self._fates.append(fate_of(in_flight, index, pending.member_id, *FATE_AFTER[kind]))
        first, last = in_flight.firsts[ranges.start], in_flight.lasts[ranges.stop - 1]
        self._first_offset = min(first, self._first_offset) if self.began else first
        self._last_offset = max(last, self._last_offset)
        self.began = True

    def _add_letters(self, index: int, *, is_rejected: bool) -> None:
        message = REJECTED_MESSAGE if is_rejected else LIMIT_MESSAGE
        self._letters.append(letters_of(self._partition.in_flight, index, message))

    def write(self, on_done: OnDone, now_ms: int) -> None:
        work_in_turns(self._partition.host.purgatory, self._collect_states(), partial(self._write, on_done), now_ms)

    def _collect_states(self) -> Generator[None, None, StateBatches]:
        batches = StateBatches()
        in_flight, pace = self._partition.in_flight, Pace()
        for part in in_flight.slices(self._first_offset, self._last_offset):
            span = slice(part.start, part.stop)
            is_pending = [holder is self._pending for holder in in_flight.holders[span]]
            columns = in_flight.firsts[span], in_flight.lasts[span], in_flight.states[span], in_flight.counts[span]
            batches.put_all(StateBatches(*(compress(column, is_pending) for column in columns)))
            if len(batches) > MAX_BATCHES:
                break
            if pace.add(column_weight(len(part))):
                yield
        return batches

    def _write(self, on_done: OnDone, batches: StateBatches, now_ms: int) -> None:
        def written(outcome: StateOutcome, now_ms: int) -> None:
            steps = self._committing() if outcome.error_code is _NONE else self.rolling_back(now_ms)
            on_settled = partial(self._finish, on_done, client_error(outcome.error_code), outcome.error_message)
            work_in_turns(self._partition.host.purgatory, steps, on_settled, now_ms)

        if len(batches) > MAX_BATCHES:
            written(refused(ErrorCode.unknown_server_error), now_ms)
        else:
            write_down(self._partition, batches, written, now_ms)

    def _finish(self, on_done: OnDone, error: ErrorCode, message: str | None, changed: bool, now_ms: int) -> None:
        partition = self._partition
        if error in FENCING:
            partition.host.fenced(partition, now_ms)
        on_done(error, message, now_ms)
        if self._letters and error is _NONE:
            partition.host.send_dead_letters(partition, self._letters, now_ms)
        if changed:
            partition.host.changed(partition, now_ms)

    def _committing(self) -> Generator[None, None, bool]:
        """Apply the states. Return whether parked fetches can be retried."""
        partition = self._partition
        in_flight, pace = partition.in_flight, Pace()
        is_available = False
        if self._fates:  # reported first: committed records may be passed or acquired before the next slice
            partition.host.record_observer.settled(partition.key, self._settled(self._fates), self._cause)
        for part in self._slices():
            is_available |= in_flight.end_write(part, self._pending)
            in_flight.join(part.start, part.stop)
            if pace.add(column_weight(len(part))):
                yield
        return (yield from partition.passing(pace)) or is_available

    def _settled(self, fates: Iterable[Fate]) -> Iterator[Fate]:
        """Yield the fates. The start may have moved since: records below it are archived instead of released."""
        start = self._partition.in_flight.start
        for fate in fates:
            if fate.fate != RELEASED or fate.first_offset >= start:
                yield fate
                continue
            yield fate._replace(last_offset=min(fate.last_offset, start - 1), archived=fate.archived or BELOW_START)
            if fate.last_offset >= start:
                yield fate._replace(first_offset=start)

    def rolling_back(self, now_ms: int) -> Generator[None, None, bool]:
        """Give the records back to the member, unless their locks have expired. Return the same as `_committing`."""
        partition, self._letters = self._partition, []
        in_flight, pace = partition.in_flight, Pace()
        is_available = False
        for part in self._slices():
            fates: list[Fate] = []
            for index in part:
                if in_flight.holders[index] is not self._pending:
                    continue
                count, until_ms = in_flight.counts[index], in_flight.locked_until[index]
                if in_flight.lasts[index] >= in_flight.start and until_ms > now_ms:
                    in_flight.change(index, ACQUIRED, count, self._pending.member_id, until_ms)
                    partition.schedule_lock_check(until_ms)
                else:
                    in_flight.change(index, resulting_state(partition, index, AVAILABLE), count, None)
                    if in_flight.states[index] == ARCHIVING:
                        self._add_letters(index, is_rejected=False)
                    is_available = True
                if self._fates is not None:
                    fates += self._rolled_back(index, expired=until_ms <= now_ms)
            if fates:
                partition.host.record_observer.settled(partition.key, fates, STATE_FORGOTTEN)
            in_flight.join(part.start, part.stop)
            if pace.add(len(part)):
                yield
        if self._letters:
            partition.host.send_dead_letters(partition, self._letters, now_ms)
        return (yield from partition.passing(pace)) or is_available

    def _rolled_back(self, index: int, *, expired: bool) -> Iterator[Fate]:
        in_flight = self._partition.in_flight
        if in_flight.states[index] != ACQUIRED:
            yield fate_of(in_flight, index, self._pending.member_id, EXPIRED if expired else None)
        elif has_ended(self._partition):
            yield fate_of(in_flight, index, self._pending.member_id, RELEASED)

    def _slices(self) -> Iterable[range]:
        return self._partition.in_flight.slices(self._first_offset, self._last_offset) if self.began else ()


def resulting_state(partition: SharePartition, index: int, state: int) -> int:
    """Return `state`, or another one instead of AVAILABLE for records below the start or at the delivery limit."""
    in_flight = partition.in_flight
    if state != AVAILABLE:
        return state
    if in_flight.lasts[index] < in_flight.start:
        return ARCHIVED
    at_limit = in_flight.counts[index] >= partition.config.delivery_count_limit
    return partition.undeliverable_state if at_limit else AVAILABLE


def move_start(partition: SharePartition, now_ms: int) -> None:
    """Move the start past complete records, and retry parked fetches if it has moved."""

    def passed(moved: bool, now_ms: int) -> None:
        if moved:
            partition.host.changed(partition, now_ms)

    work_in_turns(partition.host.purgatory, partition.passing(Pace()), passed, now_ms)


def put_state(batches: StateBatches, in_flight: InFlight, index: int) -> None:
    batches.put((in_flight.firsts[index], in_flight.lasts[index], in_flight.states[index], in_flight.counts[index]))


def write_down(
    partition: SharePartition,
    batches: StateBatches,
    on_outcome: Callable[[StateOutcome, int], None],
    now_ms: int,
) -> None:
    in_flight = partition.in_flight
    write = StateWrite(partition.state_epoch, partition.leader_epoch, in_flight.start, in_flight.complete, batches)
    partition.host.write(partition.key, write, on_outcome, now_ms)


def has_ended(partition: SharePartition) -> bool:
    return partition.progress is not Progress.ACTIVE
