"""Records of a share group: one value from all sources that contain them."""

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
FEWEST_DELIVERIES = 2  # lowest limit of brokers; records archived after one delivery were rejected or never existed
USUAL_LIMIT = 5  # default of `group.share.delivery.count.limit`
SHORTEST_LOCK_MS = 1000  # minimum of `group.share.min.record.lock.duration.ms`


@dataclass(frozen=True, slots=True)
class GivenUp:
    """Records that were archived at the delivery limit without having been accepted.

    Attributes:
        first_ms: Time of the first known delivery or return.
        clients: Names of the members that had held them.
        released: Number of deliveries that ended so; like `expired` and `closed`, None if the source does not contain
            it.
        quick: Whether a member must have returned them, because two returns were closer than the shortest lock.
        at_limit: Whether an event shows that the limit was reached; otherwise a member may have rejected them at the
            end.
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
        topic, part = self.topic_partition
        return f"{topic}-{part}@{self.first}" + (f" to {self.last}" if self.last > self.first else "")


@dataclass(slots=True)
class ShareHistory:
    """Records of a share group.

    Attributes:
        names: Names of members by member id.
        until_ms: End of the analyzed period.
        partitions: Partitions that the group is known to have, with or without information about their records.
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
        """Whether record events show which member held which records."""
        return self.deliveries.first_ms is not None

    @property
    def seen_from_ms(self) -> int | None:
        """Time from which the history of all records is complete, or None if it never is."""
        unread = self.lags.keys() - self.states.keys()
        of_states = max((value.since_ms for value in self.states.values()), default=None) if not unread else None
        return min((value for value in (self.events_from_ms, of_states) if value is not None), default=None)

    @property
    def unread(self) -> int:
        """Number of the group's partitions without information about their records."""
        return 0 if self.has_deliveries else len(self.partitions - self.states.keys())

    def accepted_between(self, start_ms: int, end_ms: int) -> int:
        """Return the number of records accepted in a period including both ends.

        Either source may begin late: a record that one of them shows as accepted counts, whatever the other one
        contains.
        """
        by_events = ((d.end_ms, d.records) for d in self.deliveries.ended if d.how == ACCEPTED)
        by_states = ((e.ms, e.records) for of in self.states.values() for e in of.accepted)
        return max(_sum_between(by_events, start_ms, end_ms), _sum_between(by_states, start_ms, end_ms))


def _sum_between(ended: Iterable[tuple[int | None, int]], start_ms: int, end_ms: int) -> int:
    return sum(records for ms, records in ended if ms is not None and start_ms <= ms <= end_ms)


def share_history(group: GroupInput) -> ShareHistory | None:
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
        (records for records in _given_up(history) if records.end_ms >= group.since_ms),
        key=lambda records: records.end_ms,
    )
    return history


def _assigned(group: GroupInput) -> set[TopicPartition]:
    names = ((row, row.topic or group.topic_names.get(row.topic_id or "", row.topic_id or "")) for row in group.parts)
    return {(topic, part) for row, topic in names for part in row.parts}


def _named_by_events(group: GroupInput) -> dict[str, str]:
    return {event.member_id: event.client_id for event in group.events if event.member_id and event.client_id}


def _given_up(history: ShareHistory) -> Iterator[GivenUp]:
    """Yield records known from events, then the other ones that the share coordinator's log shows."""
    for archived in history.deliveries.archived:
        yield _by_events(history, archived)
    # Records returned after that show that the limit is higher.
    fewest = max([FEWEST_DELIVERIES, *(states.most_returned + 1 for states in history.states.values())])
    for topic_partition, states in history.states.items():
        event_ranges = history.deliveries.done.get(topic_partition, RangeMap())
        for end in states.archived:
            for piece in event_ranges.pieces(end.first, end.last) if end.count >= fewest else ():
                if piece.value:
                    event_ranges.put(piece.first, piece.last, True)
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
        min((_begun(trailed) for trailed in archived.trail), default=archived.ms),
        archived.ms,
        tuple(dict.fromkeys(history.name(trailed.member_id) for trailed in archived.trail)),
        ends[RELEASED],
        ends[EXPIRED],
        ends[CLOSED],
        at_limit=True,
    )


def _begun(delivery: Delivery) -> int:
    assert delivery.end_ms is not None, "only ended ones leave a trail"
    return delivery.end_ms if delivery.since_ms is None else delivery.since_ms


def _by_states(end: StateEnd) -> GivenUp:
    moments = [*(came.ms for came in end.returns), end.ms]
    gaps = [after - previous for previous, after in pairwise(moments)]
    return GivenUp(
        end.topic_partition,
        end.first,
        end.last,
        end.count,
        moments[0],
        end.ms,
        quick=bool(gaps) and max(gaps) < SHORTEST_LOCK_MS,
    )
