"""One partition as a share group sees it: where it begins, what of it is in flight, and for how long members hold it.

Source: KIP-932; Kafka's `SharePartition`. What members may take stands in acquiring.py, what they say of it in
acknowledging.py, how that is written down in transitions.py, and what happens to locks in locks.py.
"""

from bisect import bisect_left
from collections.abc import Generator, Iterator, Sequence
from enum import Enum
from typing import Final, Protocol

from kohort.coordinator.pace import Pace
from kohort.coordinator.share.share_config import ShareConfig
from kohort.coordinator.share_partitions.in_flight import NOT_LOCKED, InFlight
from kohort.coordinator.share_partitions.record_observer import (
    BELOW_START,
    STATE_FORGOTTEN,
    UNOBSERVED,
    Fate,
    RecordObserver,
    fate_of,
)
from kohort.coordinator.share_partitions.record_states import ARCHIVED, AVAILABLE, IS_TERMINAL, RELEASED
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.coordinator.share_state.state_batches import StateBatch
from kohort.coordinator.share_state.state_outcome import OnOutcome
from kohort.coordinator.share_state.state_requests import StateWrite
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation, Purgatory, work_in_turns

MOST_DELIVERIES: Final = 2**15 - 1
"""What a delivery count may come to, as it travels in two bytes."""


class Progress(Enum):
    """How far a leader is with a share partition."""

    INITIALIZING = "initializing"
    ACTIVE = "active"
    FAILED = "failed"
    FENCED = "fenced"


class SharePartitionHost(Protocol):
    """Who has share partitions: what they ask of it."""

    purgatory: Purgatory

    @property
    def record_observer(self) -> RecordObserver:
        """Who hears what happens to records."""
        ...

    def config(self, group_id: str) -> ShareConfig:
        """What counts for a group now."""
        ...

    def write(self, key: SharePartitionKey, write: StateWrite, then: OnOutcome, now_ms: int) -> None:
        """Has a state written by its share coordinator."""
        ...

    def changed(self, partition: "SharePartition", now_ms: int) -> None:
        """Records may be had again, or the start has moved: fetches that wait are to be tried."""
        ...

    def fenced(self, partition: "SharePartition", now_ms: int) -> None:
        """What is known here does not count any more: it is to be read again."""
        ...


class InvalidState(Exception):
    """A state that was read contradicts itself."""


