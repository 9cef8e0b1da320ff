"""States of a share group's records as written by the share coordinator (`__share_group_state`).

They contain delivery counts and final states, but neither the member nor whether it released the records or its lock
expired: both are written alike. Older updates are deleted once a snapshot contains them, so the log may begin in the
middle.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from kohort.pipeline.history.inputs import GroupInput, TopicPartition
from kohort.pipeline.history.range_map import RangeMap
from kohort.pipeline.silver.silver_rows import ShareStateRecord
from kohort.protocol.records.layouts import ACKNOWLEDGED, ARCHIVED, ARCHIVING, AVAILABLE


@dataclass(frozen=True, slots=True)
class Return:
    """Records that became available again. `count` is the delivery count by then."""

    ms: int
    count: int


@dataclass(frozen=True, slots=True)
class StateEnd:
    """Records in a final state after `count` deliveries. `returns` holds their known earlier returns."""

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
class DeadLetters:
    """Records of a group with a dead-letter topic that were given up after `count` deliveries (KIP-1191).

    Attributes:
        end_ms: Time at which their dead letters were written, or could not be written; None if that is pending.
    """

    topic_partition: TopicPartition
    first: int
    last: int
    count: int
    ms: int
    end_ms: int | None

    @property
    def records(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class StatePoint:
    """Start offset of a partition from a time on, and the number of processed records after it.

    Attributes:
        complete: That number, or None if the record does not contain it.
    """

    ms: int
    start_offset: int
    complete: int | None


@dataclass(slots=True)
class PartitionStates:
    """One partition of a share group.

    Attributes:
        since_ms: Time from which all updates were read; 0 means from the beginning.
        returns: Returned records with their number.
        most_returned: Highest delivery count of records that were returned nevertheless, at any time.
    """

    since_ms: int
    accepted: list[StateEnd] = field(default_factory=list)
    archived: list[StateEnd] = field(default_factory=list)
    returns: list[tuple[Return, int]] = field(default_factory=list)
    points: list[StatePoint] = field(default_factory=list)
    most_returned: int = 0
    dead_letters: list[DeadLetters] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Known:
    """Latest state of a range."""

    state: int
    count: int
    returns: tuple[Return, ...] = ()
    archiving_ms: int | None = None  # since when its dead letter is due


def share_states(group: GroupInput) -> dict[TopicPartition, PartitionStates]:
    """Return the partitions in a share coordinator's log. States from before the window only serve as a base."""
    records: dict[tuple[str, int], list[ShareStateRecord]] = defaultdict(list)
    for record in group.share_states:
        records[record.topic_id, record.part].append(record)
    states = {}
    for (topic_id, part), of_partition in sorted(records.items()):
        topic_partition = group.topic_names.get(topic_id, topic_id), part
        states[topic_partition] = _Walk(topic_partition, of_partition, group.since_ms).result
    return states


class _Walk:
    def __init__(self, topic_partition: TopicPartition, records: list[ShareStateRecord], since_ms: int) -> None:
        self._place, self._since_ms = topic_partition, since_ms
        self._ranges: RangeMap[_Known] = RangeMap()
        self._whole = records[0].is_snapshot and not records[0].snapshot_epoch  # the log begins with the partition
        self.result = PartitionStates(0 if self._whole else records[0].ts_ms)
        for record in records:
            self._record(record)
        for entry in self._ranges:
            self._dead_letters(entry.first, entry.last, entry.value, None)

    def _dead_letters(self, first: int, last: int, was: _Known, end_ms: int | None) -> None:
        if was.archiving_ms is not None and was.archiving_ms >= self._since_ms and was.state == ARCHIVING:
            letters = DeadLetters(self._place, first, last, was.count, was.archiving_ms, end_ms)
            self.result.dead_letters.append(letters)

    def _record(self, record: ShareStateRecord) -> None:
        was, news = self._ranges, self._whole or not record.is_snapshot
        if record.is_snapshot:
            # A snapshot is complete: ranges that it omits have ended or start again.
            self._ranges, self._whole = RangeMap(), True
        for batch in _batches(record):
            self._batch(was, *batch, record.ts_ms, news=news)
        if record.start_offset is not None:
            self._ranges.take(0, record.start_offset - 1)
        if record.is_tombstone:
            return
        start = record.start_offset if record.start_offset is not None else self._last_start()
        if start is not None:
            self.result.points.append(StatePoint(record.ts_ms, start, record.complete))

    def _last_start(self) -> int | None:
        return self.result.points[-1].start_offset if self.result.points else None

    def _batch(
        self, previous: RangeMap[_Known], first: int, last: int, state: int, count: int, ms: int, *, news: bool
    ) -> None:
        """Process one range of a record.

        Args:
            before: Known states of ranges.
            news: Whether it happened now; otherwise its time is unknown.
        """
        for piece in previous.pieces(first, last):
            was = piece.value
            if was is not None and (was.count, was.state) >= (count, state):
                self._ranges.put(piece.first, piece.last, was)  # a snapshot repeats it
                continue
            if was is not None and state == ARCHIVED and news:
                self._dead_letters(piece.first, piece.last, was, ms)
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
            archiving_ms = ms if state == ARCHIVING and news else None
            self._ranges.put(piece.first, piece.last, _Known(state, count, returns, archiving_ms))


def _batches(record: ShareStateRecord) -> Iterator[tuple[int, int, int, int]]:
    """Yield first and last offset, state and delivery count of each range in a record.

    Ranges that end before they begin are skipped.
    """
    columns = record.first_offsets, record.last_offsets, record.states, record.delivery_counts
    for first, last, state, count in zip(*columns, strict=True):
        if first <= last:
            yield first, last, state, count
