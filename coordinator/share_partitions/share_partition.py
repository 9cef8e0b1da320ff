"""Share partition: start offset, in-flight records and locks of a partition for one share group.

Acquisition is in acquiring.py, acknowledgements in acknowledging.py, writes of states in transitions.py, and the end of
locks in locks.py. Source: KIP-932; Kafka's `SharePartition`.
"""

from bisect import bisect_left
from collections.abc import Generator, Iterator, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

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
from kohort.coordinator.share_partitions.record_states import ARCHIVED, ARCHIVING, AVAILABLE, IS_TERMINAL, RELEASED
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.coordinator.share_state.state_batches import StateBatch
from kohort.coordinator.share_state.state_outcome import OnOutcome
from kohort.coordinator.share_state.state_requests import StateWrite
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation, Purgatory, work_in_turns

if TYPE_CHECKING:
    from kohort.coordinator.share_partitions.dead_letters import DeadLetters

MAX_DELIVERIES: Final = 2**15 - 1  # the delivery count is an int16


class Progress(Enum):
    """Loading progress of a share partition."""

    INITIALIZING = "initializing"
    ACTIVE = "active"
    FAILED = "failed"
    FENCED = "fenced"


class SharePartitionHost(Protocol):
    """Interface of the owner of share partitions."""

    purgatory: Purgatory

    @property
    def record_observer(self) -> RecordObserver: ...

    def config(self, group_id: str) -> ShareConfig: ...

    def write(self, key: SharePartitionKey, write: StateWrite, on_outcome: OnOutcome, now_ms: int) -> None: ...

    def changed(self, partition: "SharePartition", now_ms: int) -> None:
        """Retry parked fetches: records are available again, or the start has moved."""
        ...

    @property
    def has_dead_letters(self) -> bool:
        """Whether `share.version` allows dead letters."""
        ...

    def send_dead_letters(self, partition: "SharePartition", letters: "Sequence[DeadLetters]", now_ms: int) -> None:
        """Write dead letters if possible, and then archive their records."""
        ...

    def fenced(self, partition: "SharePartition", now_ms: int) -> None:
        """Discard the share partition, whose state must be loaded again."""
        ...


class InvalidState(Exception):
    """Contradiction in a state that was loaded."""