class SharePartition:
    """What one leader knows of it. It is made anew when that does not count any more."""

    __slots__ = (
        "_expires_next_ms",
        "_is_expiring",
        "_timer",
        "has_refused_fetch",
        "host",
        "in_flight",
        "is_acquired_from",
        "key",
        "leader_epoch",
        "problem",
        "progress",
        "state_epoch",
    )

    def __init__(self, key: SharePartitionKey, leader_epoch: int, host: SharePartitionHost) -> None:
        self.key = key
        self.leader_epoch = leader_epoch
        """The epoch of the partition's leader when this began."""
        self.host = host
        self.progress = Progress.INITIALIZING
        self.state_epoch = 0
        self.in_flight = InFlight(0)
        self.problem: ErrorCode | None = None
        """Why it could not be read, as clients hear it."""
        self.is_acquired_from = False
        """Whether a member is acquiring records in several slices. Others get none meanwhile (Kafka's fetch lock)."""
        self.has_refused_fetch = False
        """Whether another fetch has come meanwhile, and is to be tried again."""
        self._timer: _LockTimer | None = None
        self._is_expiring = False
        self._expires_next_ms = NOT_LOCKED  # while expired locks are released: when the next one expires

    @property
    def config(self) -> ShareConfig:
        """The group's settings as they are now."""
        return self.host.config(self.key.group_id)

    # Beginning

    def load(self, state_epoch: int, start_offset: int, batches: Sequence[StateBatch]) -> Generator[None, None, None]:
        """Take over the state that the share coordinator has, with the start offset that was decided.

        Offsets between batches were delivered and never written about: they are available, as if never delivered.
        Yields where others may be served. Raises InvalidState.
        """
        in_flight = self.in_flight = InFlight(start_offset)
        self.state_epoch = state_epoch
        behind, pace = start_offset, Pace()
        for batch in batches:
            if batch.first_offset < behind or batch.last_offset < batch.first_offset:
                raise InvalidState(f"a batch from {batch.first_offset} to {batch.last_offset}, where {behind} is next")
            if batch.first_offset > behind:
                in_flight.add(behind, batch.first_offset - 1, AVAILABLE, 0, None)
            in_flight.add(batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count, None)
            behind = batch.last_offset + 1
            if pace.add():
                yield
        if batches:
            in_flight.end = behind - 1
            yield from in_flight.passing(pace)
        if self.progress is Progress.INITIALIZING:
            self.progress = Progress.ACTIVE
            self.host.record_observer.loaded(self.key, in_flight.start)

    # Reading

    @property
    def next_fetch_offset(self) -> int:
        """Where the next fetch reads: the lowest offset that may be had again, or what comes behind all that was."""
        in_flight = self.in_flight
        if in_flight.is_empty or in_flight.start > in_flight.lasts[-1]:
            return in_flight.end
        available = in_flight.next_available()
        return in_flight.end + 1 if available is None else available

    @property
    def has_room(self) -> bool:
        """Whether anything may be taken: again, or as there are fewer in flight than the group may have."""
        in_flight = self.in_flight
        if self.next_fetch_offset != in_flight.end + 1:
            return True
        return in_flight.count < self.config.partition_max_record_locks

    def log_starts_at(self, offset: int) -> Generator[None, None, None]:
        """Move the start to `offset`, where the log starts now: what lies before is not delivered any more.

        Records that members hold stay acquired until they are acknowledged, which succeeds with any type, or until
        their lock expires. Nothing is written. Yields where others may be served.
        Source: Kafka's `SharePartition.updateCacheAndOffsets`.
        """
        in_flight, pace = self.in_flight, Pace()
        before = in_flight.start
        if offset <= before:
            return
        for part in in_flight.slices(before, offset - 1, cut=True):
            gone = []
            for index in part:
                if in_flight.states[index] == AVAILABLE:
                    in_flight.change(index, ARCHIVED, in_flight.counts[index], in_flight.holders[index])
                    if in_flight.holders[index] is None:  # else it is reported when that is written
                        gone.append(index)
            in_flight.move_start(max(in_flight.start, min(offset, in_flight.lasts[part[-1]] + 1)))
            if gone:
                self.host.record_observer.settled(self.key, [fate_of(in_flight, index, None, None) for index in gone])
            if pace.add(len(part)):
                yield
        in_flight.move_start(max(in_flight.start, offset))
        in_flight.end = max(in_flight.end, offset)
        if any(IS_TERMINAL[in_flight.states[index]] for index in in_flight.ranges_between(offset, offset)):
            yield from self._pass_and_report(pace)
        self.host.record_observer.start_moved(self.key, before, self.in_flight.start)

    def passing(self, pace: Pace) -> Generator[None, None, bool]:
        """Move the start behind what is done with. Return whether it moved. Yields where others may be served."""
        if self.host.record_observer is UNOBSERVED:
            return (yield from self.in_flight.passing(pace))
        before = self.in_flight.start
        moved = yield from self._pass_and_report(pace)
        if moved and self.progress is Progress.ACTIVE:
            self.host.record_observer.start_moved(self.key, before, self.in_flight.start)
        return moved

    def _pass_and_report(self, pace: Pace) -> Generator[None, None, bool]:
        """Move the start as `passing`, and report what members still hold below it: from then on no member holds it."""
        in_flight = self.in_flight
        is_observed = self.host.record_observer is not UNOBSERVED
        held = list(self._held(in_flight.start)) if is_observed else []
        moved = yield from in_flight.passing(pace)
        behind = in_flight.firsts[0] if in_flight.firsts else in_flight.start
        dropped = [fate._replace(fate=None, archived=BELOW_START) for fate in held if fate.last_offset < behind]
        if dropped:
            self.host.record_observer.settled(self.key, dropped)
        return moved

    # Locks

    def locks_until(self, now_ms: int) -> int:
        """When the lock expires of what a member takes now: the group's records are held for so long from now on."""
        return now_ms + self.config.record_lock_duration_ms

    def keep_until(self, until_ms: int) -> None:
        """Check locks when those that end at `until_ms` expire.

        The timer may ring at a moment whose records were released before; then it finds the next one.
        """
        if self._is_expiring:
            self._expires_next_ms = min(self._expires_next_ms, until_ms)
        elif self.progress is Progress.ACTIVE and until_ms < self.rings_at_ms:
            self._set_timer(until_ms)

    @property
    def rings_at_ms(self) -> int:
        """When it looks for locks that have expired; NOT_LOCKED if no member holds anything."""
        return NOT_LOCKED if self._timer is None else self._timer.deadline_ms

    def _set_timer(self, deadline_ms: int) -> None:
        if self._timer is not None:
            self.host.purgatory.cancel(self._timer)
        self._timer = None
        if deadline_ms != NOT_LOCKED:
            self._timer = _LockTimer(self, deadline_ms)
            self.host.purgatory.wait(self._timer)

    def release_expired(self, now_ms: int) -> None:
        """Release records whose locks have expired, and set the timer for the lock that expires next."""
        from kohort.coordinator.share_partitions.locks import expiring  # which knows what becomes of records

        def on_released(next_ms: int, now_ms: int) -> None:
            self._is_expiring = False
            self.keep_until(min(next_ms, self._expires_next_ms))

        self._set_timer(NOT_LOCKED)
        self._is_expiring, self._expires_next_ms = True, NOT_LOCKED
        work_in_turns(self.host.purgatory, expiring(self, now_ms), on_released, now_ms)

    # Ending

    def end(self, progress: Progress) -> None:
        """It does not count any more, and nothing will happen to it. Nobody holds its records."""
        if self.progress is Progress.ACTIVE and self.host.record_observer is not UNOBSERVED:
            self.host.record_observer.settled(self.key, list(self._held(self.in_flight.end + 1)), STATE_FORGOTTEN)
        self.progress = progress
        self._set_timer(NOT_LOCKED)

    def _held(self, below: int) -> Iterator[Fate]:
        """Return what members hold below an offset, but for what is being written."""
        in_flight = self.in_flight
        for index, holder in enumerate(in_flight.holders[: bisect_left(in_flight.lasts, below)]):
            if isinstance(holder, str):
                yield fate_of(in_flight, index, holder, RELEASED)


class _LockTimer(DelayedOperation):
    """The moment at which the first lock of a share partition expires."""

    __slots__ = ("_partition",)

    def __init__(self, partition: SharePartition, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self._partition = partition

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self._partition.release_expired(now_ms)
