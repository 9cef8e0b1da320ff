"""Everything that is known of the records of a share group: one value, from whichever sources tell of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

from kohort.pipeline.history.inputs import GroupInput, TopicPartition
from kohort.pipeline.history.range_map import RangeMap
from kohort.pipeline.history.share_deliveries import (
    ACCEPTED,
    CLOSED,
    EXPIRED,
    RELEASED,
    Archived,
    Delivery,
    ShareDeliveries,
    share_deliveries,
)
from kohort.pipeline.history.share_lag import ShareLag, share_lags
from kohort.pipeline.history.share_members import ShareStay, share_stays
from kohort.pipeline.history.written_states import PartitionStates, StateEnd, share_states

SHARE = "share"
FEWEST_DELIVERIES = 2
"""The lowest limit that brokers take: what was archived after one delivery was rejected, or never there."""
USUAL_LIMIT = 5
"""`group.share.delivery.count.limit`, unless somebody has set it."""
SHORTEST_LOCK_MS = 1000
"""`group.share.min.record.lock.duration.ms` can't be set lower."""


@dataclass(frozen=True, slots=True)
class GivenUp:
    """Records that were archived after as many deliveries as there may be, without having been accepted.

    first_ms: of the first delivery or return that was seen. clients: those who had held them, by name. released,
    expired, closed: how their deliveries ended; None where the source doesn't tell. quick: no lock is so short as the
    time from one return to the next, so that a member gave them back. at_limit: an event says that the limit was
    reached; else a member may have rejected them at the end.
    """

    topic_partition: TopicPartition
    first: int
    last: int
    count: int
    first_ms: int
    end_ms: int
    clients: tuple[str, ...] = ()
    released: int | None = None
    expired: int | None = None
    closed: int | None = None
    quick: bool = False
    at_limit: bool = False

    @property
    def records(self) -> int:
        return self.last - self.first + 1

    @property
    def name(self) -> str:
        """Where they are, as a person says it."""
        topic, part = self.topic_partition
        return f"{topic}-{part}@{self.first}" + (f" to {self.last}" if self.last > self.first else "")


@dataclass(slots=True)
class ShareHistory:
    """names: of members, by their ids. until_ms: the end of what was looked at.

    partitions: those that the group is known to have, whether or not anything was read of their records.
    """

    deliveries: ShareDeliveries
    states: dict[TopicPartition, PartitionStates]
    lags: dict[TopicPartition, ShareLag]
    stays: list[ShareStay]
    names: dict[str, str]
    events_from_ms: int | None
    until_ms: int
    partitions: set[TopicPartition]
    given_up: list[GivenUp] = field(default_factory=list)

    def name(self, member_id: str) -> str:
        return self.names.get(member_id, member_id)

    @property
    def has_deliveries(self) -> bool:
        """Whether record events tell who held what."""
        return self.deliveries.first_ms is not None

    @property
    def seen_from_ms(self) -> int | None:
        """From when on nothing that happens to records goes unseen; None: it does."""
        unread = self.lags.keys() - self.states.keys()
        of_states = max((each.since_ms for each in self.states.values()), default=None) if not unread else None
        return min((each for each in (self.events_from_ms, of_states) if each is not None), default=None)

    @property
    def unread(self) -> int:
        """Partitions of the group of whose records nothing was read: what became of them isn't known."""
        return 0 if self.has_deliveries else len(self.partitions - self.states.keys())

    def accepted_between(self, start_ms: int, end_ms: int) -> int:
        """Records that were accepted from one moment to another, both included.

        Either source may begin late: what one of them has seen was accepted, whatever the other one says.
        """
        by_events = ((d.end_ms, d.records) for d in self.deliveries.ended if d.how == ACCEPTED)
        by_states = ((e.ms, e.records) for of in self.states.values() for e in of.accepted)
        return max(_sum_between(by_events, start_ms, end_ms), _sum_between(by_states, start_ms, end_ms))


def _sum_between(ended: Iterable[tuple[int | None, int]], start_ms: int, end_ms: int) -> int:
    return sum(records for ms, records in ended if ms is not None and start_ms <= ms <= end_ms)


def share_history(group: GroupInput) -> ShareHistory | None:
    """The records of a share group; None for a group of another kind."""
    events = [event for event in group.events if event.group_type == SHARE]
    of_shares = any(record.group_type == SHARE for record in group.records)
    if not (events or of_shares or group.share_states or group.share_lags):
        return None
    deliveries, states, stays = share_deliveries(group), share_states(group), share_stays(group)
    lags = share_lags(group, states)
    names = {stay.member_id: stay.name for stay in stays} | _named_by_events(group) | group.names
    logged = [event.ts for event in events if event.origin == "event_log"]
    partitions = lags.keys() | states.keys() | _assigned(group)
    history = ShareHistory(
        deliveries, states, lags, stays, names, min(logged, default=None), group.until_ms, partitions
    )
    history.given_up = sorted(
        (each for each in _given_up(history) if each.end_ms >= group.since_ms), key=lambda each: each.end_ms
    )
    return history


def _assigned(group: GroupInput) -> set[TopicPartition]:
    """Partitions that members had at any time."""
    names = ((row, row.topic or group.topic_names.get(row.topic_id or "", row.topic_id or "")) for row in group.parts)
    return {(topic, part) for row, topic in names for part in row.parts}


def _named_by_events(group: GroupInput) -> dict[str, str]:
    return {event.member_id: event.client_id for event in group.events if event.member_id and event.client_id}


def _given_up(history: ShareHistory) -> Iterator[GivenUp]:
    """By events where there are some; the log of the share coordinator tells of what they leave out."""
    for archived in history.deliveries.archived:
        yield _by_events(history, archived)
    # What came back nevertheless shows that the limit is higher.
    fewest = max([FEWEST_DELIVERIES, *(states.most_returned + 1 for states in history.states.values())])
    for place, states in history.states.items():
        told = history.deliveries.done.get(place, RangeMap())
        for end in states.archived:
            for piece in told.pieces(end.first, end.last) if end.count >= fewest else ():
                if piece.value:
                    told.put(piece.first, piece.last, True)
                else:
                    yield _by_states(replace(end, first=piece.first, last=piece.last))


def _by_events(history: ShareHistory, archived: Archived) -> GivenUp:
    ends: dict[str | None, int] = defaultdict(int)
    for delivery in archived.trail:
        ends[delivery.how] += 1
    return GivenUp(
        archived.topic_partition,
        archived.first,
        archived.last,
        archived.count,
        min((_begun(each) for each in archived.trail), default=archived.ms),
        archived.ms,
        tuple(dict.fromkeys(history.name(each.member_id) for each in archived.trail)),
        ends[RELEASED],
        ends[EXPIRED],
        ends[CLOSED],
        at_limit=True,
    )


def _begun(delivery: Delivery) -> int:
    """When it began, or the first moment that is known of it."""
    assert delivery.end_ms is not None, "only ended ones leave a trail"
    return delivery.end_ms if delivery.since_ms is None else delivery.since_ms


def _by_states(end: StateEnd) -> GivenUp:
    moments = [*(came.ms for came in end.returns), end.ms]
    gaps = [after - before for before, after in pairwise(moments)]
    return GivenUp(
        end.topic_partition,
        end.first,
        end.last,
        end.count,
        moments[0],
        end.ms,
        quick=bool(gaps) and max(gaps) < SHORTEST_LOCK_MS,
    )
