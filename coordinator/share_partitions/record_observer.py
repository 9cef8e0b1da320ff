"""Observer of the records of share partitions. It does not influence the share partitions."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from kohort.coordinator.share_partitions.dead_letters import DeadLetters
from kohort.coordinator.share_partitions.in_flight import InFlight
from kohort.coordinator.share_partitions.record_states import ARCHIVED, ARCHIVING, REJECTED
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey

EXPIRED: Final = "expired"

ACKNOWLEDGED_BY_MEMBER: Final = "acknowledged"
SESSION_CLOSED: Final = "session_closed"
CONNECTION_CLOSED: Final = "connection_closed"
# Causes for which a member stops holding records. The last one: their leader has dropped all state of the partition.
STATE_FORGOTTEN: Final = "state_forgotten"

DELIVERY_LIMIT: Final = "delivery_limit"
BELOW_START: Final = "below_start"
COMPACTED: Final = "compacted"
ABORTED: Final = "aborted"  # Reasons for archiving records that were not rejected; NO_RECORD is another one.


class Fate(NamedTuple):
    """New state of a range of records."""

    first_offset: int
    last_offset: int
    delivery_count: int
    member_id: str | None  # the member that holds them or has held them until now
    fate: str | None  # ACCEPTED and so on; None: only archived
    archived: str | None = None  # why they are never delivered again, unless `fate` is the reason


RangeT = TypeVar("RangeT", bound=Fate | DeadLetters)


def joined(ranges: Iterable[RangeT]) -> Iterator[RangeT]:
    """Merge adjacent ranges that differ only in their offsets."""
    merged: Any = None  # mypy cannot follow `_replace` of either type
    for part in ranges:
        if merged is not None and (merged.last_offset + 1, *merged[2:]) == (part.first_offset, *part[2:]):
            merged = merged._replace(last_offset=part.last_offset)
            continue
        if merged is not None:
            yield merged
        merged = part
    if merged is not None:
        yield merged


def fate_of(
    in_flight: InFlight, index: int, member_id: str | None, fate: str | None, archived: str | None = None
) -> Fate:
    """Return the new state of a range.

    Args:
        archived: The reason for archiving it. By default it is derived from the start offset or the delivery count.
    """
    first, last, count = in_flight.firsts[index], in_flight.lasts[index], in_flight.counts[index]
    if archived is None and in_flight.states[index] in (ARCHIVING, ARCHIVED) and fate != REJECTED:
        archived = BELOW_START if last < in_flight.start else DELIVERY_LIMIT
    return Fate(first, last, count, member_id, fate, archived)


class RecordObserver:
    """Observer that does nothing. The one in `share_record_source.py` writes events.

    Values that change with every fetch or acknowledgement are computed only if the observer is not UNOBSERVED.
    """

    def loaded(self, key: SharePartitionKey, start: int) -> None:
        """Note that a leader has loaded the state of a share partition with this start offset."""

    def acquired(self, key: SharePartitionKey, member_id: str, entries: Sequence[tuple[int, int, int]]) -> None:
        """Note that a member has acquired records. Entries have first offset, last offset and delivery count."""

    def settled(self, key: SharePartitionKey, fates: Iterable[Fate], cause: str | None = None) -> None:
        """Note new states of records. The cause is that of the RELEASED ones."""

    def dead_letter_written(self, key: SharePartitionKey, letter: DeadLetters, topic: str, partition: int) -> None:
        """Note that dead letters were written to a partition of the group's dead-letter topic."""

    def dead_letter_failed(
        self, key: SharePartitionKey, letter: DeadLetters, topic: str, cause: str, reason: str
    ) -> None:
        """Note that dead letters cannot be written: their records are archived all the same."""

    def start_moved(self, key: SharePartitionKey, old_start: int, start: int) -> None:
        """Note that the start offset of a share partition has moved forward."""


UNOBSERVED: Final = RecordObserver()
