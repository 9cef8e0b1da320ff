"""Builder of a group's input from silver: commits as Arrow columns, everything else as rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from kohort.pipeline.history.commit_pieces import CommitPieces
from kohort.pipeline.history.inputs import GroupInput, LogEnds, TopicPartition
from kohort.pipeline.history.zones import settle_zone
from kohort.pipeline.silver.ranges import joined, moves_between
from kohort.pipeline.silver.silver_rows import (
    CoordinatorMove,
    GroupMember,
    GroupRecord,
    LogRange,
    MemberPartitions,
    ShareStateRecord,
)
from kohort.pipeline.silver.silver_schemas import ROW_TYPES
from kohort.pipeline.sources.source_rows import GroupEvent, LogEndSample, ShareLagSample, TopicName
from kohort.protocol.records.layouts import STREAMS_TOPOLOGY

RankedT = TypeVar("RankedT", GroupRecord, GroupMember, MemberPartitions, ShareStateRecord)


_REPEATED = ("access_denied", "member_fenced")


@dataclass(slots=True)
class GroupRows:
    """All silver rows of one group except its offset commits.

    Attributes:
        end_offsets: Samples of its topics, by partition.
        log_ranges: Ranges of its partition of the offsets topic, like `coordinator_moves`.
        since_ms: Start of the whole analysis.
        until_ms: End of the whole analysis.
    """

    group_records: list[GroupRecord] = field(default_factory=list)
    group_members: list[GroupMember] = field(default_factory=list)
    member_partitions: list[MemberPartitions] = field(default_factory=list)
    share_states: list[ShareStateRecord] = field(default_factory=list)
    events: list[GroupEvent] = field(default_factory=list)
    share_lags: list[ShareLagSample] = field(default_factory=list)
    end_offsets: dict[TopicPartition, LogEnds] = field(default_factory=dict)
    topic_names: list[TopicName] = field(default_factory=list)
    log_ranges: list[LogRange] = field(default_factory=list)
    coordinator_moves: list[CoordinatorMove] = field(default_factory=list)
    since_ms: int = 0
    until_ms: int = 0

    def add(self, table: str, columns: dict[str, Any]) -> None:
        getattr(self, table).append(ROW_TYPES[table](**columns))

    @property
    def topic_ids(self) -> set[str]:
        ids = {row.topic_id for row in self.member_partitions if row.topic_id is not None}
        return ids | {row.topic_id for row in self.share_states}

    @property
    def streamed_topics(self) -> set[str]:
        """Topics of a streams group's topology, including changelogs, which are never committed."""
        return {
            topic for row in self.group_records if row.record_type == STREAMS_TOPOLOGY for topic in row.topics or ()
        }

    @property
    def shared_topics(self) -> set[str]:
        """Topics that a share group reads, if their names are known."""
        shared = {row.topic_id for row in self.share_states}
        return {row.topic for row in self.topic_names if row.topic_id in shared} | {
            row.topic for row in self.share_lags
        }


def group_input(group_id: str, cluster: str, commits: Iterable[pa.Table], rows: GroupRows) -> GroupInput:
    """Build a group's input from its rows and its commits, in any number of chunks.

    A row from several sources counts once. The order of the rows does not matter, as sources may be read in any order.
    """
    group = GroupInput(group_id, cluster, since_ms=rows.since_ms)
    group.records = _most_trusted(rows.group_records, lambda row: (row.partition, row.offset))
    group.conflicts = _contradictions(rows.group_records, group.records)
    group.members = _most_trusted(rows.group_members, lambda row: (row.partition, row.offset, row.member_id))
    group.records = _with_members(group.records, group.members)
    group.parts = _most_trusted(
        _of_one_source(rows.member_partitions),
        lambda row: (row.partition, row.offset, row.member_id, row.topic or "", row.topic_id or "", row.role),
    )
    group.share_states = _most_trusted(rows.share_states, lambda row: (row.partition, row.offset))
    group.share_lags = sorted(rows.share_lags, key=lambda row: (row.sampled_ms, row.topic, row.part))
    group.events, group.duplicate_lines = _lines_once(_each_once(rows.events))
    group.topic_names = {row.topic_id: row.topic for row in rows.topic_names}
    pieces = CommitPieces(commits)
    group.conflicts += pieces.conflicts
    group.aborted_commits = pieces.undone
    group.commits = pieces.by_partition()
    # All partitions of the group's topics: one without commits may have no reader.
    topics = {topic for topic, _ in group.commits} | rows.shared_topics | rows.streamed_topics
    group.ends = {place: ends for place, ends in sorted(rows.end_offsets.items()) if place[0] in topics}
    group.intact_from = min((log_range.intact_from for log_range in joined(rows.log_ranges)), default=0)
    moves = {(move.ts_ms, move.epoch) for move in rows.coordinator_moves}
    group.coordinator_moves = sorted(moves | moves_between(rows.log_ranges))
    settle_zone(group)
    group.until_ms = max(rows.until_ms, _last_ms(group))
    return group


