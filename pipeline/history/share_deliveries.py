"""Deliveries of records to members of a share group, with duration and outcome, from record events of an event log.

A delivery is a range of records that one member acquired at once, until its end: accepted, released, rejected, or lock
expired. If only a part of a range ended, that part is a separate delivery.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace

from kohort.pipeline.history.inputs import GroupInput, TopicPartition
from kohort.pipeline.history.range_map import OffsetRange, RangeMap
from kohort.pipeline.sources.source_rows import GroupEvent

# Outcomes of a delivery. closed: the member's session ended while it held the records. given_up: the records were
# archived at the delivery limit, and no event shows whether they had been released or their lock had expired.
ACCEPTED, RELEASED, REJECTED, EXPIRED, CLOSED, GIVEN_UP = (
    "accepted", "released", "rejected", "expired", "closed", "given_up"
)  # fmt: skip
FAILED = (RELEASED, EXPIRED, CLOSED, GIVEN_UP)
_ACQUIRED, _RENEWED, _ARCHIVED = "records_acquired", "records_renewed", "records_archived"
_ENDS = {
    "records_accepted": ACCEPTED,
    "records_released": RELEASED,
    "records_rejected": REJECTED,
    "lock_expired": EXPIRED,
    _ARCHIVED: GIVEN_UP,
}
_DEAD_LETTERS = frozenset(("dead_letter_written", "dead_letter_failed"))
RECORD_EVENTS = frozenset((_ACQUIRED, _RENEWED, *_ENDS))
# Causes: of `records_released`, that the member acknowledged them so; of `records_archived`.
ACKNOWLEDGED, AT_THE_LIMIT = "acknowledged", "delivery_limit"


@dataclass(frozen=True, slots=True)
class Delivery:
    """Records acquired by a member.

    Attributes:
        count: Delivery count at that time.
        since_ms: Start, or None if the log begins later.
        end_ms: End, or None while the member holds them, like `how`.
        renewals: Number of lock renewals.
    """

    topic_partition: TopicPartition
    first: int
    last: int
    count: int
    member_id: str
    since_ms: int | None
    end_ms: int | None = None
    how: str | None = None
    renewals: int = 0

    @property
    def records(self) -> int:
        return self.last - self.first + 1

    @property
    def held_ms(self) -> int | None:
        return None if self.since_ms is None or self.end_ms is None else self.end_ms - self.since_ms


@dataclass(frozen=True, slots=True)
class Archived:
    """Records that reached the delivery limit. `trail` holds their known deliveries, in order."""

    topic_partition: TopicPartition
    first: int
    last: int
    count: int
    ms: int
    trail: tuple[Delivery, ...]

    @property
    def records(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class DeadLetterOutcome:
    """Records whose dead letters were written to `topic_name`, or the reason why they were not."""

    topic_partition: TopicPartition
    first: int
    last: int
    topic_name: str
    reason: str  # empty: they were written

    @property
    def records(self) -> int:
        return self.last - self.first + 1


@dataclass(slots=True)
class ShareDeliveries:
    """All deliveries of a share group.

    Attributes:
        ended: Deliveries ordered by their end, like `archived`.
        held: Records not returned when the log ended.
        done: Ranges of archived or rejected records, for any reason.
    """

    ended: list[Delivery] = field(default_factory=list)
    done: dict[TopicPartition, RangeMap[bool]] = field(default_factory=dict)
    archived: list[Archived] = field(default_factory=list)
    held: list[Delivery] = field(default_factory=list)
    dead_letters: list[DeadLetterOutcome] = field(default_factory=list)
    first_ms: int | None = None  # time of the first record event, or None without one


def share_deliveries(group: GroupInput) -> ShareDeliveries:
    walk = _Walk()
    for event in group.events:
        if event.kind in RECORD_EVENTS and (key := _range(event)) is not None:
            walk.event(event, *key)
        elif event.kind in _DEAD_LETTERS and (key := _range(event)) is not None:
            detail = event.detail or {}
            outcome = DeadLetterOutcome(*key[:3], detail.get("dead_letter_topic", ""), detail.get("reason", ""))
            walk.result.dead_letters.append(outcome)
    walk.result.held = [entry.value for ranges in walk.open.values() for entry in _cut(ranges)]
    return walk.result


def _range(event: GroupEvent) -> tuple[TopicPartition, int, int, int] | None:
    """Return partition, first and last offset, and delivery count of a record event, or None for another event."""
    detail = event.detail or {}
    try:
        topic_partition = detail["topic"], int(detail["partition"])
        first, last = int(detail["first_offset"]), int(detail["last_offset"])
        return (topic_partition, first, last, int(detail.get("delivery_count", 0))) if first <= last else None
    except (LookupError, ValueError):
        return None


def _cut(ranges: RangeMap[Delivery]) -> list[OffsetRange[Delivery]]:
    return [entry._replace(value=replace(entry.value, first=entry.first, last=entry.last)) for entry in ranges]


class _Walk:
    def __init__(self) -> None:
        self.result = ShareDeliveries()
        self.open: dict[TopicPartition, RangeMap[Delivery]] = defaultdict(RangeMap)
        self._trails: dict[TopicPartition, RangeMap[tuple[Delivery, ...]]] = defaultdict(RangeMap)

    def event(self, event: GroupEvent, topic_partition: TopicPartition, first: int, last: int, count: int) -> None:
        """Process a record event. Events must be in order."""
        if self.result.first_ms is None:
            self.result.first_ms = event.ts
        if event.kind == _ACQUIRED:
            self.open[topic_partition].take(first, last)
            self.open[topic_partition].put(
                first, last, Delivery(topic_partition, first, last, count, event.member_id or "", event.ts)
            )
        elif event.kind == _RENEWED:
            for piece in self.open[topic_partition].take(first, last):
                renewed = replace(piece.value, renewals=piece.value.renewals + 1)
                self.open[topic_partition].put(piece.first, piece.last, renewed)
        else:
            self._ends(event, topic_partition, first, last, count)

    def _ends(self, event: GroupEvent, topic_partition: TopicPartition, first: int, last: int, count: int) -> None:
        how = _ENDS[event.kind]
        if how == RELEASED and event.cause not in (None, ACKNOWLEDGED):
            how = CLOSED
        at_the_limit = event.kind == _ARCHIVED and event.cause == AT_THE_LIMIT
        if how in (GIVEN_UP, REJECTED):
            ranges = self.result.done.setdefault(topic_partition, RangeMap())
            ranges.take(first, last)
            ranges.put(first, last, True)
        for piece in self.open[topic_partition].pieces(first, last):
            delivery = piece.value
            if delivery is None:
                if event.kind == _ARCHIVED or not event.member_id:
                    continue  # the records had been given back before
                delivery = Delivery(topic_partition, piece.first, piece.last, count, event.member_id, None)
            ended = replace(delivery, first=piece.first, last=piece.last, end_ms=event.ts, how=how)
            self.result.ended.append(ended)
            self._note(topic_partition, ended)
        if at_the_limit:
            for trail in self._trails[topic_partition].pieces(first, last):
                self.result.archived.append(
                    Archived(topic_partition, trail.first, trail.last, count, event.ts, trail.value or ())
                )

    def _note(self, topic_partition: TopicPartition, ended: Delivery) -> None:
        """Keep the history of records that will be redelivered, and drop that of others."""
        for piece in self._trails[topic_partition].pieces(ended.first, ended.last):
            if ended.how in FAILED:
                self._trails[topic_partition].put(piece.first, piece.last, (*(piece.value or ()), ended))
