"""What becomes of records that members hold no longer: their time is up, or their session has ended.

Source: Kafka's `releaseAcquisitionLockOnTimeout` and `releaseAcquiredRecords`; share-groups §13.
"""

from kohort.coordinator.share_partitions.record_observer import EXPIRED, SESSION_CLOSED, UNOBSERVED, fate_of
from kohort.coordinator.share_partitions.record_states import AVAILABLE, RELEASE
from kohort.coordinator.share_partitions.share_partition import SharePartition, states_of
from kohort.coordinator.share_partitions.transitions import OnDone, Transition, after, is_over, write_down
from kohort.coordinator.share_state.state_outcome import StateOutcome
from kohort.protocol.errors import ErrorCode


def expire(partition: SharePartition, now_ms: int) -> None:
    """The time of some locks is up: others may have the records. That stands even if it cannot be written down."""
    in_flight = partition.in_flight
    _cut_at_start(partition)
    freed = in_flight.due(now_ms)
    if not freed:
        return
    fates, observer = [], partition.host.record_observer
    for index in freed:
        member_id = in_flight.holders[index]
        assert isinstance(member_id, str), "it is due"
        in_flight.change(index, after(partition, index, AVAILABLE), in_flight.counts[index], None)
        if observer is not UNOBSERVED:
            fates.append(fate_of(in_flight, index, member_id, EXPIRED))
    if fates:
        observer.settled(partition.key, fates)
    batches = states_of(in_flight, freed)
    in_flight.join(freed[0], freed[-1] + 1)

    def written(outcome: StateOutcome, now_ms: int) -> None:
        if partition.pass_what_is_done():
            partition.host.changed(partition, now_ms)

    write_down(partition, batches, written, now_ms)
    partition.host.changed(partition, now_ms)


def release(partition: SharePartition, member_id: str, then: OnDone, now_ms: int, cause: str = SESSION_CLOSED) -> None:
    """A member's session has ended: others may have what it holds, once that is written down. `cause`: why it has."""
    if is_over(partition):
        then(ErrorCode.none, None, now_ms)
        return
    in_flight = partition.in_flight
    transition = Transition(partition, member_id, cause)
    _cut_at_start(partition)
    for index, holder in enumerate(in_flight.holders):
        if holder == member_id:
            transition.begin(index, RELEASE)
    if transition.began:
        transition.write(then, now_ms)
    else:
        then(ErrorCode.none, None, now_ms)


def _cut_at_start(partition: SharePartition) -> None:
    """Cuts a range that reaches over the start: what lies before is archived, however seldom it was delivered."""
    in_flight = partition.in_flight
    number = in_flight.batch_at_or_before(in_flight.start)
    if number >= 0 and in_flight.batch_firsts[number] < in_flight.start <= in_flight.batch_lasts[number]:
        in_flight.carve(in_flight.start, in_flight.batch_lasts[number])
