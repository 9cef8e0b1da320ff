"""Acknowledgements of acquired records: accept, release, reject, gap or renew.

All batches of a request are applied, or none. Source: Kafka's `SharePartition.acknowledge`, with the same order of
checks and the same messages; share-groups §12.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from kohort.coordinator.pace import ELEMENTS_AT_ONCE, Pace, column_weight
from kohort.coordinator.share_partitions.in_flight import Pending
from kohort.coordinator.share_partitions.record_observer import UNOBSERVED, Fate, fate_of
from kohort.coordinator.share_partitions.record_states import ACQUIRED, RENEW, RENEWED
from kohort.coordinator.share_partitions.share_partition import SharePartition
from kohort.coordinator.share_partitions.transitions import OnDone, Transition
from kohort.protocol.errors import ErrorCode

NOT_FOUND: Final = "Batch record not found. The request batch offsets are not found in the cache."
FIRST_IS_BEYOND: Final = "Batch record not found. The first offset in request is past acquired records."
LAST_IS_BEYOND: Final = "Batch record not found. The last offset in request is past acquired records."
BATCH_NOT_ACQUIRED: Final = "The batch cannot be acknowledged. The batch is not in the acquired state."
PART_NOT_ACQUIRED: Final = "The batch cannot be acknowledged. The subset batch is not in the acquired state."
OFFSET_NOT_ACQUIRED: Final = "The offset cannot be acknowledged. The offset is not acquired."
NOT_OWNER_OF_BATCH: Final = "Member is not the owner of batch record"
NOT_OWNER_OF_OFFSET: Final = "Member is not the owner of offset"
# never sent: Kafka 4.3.0 fails the whole request then (UNKNOWN_SERVER_ERROR, seen)
NOTHING_TO_BEGIN_WITH: Final = "Records from before the start on, and nothing is in flight."
NO_RENEWAL: Final = "Renewing the acquisition lock is not enabled for the group."


class Acknowledgement(NamedTuple):
    """Offsets and their acknowledge types: one type for all, or one per offset."""

    first_offset: int
    last_offset: int
    types: Sequence[int]


class Refused(NamedTuple):
    """Error that rejects a request."""

    error_code: ErrorCode
    message: str | None = None


def acknowledging(
    partition: SharePartition, member_id: str, batches: Sequence[Acknowledgement], on_done: OnDone, now_ms: int
) -> Iterator[None]:
    """Write the acknowledgements of a member, or reject the whole request.

    The caller has checked the batches with `badly_formed`. The generator yields so that other requests are served; then
    no member holds the records acknowledged so far, and the member gets them back if the rest is rejected. It must run
    to its end.
    """
    pace = Pace()
    request = _Request(partition, member_id, now_ms, pace)
    refusal = None
    for batch in batches:
        refusal = yield from request.acknowledge(batch)
        if refusal is not None:
            break
        if pace.add():
            yield
    if request.has_renewed:
        partition.schedule_lock_check(request.renewed_until_ms)
    if request.renewals:
        partition.host.record_observer.settled(partition.key, request.renewals)
    if refusal is not None:
        yield from request.transition.rolling_back(now_ms)
        on_done(refusal.error_code, refusal.message, now_ms)
    elif request.transition.began:
        request.transition.write(on_done, now_ms)
    else:
        on_done(ErrorCode.none, None, now_ms)


def badly_formed(
    batches: Sequence[Acknowledgement], highest_type: int, pace: Pace, *, renews: bool
) -> Generator[None, None, bool]:
    """Return whether batches are malformed, which is INVALID_REQUEST. Yield so that other requests are served.

    Source: Kafka's `KafkaApis.validateAcknowledgementBatches`.

    Args:
        highest_type: The largest type in the version of the request.
        renews: Whether the request has IsRenewAck set.
    """
    previous_last = -1
    for first, last, types in batches:
        if first > last or first < previous_last:
            return True
        if not types or (len(types) > 1 and len(types) != last - first + 1):
            return True
        if min(types) < 0 or max(types) > highest_type or (RENEW in types and not renews):
            return True
        previous_last = last
        if pace.add():
            yield
    return False


class _Request:
    """Call of `acknowledging`."""

    def __init__(self, partition: SharePartition, member_id: str, now_ms: int, pace: Pace) -> None:
        self._partition = partition
        self._member_id = member_id
        self._pace = pace
        self.transition = Transition(partition, member_id)
        self.renewed_until_ms = partition.lock_expiry_ms(now_ms)  # expiry of renewed locks
        self.has_renewed = False
        self.renewals: list[Fate] = []  # renewed ranges, if they are observed

    def acknowledge(self, acknowledgement: Acknowledgement) -> Generator[None, None, Refused | None]:
        """Acknowledge one batch, or return the error."""
        in_flight = self._partition.in_flight
        if acknowledgement.last_offset < in_flight.start:
            return None
        number = in_flight.batch_at_or_before(acknowledgement.first_offset)
        if number < 0 and acknowledgement.first_offset < in_flight.start:
            number = in_flight.batch_at_or_before(in_flight.start)
            if number < 0:
                return Refused(ErrorCode.unknown_server_error, NOTHING_TO_BEGIN_WITH)
        if number < 0:
            return Refused(ErrorCode.invalid_record_state, NOT_FOUND)
        begin = in_flight.batch_firsts[number]
        end = in_flight.batch_lasts[in_flight.batches_beginning_in(begin, acknowledgement.last_offset)[-1]]
        if end < acknowledgement.first_offset:
            return Refused(ErrorCode.invalid_request, FIRST_IS_BEYOND)
        if end < acknowledgement.last_offset:
            return Refused(ErrorCode.invalid_request, LAST_IS_BEYOND)
        renews = RENEW in acknowledgement.types
        # Looked up one by one: batches may be dropped and added while other requests are served.
        while numbers := in_flight.batches_beginning_in(begin, acknowledgement.last_offset):
            begin, end = in_flight.batch_firsts[numbers[0]] + 1, in_flight.batch_lasts[numbers[0]]
            refusal = yield from self._acknowledge_batch(numbers[0], acknowledgement, renews=renews)
            if refusal is not None:
                return refusal
            if end >= acknowledgement.last_offset:
                break
            if self._pace.add():
                yield
        return None

    def _acknowledge_batch(
        self, number: int, acknowledgement: Acknowledgement, *, renews: bool
    ) -> Generator[None, None, Refused | None]:
        in_flight, pace = self._partition.in_flight, self._pace
        first, last = in_flight.batch_firsts[number], in_flight.batch_lasts[number]
        if last < max(in_flight.start, acknowledgement.first_offset):
            return None
        begin, end = max(first, acknowledgement.first_offset, in_flight.start), min(last, acknowledgement.last_offset)
        if not in_flight.split[number]:
            message = self._check_whole_batch(number, begin, end)
            if message is not None:
                return Refused(ErrorCode.invalid_record_state, message)
            in_flight.split[number] = (begin, end) != (first, last) or len(acknowledgement.types) > 1
        for section_begin, section_end, types in _sections(acknowledgement, begin, end):
            for part in in_flight.slices(section_begin, section_end, cut=True):
                refusal = self._acknowledge_ranges(part, types, section_begin)
                if refusal is not None:
                    return Refused(ErrorCode.invalid_record_state, refusal)
                if pace.add(len(part) + (len(types) if renews else column_weight(len(types)))):
                    yield
        if renews:  # other ranges are joined after the write
            yield from in_flight.join_between(begin, end, pace)
        return None

    def _check_whole_batch(self, number: int, begin: int, end: int) -> str | None:
        in_flight = self._partition.in_flight
        first, last = in_flight.batch_firsts[number], in_flight.batch_lasts[number]
        (index,) = in_flight.ranges_between(first, last)
        holder = in_flight.holders[index]
        if holder is None or isinstance(holder, Pending):
            return BATCH_NOT_ACQUIRED
        if holder != self._member_id:
            return NOT_OWNER_OF_BATCH
        if in_flight.states[index] != ACQUIRED:
            return BATCH_NOT_ACQUIRED if (begin, end) == (first, last) else PART_NOT_ACQUIRED
        return None

    def _acknowledge_ranges(self, ranges: range, types: bytes, begin: int) -> str | None:
        """Acknowledge ranges, or return the error message.

        Args:
            types: One type for each offset from `begin` on, or one for all.
        """
        in_flight = self._partition.in_flight
        index, end = ranges.start, ranges.stop
        while index < end:
            own_types = types
            if len(types) > 1:
                own_types = types[in_flight.firsts[index] - begin : in_flight.lasts[index] - begin + 1]
            message = self._check_range(index, own_types)
            if message is not None:
                return message
            parts, kinds = in_flight.divide(index, own_types)
            if RENEW in kinds:
                self._acknowledge_and_renew(parts, kinds)
            else:
                self.transition.begin(parts, kinds)
            index, end = parts.stop, end + len(parts) - 1
        return None

    def _acknowledge_and_renew(self, ranges: range, kinds: bytes) -> None:
        in_flight = self._partition.in_flight
        for index, kind in zip(ranges, kinds, strict=True):
            if kind != RENEW:
                self.transition.begin(range(index, index + 1), bytes([kind]))
                continue
            in_flight.change(index, ACQUIRED, in_flight.counts[index], self._member_id, self.renewed_until_ms)
            self.has_renewed = True
            if self._partition.host.record_observer is not UNOBSERVED:
                self.renewals.append(fate_of(in_flight, index, self._member_id, RENEWED))

    def _check_range(self, index: int, types: bytes) -> str | None:
        in_flight = self._partition.in_flight
        holder = in_flight.holders[index]
        if in_flight.states[index] != ACQUIRED or not isinstance(holder, str):
            return OFFSET_NOT_ACQUIRED
        if holder != self._member_id:
            return NOT_OWNER_OF_OFFSET
        if RENEW in types and not self._partition.config.renew_acknowledge_enable:
            return NO_RENEWAL
        return None


def _sections(acknowledgement: Acknowledgement, begin: int, end: int) -> Iterable[tuple[int, int, bytes]]:
    """Return sections of the offsets, as first offset, last offset, and types: one for all, or one per offset."""
    if len(acknowledgement.types) == 1:
        return ((begin, end, bytes(acknowledgement.types)),)
    types = bytes(acknowledgement.types[begin - acknowledgement.first_offset :])
    return (
        (first, min(first + ELEMENTS_AT_ONCE - 1, end), types[first - begin : first - begin + ELEMENTS_AT_ONCE])
        for first in range(begin, end + 1, ELEMENTS_AT_ONCE)
    )