class SharePartition:
    """Leader's state of a share partition. It is replaced by a new one when it is fenced."""

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
        "load_error",
        "looked_up_offset",
        "progress",
        "state_epoch",
    )

    def __init__(self, key: SharePartitionKey, leader_epoch: int, host: SharePartitionHost) -> None:
        self.key = key
        self.leader_epoch = leader_epoch  # of the partition's leader when this was created
        self.host = host
        self.progress = Progress.INITIALIZING
        self.state_epoch = 0
        self.in_flight = InFlight(0)
        self.load_error: ErrorCode | None = None  # sent to clients
        # whether a member acquires records in slices; other fetches get none (Kafka's fetch lock)
        self.is_acquired_from = False
        self.looked_up_offset = -1  # whose position in the log a fetch looked up last (Kafka's `fetchOffsetMetadata`)
        self.has_refused_fetch = False  # whether a fetch got none for that reason and is to be retried
        self._timer: _LockTimer | None = None
        self._is_expiring = False
        self._expires_next_ms = NOT_LOCKED  # the next expiry, while expired locks are released

    @property
    def config(self) -> ShareConfig:
        return self.host.config(self.key.group_id)

    @property
    def undeliverable_state(self) -> int:
        """State of a record that is rejected, or that has reached the delivery limit."""
        return ARCHIVING if self.host.has_dead_letters and self.config.dead_letter_topic else ARCHIVED

    # Loading

    def load(self, state_epoch: int, start_offset: int, batches: Sequence[StateBatch]) -> Generator[None, None, None]:
        """Load the share coordinator's state, with the start offset that was decided.

        Offsets between its batches were delivered, but their state was never written: they are available with a
        delivery count of 0. Yield so that other requests are served.

        Raises:
            InvalidState: The batches overlap or are not sorted.
        """
        in_flight = self.in_flight = InFlight(start_offset)
        self.state_epoch = state_epoch
        behind, pace = start_offset, Pace()
        for batch in batches:
            if batch.first_offset < behind or batch.last_offset < batch.first_offset:
                raise InvalidState(
                    f"batch {batch.first_offset}-{batch.last_offset} is invalid; expected one at {behind} or later"
                )
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
        """Offset of the next fetch: the lowest available one, or the one after all offsets acquired so far."""
        in_flight = self.in_flight
        if in_flight.is_empty or in_flight.start > in_flight.lasts[-1]:
            return in_flight.end
        available = in_flight.next_available()
        return in_flight.end + 1 if available is None else available

    @property
    def has_room(self) -> bool:
        """Whether records can be acquired: available ones, or new ones within the limit of locks."""
        in_flight = self.in_flight
        if self.next_fetch_offset != in_flight.end + 1:
            return True
        return in_flight.count < self.config.partition_max_record_locks

    def move_log_start(self, offset: int) -> Generator[None, None, None]:
        """Move the start to the log start offset. Earlier records are not delivered any more.

        Acquired records stay acquired until they are acknowledged, which succeeds with any type, or until their lock
        expires. Nothing is written. Yield so that other requests are served. Source: Kafka's
        `SharePartition.updateCacheAndOffsets`.
        """
        in_flight, pace = self.in_flight, Pace()
        old_start = in_flight.start
        if offset <= old_start:
            return
        for part in in_flight.slices(old_start, offset - 1, cut=True):
            archived = []
            for index in part:
                if in_flight.states[index] == AVAILABLE:
                    in_flight.change(index, ARCHIVED, in_flight.counts[index], in_flight.holders[index])
                    if in_flight.holders[index] is None:  # otherwise it is reported after the pending write
                        archived.append(index)
            in_flight.move_start(max(in_flight.start, min(offset, in_flight.lasts[part[-1]] + 1)))
            if archived:
                self.host.record_observer.settled(
                    self.key, [fate_of(in_flight, index, None, None) for index in archived]
                )
            if pace.add(len(part)):
                yield
        in_flight.move_start(max(in_flight.start, offset))
        in_flight.end = max(in_flight.end, offset)
        if any(IS_TERMINAL[in_flight.states[index]] for index in in_flight.ranges_between(offset, offset)):
            yield from self._pass_and_report(pace)
        self.host.record_observer.start_moved(self.key, old_start, self.in_flight.start)

    def passing(self, pace: Pace) -> Generator[None, None, bool]:
        if self.host.record_observer is UNOBSERVED:
            return (yield from self.in_flight.passing(pace))
        old_start = self.in_flight.start
        moved = yield from self._pass_and_report(pace)
        if moved and self.progress is Progress.ACTIVE:
            self.host.record_observer.start_moved(self.key, old_start, self.in_flight.start)
        return moved

    def _pass_and_report(self, pace: Pace) -> Generator[None, None, bool]:
        """Move the start as `passing` does, and report ranges below it that a member still held."""
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

    def lock_expiry_ms(self, now_ms: int) -> int:
        return now_ms + self.config.record_lock_duration_ms

    def schedule_lock_check(self, until_ms: int) -> None:
        """Schedule a check of the locks at `until_ms`.

        The check may run after the records were released; then it schedules the next one.
        """
        if self._is_expiring:
            self._expires_next_ms = min(self._expires_next_ms, until_ms)
        elif self.progress is Progress.ACTIVE and until_ms < self.check_at_ms:
            self._set_timer(until_ms)

    @property
    def check_at_ms(self) -> int:
        return NOT_LOCKED if self._timer is None else self._timer.deadline_ms

    def _set_timer(self, deadline_ms: int) -> None:
        if self._timer is not None:
            self.host.purgatory.cancel(self._timer)
        self._timer = None
        if deadline_ms != NOT_LOCKED:
            self._timer = _LockTimer(self, deadline_ms)
            self.host.purgatory.wait(self._timer)

    def release_expired(self, now_ms: int) -> None:
        from kohort.coordinator.share_partitions.locks import expiring  # avoids an import cycle

        def on_released(next_ms: int, now_ms: int) -> None:
            self._is_expiring = False
            self.schedule_lock_check(min(next_ms, self._expires_next_ms))

        self._set_timer(NOT_LOCKED)
        self._is_expiring, self._expires_next_ms = True, NOT_LOCKED
        work_in_turns(self.host.purgatory, expiring(self, now_ms), on_released, now_ms)

    # Ending

    def end(self, progress: Progress) -> None:
        """Mark the share partition as unused. No member holds its records any more."""
        if self.progress is Progress.ACTIVE and self.host.record_observer is not UNOBSERVED:
            self.host.record_observer.settled(self.key, list(self._held(self.in_flight.end + 1)), STATE_FORGOTTEN)
        self.progress = progress
        self._set_timer(NOT_LOCKED)

    def _held(self, below: int) -> Iterator[Fate]:
        in_flight = self.in_flight
        for index, holder in enumerate(in_flight.holders[: bisect_left(in_flight.lasts, below)]):
            if isinstance(holder, str):
                yield fate_of(in_flight, index, holder, RELEASED)


class _LockTimer(DelayedOperation):
    """Expiry of the first lock of a share partition."""

    __slots__ = ("_partition",)

    def __init__(self, partition: SharePartition, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self._partition = partition

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self._partition.release_expired(now_ms)