def log_ends(samples: Iterable[LogEndSample]) -> dict[TopicPartition, LogEnds]:
    """Return the samples of each partition by time, with the highest offsets of equal times."""
    samples_of: dict[TopicPartition, dict[int, tuple[int, int, int, int]]] = {}
    for row in samples:
        if row.log_end >= 0:  # tools write a negative one where no answer came
            stable = -1 if row.last_stable is None else row.last_stable
            sample = (row.sampled_ms, row.log_start, row.log_end, stable)
            of_partition = samples_of.setdefault((row.topic, row.part), {})
            of_partition[row.sampled_ms] = max(of_partition.get(row.sampled_ms, sample), sample)
    return {
        place: LogEnds(*np.array(sorted(of_partition.values()), np.int64).T)
        for place, of_partition in samples_of.items()
    }


def _most_trusted(rows: list[RankedT], key: Callable[[RankedT], tuple[Any, ...]]) -> list[RankedT]:
    """Return the row with the lowest rank for each key, ordered by key."""
    best: dict[Hashable, RankedT] = {}
    for row in sorted(rows, key=lambda row: (*key(row), row.rank)):
        best.setdefault(key(row), row)
    return list(best.values())


def _with_members(records: list[GroupRecord], members: list[GroupMember]) -> list[GroupRecord]:
    """Leave out records about members without a row in `members`, as when that table is empty."""
    described = {(row.partition, row.offset) for row in members}
    return [
        row for row in records if row.member_id is None or row.is_tombstone or (row.partition, row.offset) in described
    ]


def _of_one_source(rows: list[MemberPartitions]) -> list[MemberPartitions]:
    """Keep the rows of one source per record.

    Otherwise a member could own partitions that only another source contains.
    """
    trusted: dict[tuple[int, int], int] = {}
    for row in rows:
        position = (row.partition, row.offset)
        trusted[position] = min(trusted.get(position, row.rank), row.rank)
    return [row for row in rows if row.rank == trusted[(row.partition, row.offset)]]


def _each_once(events: list[GroupEvent]) -> list[GroupEvent]:
    by_id: dict[str | None, GroupEvent] = {}
    for event in sorted(events, key=lambda e: (e.ts, e.node_id or -1, e.seq or 0, e.event_id or "")):
        by_id.setdefault(event.event_id, event)
    return list(by_id.values())


def _lines_once(events: list[GroupEvent]) -> tuple[list[GroupEvent], int]:
    """Remove lines that several text logs contain, such as a log and its rotated part, and count them.

    Brokers repeat only few lines within a millisecond; of these as many are kept as the file with most of them has.
    """
    kept: list[GroupEvent] = []
    kept_lines, lines_of_file = Counter[Hashable](), Counter[Hashable]()
    for event in events:
        if event.origin == "text_log":
            content, file = _content(event), (event.event_id or "").rsplit(":", 2)[0]
            lines_of_file[file, content] += 1
            limit = lines_of_file[file, content] if event.kind in _REPEATED else 1
            if kept_lines[content] >= limit:
                continue
            kept_lines[content] += 1
        kept.append(event)
    return kept, len(events) - len(kept)


def _content(event: GroupEvent) -> Hashable:
    """Return everything that a line contains, without its place in a file."""
    lists = tuple(tuple(names or ()) for names in (event.evicted, event.waited_for))
    detail = tuple(sorted((event.detail or {}).items()))
    return (
        event.ts, event.node_id, event.kind, event.generation, event.members, event.member_id, event.instance_id,
        event.cause, event.client_reason, event.error, lists, detail,
    )  # fmt: skip


def _contradictions(records: list[GroupRecord], kept: list[GroupRecord]) -> int:
    """Count records that differ from another source's record at the same position: logs of two clusters."""

    def content(row: GroupRecord) -> Hashable:
        return (row.record_type, row.generation, row.epoch, row.member_id, row.is_tombstone)

    content_at = {(row.partition, row.offset): content(row) for row in kept}
    return sum(content_at[(row.partition, row.offset)] != content(row) for row in records)


def _last_ms(group: GroupInput) -> int:
    times = [record.ts_ms for record in group.records] + [event.ts for event in group.events]
    times += [int(commits.ts_ms[-1]) for commits in group.commits.values() if len(commits.ts_ms)]
    times += [record.ts_ms for record in group.share_states] + [sample.sampled_ms for sample in group.share_lags]
    return max(times, default=0)
