"""Release of records whose lock has expired, or whose member's session has ended.

Any number of ranges may be acquired, so they are processed in slices, each with its own write.
Source: Kafka's `releaseAcquisitionLockOnTimeout` and `releaseAcquiredRecords`; share-groups §13.
"""

from collections.abc import Generator
from typing import Final

from kohort.coordinator.pace import Pace
from kohort.coordinator.share_partitions.dead_letters import LIMIT_MESSAGE, DeadLetters, letters_of
from kohort.coordinator.share_partitions.in_flight import NOT_LOCKED
from kohort.coordinator.share_partitions.record_observer import EXPIRED, SESSION_CLOSED, UNOBSERVED, fate_of
from kohort.coordinator.share_partitions.record_states import ARCHIVING, AVAILABLE, RELEASE
from kohort.coordinator.share_partitions.share_partition import SharePartition
from kohort.coordinator.share_partitions.transitions import (
    Transition,
    has_ended,
    move_start,
    put_state,
    resulting_state,
    write_down,
)
from kohort.coordinator.share_state.state_batches import StateBatches
from kohort.coordinator.share_state.state_outcome import StateOutcome
from kohort.protocol.errors import ErrorCode

_ALL: Final = 2**63 - 1


def expiring(partition: SharePartition, now_ms: int) -> Generator[None, None, int]:
    """Release records whose locks have expired, even if their states cannot be written.

    Yield so that other requests are served.

    Returns:
        When the next lock expires, or NOT_LOCKED if no lock is left.
    """
    in_flight, pace = partition.in_flight, Pace()
    next_ms = NOT_LOCKED
    _cut_at_start(partition)
    for part in in_flight.slices(0, _ALL):
        expired = []
        for index in part:
            until_ms = in_flight.locked_until[index]
            if until_ms > now_ms:
                next_ms = min(next_ms, until_ms)
            elif isinstance(in_flight.holders[index], str):
                expired.append(index)
        if expired:
            _expire(partition, expired, now_ms)
        if pace.add(len(part)):
            yield
            if has_ended(partition):
                break
    return next_ms


def _expire(partition: SharePartition, expired: list[int], now_ms: int) -> None:
    in_flight, observer = partition.in_flight, partition.host.record_observer
    fates, batches, letters = [], StateBatches(), list[DeadLetters]()
    for index in expired:
        member_id = in_flight.holders[index]
        assert isinstance(member_id, str), "only held ranges expire"
        in_flight.change(index, resulting_state(partition, index, AVAILABLE), in_flight.counts[index], None)
        put_state(batches, in_flight, index)
        if in_flight.states[index] == ARCHIVING:
            letters.append(letters_of(in_flight, index, LIMIT_MESSAGE))
        if observer is not UNOBSERVED:
            fates.append(fate_of(in_flight, index, member_id, EXPIRED))
    if fates:
        observer.settled(partition.key, fates)
    in_flight.join(expired[0], expired[-1] + 1)

    def written(outcome: StateOutcome, now_ms: int) -> None:
        if letters:
            partition.host.send_dead_letters(partition, letters, now_ms)
        move_start(partition, now_ms)

    write_down(partition, batches, written, now_ms)
    partition.host.changed(partition, now_ms)


def releasing(
    partition: SharePartition, member_id: str, now_ms: int, cause: str = SESSION_CLOSED
) -> Generator[None, None, None]:
    """Release the records of a member whose session has ended. They are available after the write.

    Yield so that other requests are served.

    Args:
        cause: Why the session ended.
    """
    in_flight, pace = partition.in_flight, Pace()
    if has_ended(partition):
        return
    _cut_at_start(partition)
    for part in in_flight.slices(0, _ALL):
        transition = Transition(partition, member_id, cause)
        for index in part:
            if in_flight.holders[index] == member_id:
                transition.begin(range(index, index + 1), bytes([RELEASE]))
        if transition.began:
            transition.write(_released, now_ms)
        if pace.add(len(part)):
            yield
            if has_ended(partition):
                return


def _released(error: ErrorCode, message: str | None, now_ms: int) -> None:
    """Ignore the result: records whose state could not be written stay locked until their locks expire."""


def _cut_at_start(partition: SharePartition) -> None:
    in_flight = partition.in_flight
    number = in_flight.batch_at_or_before(in_flight.start)
    if number >= 0 and in_flight.batch_firsts[number] < in_flight.start <= in_flight.batch_lasts[number]:
        in_flight.carve(in_flight.start, in_flight.batch_lasts[number])
