"""What became of a share group's records, as its share coordinator wrote it down (`__share_group_state`).

It tells how often records were delivered and what they ended as, but neither who held them nor whether a member gave
them back or its lock expired: both are written alike. Older updates are deleted once a snapshot holds what they say, so
that the log may begin in the middle.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from kohort.pipeline.history.inputs import GroupInput, TopicPartition
from kohort.pipeline.history.range_map import RangeMap
from kohort.pipeline.records.share_state_layouts import ACKNOWLEDGED, ARCHIVED, AVAILABLE
from kohort.pipeline.silver.silver_rows import ShareStateRecord


@dataclass(frozen=True, slots=True)
class Return:
    """Records that came back to be delivered again. count: how often they had been delivered."""

    ms: int
    count: int


@dataclass(frozen=True, slots=True)
class StateEnd:
    """Records that are done with, after `count` deliveries. returns: how they had come back, as far as it was seen."""

    topic_partition: TopicPartition
    first: int
    last: int
    count: int
    ms: int
    returns: tuple[Return, ...]

    @property
    def records(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class StatePoint:
    """Where a partition's start offset was from a moment on, and how many records behind it were done with.

    complete: None where the record doesn't say.
    """

    ms: int
    start_offset: int
    complete: int | None


@dataclass(slots=True)
class PartitionStates:
    """One partition of a share group. since_ms: from when on all that was written was read; 0: from the beginning.

    returns: records that came back, each with their number. most_returned: how often records had been delivered that
    came back nevertheless, at whatever time.
    """

    since_ms: int
    accepted: list[StateEnd] = field(default_factory=list)
    archived: list[StateEnd] = field(default_factory=list)
    returns: list[tuple[Return, int]] = field(default_factory=list)
    points: list[StatePoint] = field(default_factory=list)
    most_returned: int = 0


@dataclass(frozen=True, slots=True)
class _Known:
    """The newest that was written of a range."""

    state: int
    count: int
    returns: tuple[Return, ...] = ()


def share_states(group: GroupInput) -> dict[TopicPartition, PartitionStates]:
    """The partitions of which a share coordinator's log tells. What was over before the window is only known."""
    records: dict[tuple[str, int], list[ShareStateRecord]] = defaultdict(list)
    for record in group.share_states:
        records[record.topic_id, record.part].append(record)
    found = {}
    for (topic_id, part), of_partition in sorted(records.items()):
        place = group.topic_names.get(topic_id, topic_id), part
        found[place] = _Walk(place, of_partition, group.since_ms).result
    return found


class _Walk:
    def __init__(self, place: TopicPartition, records: list[ShareStateRecord], since_ms: int) -> None:
        self._place, self._since_ms = place, since_ms
        self._known: RangeMap[_Known] = RangeMap()
        self._whole = records[0].is_snapshot and not records[0].snapshot_epoch  # the log begins with the partition
        self.result = PartitionStates(0 if self._whole else records[0].ts_ms)
        for record in records:
            self._record(record)

    def _record(self, record: ShareStateRecord) -> None:
        was, news = self._known, self._whole or not record.is_snapshot
        if record.is_snapshot:
            self._known, self._whole = RangeMap(), True  # it says all: what it leaves out is over, or begins anew
        for batch in _batches(record):
            self._batch(was, *batch, record.ts_ms, news=news)
        if record.start_offset is not None:
            self._known.take(0, record.start_offset - 1)
        if record.is_tombstone:
            return
        start = record.start_offset if record.start_offset is not None else self._last_start()
        if start is not None:
            self.result.points.append(StatePoint(record.ts_ms, start, record.complete))

    def _last_start(self) -> int | None:
        return self.result.points[-1].start_offset if self.result.points else None

    def _batch(
        self, before: RangeMap[_Known], first: int, last: int, state: int, count: int, ms: int, *, news: bool
    ) -> None:
        """before: what was known of ranges. news: it happened now; else nobody knows when."""
        for piece in before.pieces(first, last):
            was = piece.value
            if was is not None and (was.count, was.state) >= (count, state):
                self._known.put(piece.first, piece.last, was)  # a snapshot says it again
                continue
            returns = was.returns if was is not None else ()
            if state == AVAILABLE and count and news:
                came = Return(ms, count)
                returns = (*returns, came)
                self.result.most_returned = max(self.result.most_returned, count)
                if ms >= self._since_ms:
                    self.result.returns.append((came, piece.records))
            elif state in (ACKNOWLEDGED, ARCHIVED) and news and ms >= self._since_ms:
                end = StateEnd(self._place, piece.first, piece.last, count, ms, returns)
                (self.result.accepted if state == ACKNOWLEDGED else self.result.archived).append(end)
            self._known.put(piece.first, piece.last, _Known(state, count, returns))


def _batches(record: ShareStateRecord) -> Iterator[tuple[int, int, int, int]]:
    """First and last offset, state and delivery count of each range that a record names. Those that end before they
    begin say nothing."""
    columns = record.first_offsets, record.last_offsets, record.states, record.delivery_counts
    for first, last, state, count in zip(*columns, strict=True):
        if first <= last:
            yield first, last, state, count
