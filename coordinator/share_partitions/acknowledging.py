"""What a member says of the records it holds: accepted, released, rejected, that there are none, or held for longer.

All batches of one request count, or none does. Source: Kafka's `SharePartition.acknowledge`, whose order of checks and
words are kept; share-groups §12.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from kohort.coordinator.pace import Pace
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
NOTHING_TO_BEGIN_WITH: Final = "Records from before the start on, and nothing is in flight."
"""Never sent: Kafka 4.3.0 fails over the whole request then (UNKNOWN_SERVER_ERROR, seen)."""
NO_RENEWAL: Final = "Renewing the acquisition lock is not enabled for the group."


class Acknowledgement(NamedTuple):
    """Offsets and what a member says of them: one type for all, or one for each."""

    first_offset: int
    last_offset: int
    types: Sequence[int]


class Refused(NamedTuple):
    """Why a request does not count."""

    error_code: ErrorCode
    message: str | None = None


def acknowledging(
    partition: SharePartition, member_id: str, batches: Sequence[Acknowledgement], then: OnDone, now_ms: int
) -> Iterator[None]:
    """Write the acknowledgements of a member, or reject the whole request.

    The caller has checked what can be seen without the records (`badly_formed`). Yields where others may be served:
    no member holds the records acknowledged so far then, and the member gets them back if the rest is rejected. It
    must run to its end.
    """
    pace = Pace()
    request = _Request(partition, member_id, now_ms, pace)
    refusal = None
    for batch in batches:
        refusal = yield from request.say(batch)
        if refusal is not None:
            break
        if pace.add():
            yield
    if request.has_renewed:
        partition.keep_until(request.renewed_until_ms)
    if request.renewals:
        partition.host.record_observer.settled(partition.key, request.renewals)
    if refusal is not None:
        yield from request.transition.taking_back(now_ms)
        then(refusal.error_code, refusal.message, now_ms)
    elif request.transition.began:
        request.transition.write(then, now_ms)
    else:
        then(ErrorCode.none, None, now_ms)


def badly_formed(
    batches: Sequence[Acknowledgement], highest_type: int, pace: Pace, *, renews: bool
) -> Generator[None, None, bool]:
    """Return whether batches contradict themselves or one another: INVALID_REQUEST, whatever is in flight.

    Yields where others may be served.
    Source: Kafka's `KafkaApis.validateAcknowledgementBatches`.

    Args:
        highest_type: The largest type that the version of the request has.
        renews: Whether the request says that it renews.
    """
    before = -1
    for first, last, types in batches:
        if first > last or first < before:
            return True
        if not types or (len(types) > 1 and len(types) != last - first + 1):
            return True
        if min(types) < 0 or max(types) > highest_type or (RENEW in types and not renews):
            return True
        before = last
        if pace.add():
            yield
    return False


class _Request:
    """One call of `acknowledging`."""

    def __init__(self, partition: SharePartition, member_id: str, now_ms: int, pace: Pace) -> None:
        self._partition = partition
        self._member_id = member_id
        self._pace = pace
        self.transition = Transition(partition, member_id)
        self.renewed_until_ms = partition.locks_until(now_ms)
        """When the locks expire of what the member wants to hold for longer."""
        self.has_renewed = False
        self.renewals: list[Fate] = []
        """What that is, while somebody listens."""

    def say(self, said: Acknowledgement) -> Generator[None, None, Refused | None]:
        """Acknowledge one batch, or return why it cannot be done."""
        in_flight = self._partition.in_flight
        if said.last_offset < in_flight.start:
            return None
        number = in_flight.batch_at_or_before(said.first_offset)
        if number < 0 and said.first_offset < in_flight.start:
            number = in_flight.batch_at_or_before(in_flight.start)
            if number < 0:
                return Refused(ErrorCode.unknown_server_error, NOTHING_TO_BEGIN_WITH)
        if number < 0:
            return Refused(ErrorCode.invalid_record_state, NOT_FOUND)
        begin = in_flight.batch_firsts[number]
        end = in_flight.batch_lasts[in_flight.batches_beginning_in(begin, said.last_offset)[-1]]
        if end < said.first_offset:
            return Refused(ErrorCode.invalid_request, FIRST_IS_BEYOND)
        if end < said.last_offset:
            return Refused(ErrorCode.invalid_request, LAST_IS_BEYOND)
        renews = RENEW in said.types
        # Looked up one by one: batches may be dropped and added while others are served.
        while found := in_flight.batches_beginning_in(begin, said.last_offset):
            begin, end = in_flight.batch_firsts[found[0]] + 1, in_flight.batch_lasts[found[0]]
            refusal = yield from self._say_of_batch(found[0], said, renews=renews)
            if refusal is not None:
                return refusal
            if end >= said.last_offset:
                break
            if self._pace.add():
                yield
        return None

    def _say_of_batch(
        self, number: int, said: Acknowledgement, *, renews: bool
    ) -> Generator[None, None, Refused | None]:
        in_flight, pace = self._partition.in_flight, self._pace
        first, last = in_flight.batch_firsts[number], in_flight.batch_lasts[number]
        if last < max(in_flight.start, said.first_offset):
            return None
        begin, end = max(first, said.first_offset, in_flight.start), min(last, said.last_offset)
        if not in_flight.split[number]:
            problem = self._problem_of_whole(number, begin, end)
            if problem is not None:
                return Refused(ErrorCode.invalid_record_state, problem)
            in_flight.split[number] = (begin, end) != (first, last) or len(said.types) > 1
        for piece_begin, piece_end, kind in _pieces(said, begin, end):
            for part in in_flight.slices(piece_begin, piece_end, cut=True):
                problem = self._say_of_ranges(part, kind)
                if problem is not None:
                    return Refused(ErrorCode.invalid_record_state, problem)
                if pace.add(len(part)):
                    yield
        if renews:  # what is being written is joined when it is
            yield from in_flight.join_between(begin, end, pace)
        return None

    def _problem_of_whole(self, number: int, begin: int, end: int) -> str | None:
        """Why nothing can be said of a batch that shares a fate."""
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

    def _say_of_ranges(self, ranges: range, kind: int) -> str | None:
        """Acknowledge ranges with one type, or return why that cannot be done."""
        in_flight = self._partition.in_flight
        for index in ranges:
            problem = self._problem_of_range(index, kind)
            if problem is not None:
                return problem
            if kind == RENEW:
                in_flight.change(index, ACQUIRED, in_flight.counts[index], self._member_id, self.renewed_until_ms)
                self.has_renewed = True
                if self._partition.host.record_observer is not UNOBSERVED:
                    self.renewals.append(fate_of(in_flight, index, self._member_id, RENEWED))
            else:
                self.transition.begin(index, kind)
        return None

    def _problem_of_range(self, index: int, kind: int) -> str | None:
        in_flight = self._partition.in_flight
        holder = in_flight.holders[index]
        if in_flight.states[index] != ACQUIRED or not isinstance(holder, str):
            return OFFSET_NOT_ACQUIRED
        if holder != self._member_id:
            return NOT_OWNER_OF_OFFSET
        if kind == RENEW and not self._partition.config.renew_acknowledge_enable:
            return NO_RENEWAL
        return None


def _pieces(said: Acknowledgement, begin: int, end: int) -> Iterable[tuple[int, int, int]]:
    """Return the longest stretches of offsets between the two that have one type, each with the type."""
    if len(said.types) == 1:
        return ((begin, end, said.types[0]),)
    return _pieces_of_types(said.types[begin - said.first_offset : end - said.first_offset + 1], begin)


def _pieces_of_types(types: Sequence[int], begin: int) -> Iterator[tuple[int, int, int]]:
    for kind, alike in groupby(types):
        size = sum(1 for _ in alike)
        yield begin, begin + size - 1, kind
        begin += size
