"""What becomes of records counts once it is written down. Until then nobody else can have them, and it may fail.

Source: Kafka's `SharePartition.rollbackOrProcessStateUpdates`; share-groups §10, §12.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from kohort.coordinator.pace import Pace
from kohort.coordinator.share_partitions.in_flight import InFlight, Pending
from kohort.coordinator.share_partitions.record_observer import (
    BELOW_START,
    EXPIRED,
    SAID,
    STATE_FORGOTTEN,
    UNOBSERVED,
    Fate,
    fate_of,
)
from kohort.coordinator.share_partitions.record_states import (
    ACQUIRED,
    ARCHIVED,
    AVAILABLE,
    FATE_AFTER,
    RELEASED,
    STATE_AFTER,
)
from kohort.coordinator.share_partitions.share_partition import Progress, SharePartition
from kohort.coordinator.share_state.state_batches import StateBatch
from kohort.coordinator.share_state.state_outcome import StateOutcome, refused
from kohort.coordinator.share_state.state_requests import StateWrite
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import work_in_turns

_NONE: Final = ErrorCode.none

HEARD: Final = {
    ErrorCode.none: ErrorCode.none,
    ErrorCode.not_coordinator: ErrorCode.coordinator_not_available,
    ErrorCode.coordinator_not_available: ErrorCode.coordinator_not_available,
    ErrorCode.coordinator_load_in_progress: ErrorCode.coordinator_not_available,
    ErrorCode.group_id_not_found: ErrorCode.group_id_not_found,
    ErrorCode.unknown_topic_or_partition: ErrorCode.unknown_topic_or_partition,
    ErrorCode.fenced_leader_epoch: ErrorCode.not_leader_or_follower,
    ErrorCode.fenced_state_epoch: ErrorCode.not_leader_or_follower,
}
"""What a client hears when the share coordinator says this; UNKNOWN_SERVER_ERROR for all else."""

FENCING: Final = frozenset(
    {ErrorCode.not_leader_or_follower, ErrorCode.group_id_not_found, ErrorCode.unknown_topic_or_partition}
)
"""What a client hears when what is known of a share partition does not count any more."""

MAX_BATCHES: Final = 60_000
"""More state batches of one write than fit into a record of `__share_group_state` are not collected."""

OnDone = Callable[[ErrorCode, str | None, int], None]
"""Gets NONE or the error as a client hears it, its message, and the time."""


def heard(error: ErrorCode) -> ErrorCode:
    """What a client hears of an outcome."""
    return HEARD.get(error, ErrorCode.unknown_server_error)


class Transition:
    """Records on their way from being held to what becomes of them: those of one member and one request."""

    __slots__ = ("_cause", "_fates", "_first_offset", "_last_offset", "_partition", "_pending", "began")

    def __init__(self, partition: SharePartition, member_id: str, cause: str = SAID) -> None:
        """`cause`: why the member does not hold them any more."""
        self._partition = partition
        self._cause = cause
        self._fates: list[Fate] | None = None if partition.host.record_observer is UNOBSERVED else []
        self._pending = Pending(member_id)
        self._first_offset = self._last_offset = -1
        self.began = False
        """Whether anything is on its way."""

    def begin(self, index: int, kind: int) -> None:
        """A range that a member holds will be what such an acknowledgement makes of it.

        One that would be released, and was delivered as often as allowed, is archived.
        """
        in_flight = self._partition.in_flight
        pending = self._pending
        assert in_flight.holders[index] == pending.member_id, "it has been checked"
        state, until_ms = after(self._partition, index, STATE_AFTER[kind]), in_flight.locked_until[index]
        in_flight.change(index, state, in_flight.counts[index], pending, until_ms)
        if self._fates is not None:
            self._fates.append(fate_of(in_flight, index, pending.member_id, *FATE_AFTER[kind]))
        first, last = in_flight.firsts[index], in_flight.lasts[index]
        self._first_offset = min(first, self._first_offset) if self.began else first
        self._last_offset = max(last, self._last_offset)
        self.began = True

    def write(self, on_done: OnDone, now_ms: int) -> None:
        """Write it. Afterwards it counts, or everything is as it was before."""
        work_in_turns(self._partition.host.purgatory, self._collect_states(), partial(self._write, on_done), now_ms)

    def _collect_states(self) -> Generator[None, None, list[StateBatch]]:
        batches: list[StateBatch] = []
        in_flight, pace = self._partition.in_flight, Pace()
        for part in in_flight.slices(self._first_offset, self._last_offset):
            for index in part:
                if in_flight.holders[index] is self._pending:
                    put_state(batches, in_flight, index)
            if len(batches) > MAX_BATCHES:
                break
            if pace.add(len(part)):
                yield
        return batches

    def _write(self, on_done: OnDone, batches: list[StateBatch], now_ms: int) -> None:
        def written(outcome: StateOutcome, now_ms: int) -> None:
            steps = self._committing() if outcome.error_code is _NONE else self.taking_back(now_ms)
            on_settled = partial(self._finish, on_done, heard(outcome.error_code), outcome.error_message)
            work_in_turns(self._partition.host.purgatory, steps, on_settled, now_ms)

        if len(batches) > MAX_BATCHES:
            written(refused(ErrorCode.unknown_server_error), now_ms)
        else:
            write_down(self._partition, batches, written, now_ms)

    def _finish(self, on_done: OnDone, error: ErrorCode, message: str | None, changed: bool, now_ms: int) -> None:
        """Report the outcome. `changed`: whether fetches have something to look for."""
        partition = self._partition
        if error in FENCING:
            partition.host.fenced(partition, now_ms)
        on_done(error, message, now_ms)
        if changed:
            partition.host.changed(partition, now_ms)

    def _committing(self) -> Generator[None, None, bool]:
        """Make it count. Return whether fetches have something to look for."""
        partition = self._partition
        in_flight, pace = partition.in_flight, Pace()
        freed = False
        if self._fates:  # reported first: what is committed may be passed or acquired before the next slice
            partition.host.record_observer.settled(partition.key, self._settled(self._fates), self._cause)
        for part in self._slices():
            for index in part:
                if in_flight.holders[index] is self._pending:
                    state = in_flight.states[index]
                    in_flight.change(index, state, in_flight.counts[index], None)
                    freed = freed or state == AVAILABLE
            in_flight.join(part.start, part.stop)
            if pace.add(len(part)):
                yield
        return (yield from partition.passing(pace)) or freed

    def _settled(self, fates: Iterable[Fate]) -> Iterator[Fate]:
        """What was begun. The log may begin later than then: what would be released before its start is archived."""
        start = self._partition.in_flight.start
        for fate in fates:
            if fate.fate != RELEASED or fate.first_offset >= start:
                yield fate
                continue
            yield fate._replace(last_offset=min(fate.last_offset, start - 1), archived=fate.archived or BELOW_START)
            if fate.last_offset >= start:
                yield fate._replace(first_offset=start)

    def taking_back(self, now_ms: int) -> Generator[None, None, bool]:
        """Restore what was: the member holds what it held, unless its time is up by now. Return as `_committing`."""
        partition = self._partition
        in_flight, pace = partition.in_flight, Pace()
        freed = False
        for part in self._slices():
            fates: list[Fate] = []
            for index in part:
                if in_flight.holders[index] is not self._pending:
                    continue
                count, until_ms = in_flight.counts[index], in_flight.locked_until[index]
                if in_flight.lasts[index] >= in_flight.start and until_ms > now_ms:
                    in_flight.change(index, ACQUIRED, count, self._pending.member_id, until_ms)
                    partition.keep_until(until_ms)
                else:
                    in_flight.change(index, after(partition, index, AVAILABLE), count, None)
                    freed = True
                if self._fates is not None:
                    fates += self._taken_back(index, expired=until_ms <= now_ms)
            if fates:
                partition.host.record_observer.settled(partition.key, fates, STATE_FORGOTTEN)
            in_flight.join(part.start, part.stop)
            if pace.add(len(part)):
                yield
        return (yield from partition.passing(pace)) or freed

    def _taken_back(self, index: int, *, expired: bool) -> Iterator[Fate]:
        """What has become of a range meanwhile that the member held and does not any more. `expired`: its lock has."""
        in_flight = self._partition.in_flight
        if in_flight.states[index] != ACQUIRED:
            yield fate_of(in_flight, index, self._pending.member_id, EXPIRED if expired else None)
        elif is_over(self._partition):
            yield fate_of(in_flight, index, self._pending.member_id, RELEASED)

    def _slices(self) -> Iterable[range]:
        """Return slices of the ranges among which those are that are on their way."""
        return self._partition.in_flight.slices(self._first_offset, self._last_offset) if self.began else ()


def after(partition: SharePartition, index: int, state: int) -> int:
    """The state that a range gets: records below the start, or delivered as often as allowed, are not available."""
    in_flight = partition.in_flight
    if state != AVAILABLE:
        return state
    if in_flight.lasts[index] < in_flight.start:
        return ARCHIVED
    return ARCHIVED if in_flight.counts[index] >= partition.config.delivery_count_limit else AVAILABLE


def put_state(batches: list[StateBatch], in_flight: InFlight, index: int) -> None:
    """Add what is to be written of a range to batches that lie before it; neighbours that are alike become one."""
    first, last = in_flight.firsts[index], in_flight.lasts[index]
    fate = in_flight.states[index], in_flight.counts[index]
    if batches and batches[-1].last_offset + 1 == first and batches[-1][2:] == fate:
        first = batches.pop().first_offset
    batches.append(StateBatch(first, last, *fate))


def write_down(
    partition: SharePartition,
    batches: Sequence[StateBatch],
    then: Callable[[StateOutcome, int], None],
    now_ms: int,
) -> None:
    """Write the state of some records, with where the share partition begins now."""
    in_flight = partition.in_flight
    write = StateWrite(partition.state_epoch, partition.leader_epoch, in_flight.start, in_flight.complete, batches)
    partition.host.write(partition.key, write, then, now_ms)


def is_over(partition: SharePartition) -> bool:
    """Whether nothing happens to it any more."""
    return partition.progress is not Progress.ACTIVE
