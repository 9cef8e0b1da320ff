"""Who held which records of a share group, for how long, and how that ended: from the record events of an event log.

A delivery is a range of records that one member got at once, up to its end: accepted, released, rejected, or its lock
expired. Where only a part of a range ended, that part is a delivery of its own.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace

from kohort.pipeline.history.inputs import GroupInput, TopicPartition
from kohort.pipeline.history.range_map import OffsetRange, RangeMap
from kohort.pipeline.sources.source_rows import GroupEvent

ACCEPTED, RELEASED, REJECTED, EXPIRED, CLOSED, GIVEN_UP = (
    "accepted", "released", "rejected", "expired", "closed", "given_up"
)  # fmt: skip
"""How a delivery ended. closed: the member's session ended with the records in its hands. given_up: the records were
archived at the delivery limit, and no event tells whether they had been released or their lock had expired."""
FAILED = (RELEASED, EXPIRED, CLOSED, GIVEN_UP)
_ACQUIRED, _RENEWED, _ARCHIVED = "records_acquired", "records_renewed", "records_archived"
_ENDS = {
    "records_accepted": ACCEPTED,
    "records_released": RELEASED,
    "records_rejected": REJECTED,
    "lock_expired": EXPIRED,
    _ARCHIVED: GIVEN_UP,
}
RECORD_EVENTS = frozenset((_ACQUIRED, _RENEWED, *_ENDS))
ACKNOWLEDGED, AT_THE_LIMIT = "acknowledged", "delivery_limit"
"""Causes: of `records_released`, that the member said so itself; of `records_archived`."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """Records in the hands of a member. count: how often they had been delivered then.

    since_ms: None where the log begins later. end_ms, how: None while it holds them. renewals: of the lock.
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
        """How long they were held; None where the beginning or the end was not seen."""
        return None if self.since_ms is None or self.end_ms is None else self.end_ms - self.since_ms


@dataclass(frozen=True, slots=True)
class Archived:
    """Records that were delivered as often as the limit allows. trail: their deliveries that were seen, in order."""

    topic_partition: TopicPartition
    first: int
    last: int
    count: int
    ms: int
    trail: tuple[Delivery, ...]

    @property
    def records(self) -> int:
        return self.last - self.first + 1


@dataclass(slots=True)
class ShareDeliveries:
    """ended, archived: in the order of their ends. held: what nobody had given back when the log ended.

    done: where records were archived or rejected, for whatever reason.
    """

    ended: list[Delivery] = field(default_factory=list)
    done: dict[TopicPartition, RangeMap[bool]] = field(default_factory=dict)
    archived: list[Archived] = field(default_factory=list)
    held: list[Delivery] = field(default_factory=list)
    first_ms: int | None = None
    """When the first record event happened; None: there is none."""


def share_deliveries(group: GroupInput) -> ShareDeliveries:
    """All deliveries that the group's events tell of."""
    walk = _Walk()
    for event in group.events:
        if event.kind in RECORD_EVENTS and (found := _range(event)) is not None:
            walk.event(event, *found)
    walk.result.held = [each.value for ranges in walk.open.values() for each in _cut(ranges)]
    return walk.result


def _range(event: GroupEvent) -> tuple[TopicPartition, int, int, int] | None:
    """Partition, first and last offset, and delivery count of a record event; None for one that is none."""
    told = event.detail or {}
    try:
        place = told["topic"], int(told["partition"])
        first, last = int(told["first_offset"]), int(told["last_offset"])
        return (place, first, last, int(told.get("delivery_count", 0))) if first <= last else None
    except (LookupError, ValueError):
        return None


def _cut(ranges: RangeMap[Delivery]) -> list[OffsetRange[Delivery]]:
    """The ranges, each delivery cut to its own."""
    return [each._replace(value=replace(each.value, first=each.first, last=each.last)) for each in ranges]


class _Walk:
    def __init__(self) -> None:
        self.result = ShareDeliveries()
        self.open: dict[TopicPartition, RangeMap[Delivery]] = defaultdict(RangeMap)
        self._trails: dict[TopicPartition, RangeMap[tuple[Delivery, ...]]] = defaultdict(RangeMap)

    def event(self, event: GroupEvent, place: TopicPartition, first: int, last: int, count: int) -> None:
        """A record event. Events come in the order in which they happened."""
        if self.result.first_ms is None:
            self.result.first_ms = event.ts
        if event.kind == _ACQUIRED:
            self.open[place].take(first, last)
            self.open[place].put(first, last, Delivery(place, first, last, count, event.member_id or "", event.ts))
        elif event.kind == _RENEWED:
            for piece in self.open[place].take(first, last):
                renewed = replace(piece.value, renewals=piece.value.renewals + 1)
                self.open[place].put(piece.first, piece.last, renewed)
        else:
            self._ends(event, place, first, last, count)

    def _ends(self, event: GroupEvent, place: TopicPartition, first: int, last: int, count: int) -> None:
        how = _ENDS[event.kind]
        if how == RELEASED and event.cause not in (None, ACKNOWLEDGED):
            how = CLOSED
        at_the_limit = event.kind == _ARCHIVED and event.cause == AT_THE_LIMIT
        if how in (GIVEN_UP, REJECTED):
            done = self.result.done.setdefault(place, RangeMap())
            done.take(first, last)
            done.put(first, last, True)
        for piece in self.open[place].pieces(first, last):
            seen = piece.value
            if seen is None:
                if event.kind == _ARCHIVED or not event.member_id:
                    continue  # the records had been given back before
                seen = Delivery(place, piece.first, piece.last, count, event.member_id, None)
            ended = replace(seen, first=piece.first, last=piece.last, end_ms=event.ts, how=how)
            self.result.ended.append(ended)
            self._note(place, ended)
        if at_the_limit:
            for trail in self._trails[place].pieces(first, last):
                self.result.archived.append(
                    Archived(place, trail.first, trail.last, count, event.ts, trail.value or ())
                )

    def _note(self, place: TopicPartition, ended: Delivery) -> None:
        """Keeps the story of records that will come again; that of others is over."""
        for piece in self._trails[place].pieces(ended.first, ended.last):
            if ended.how in FAILED:
                self._trails[place].put(piece.first, piece.last, (*(piece.value or ()), ended))
