"""Builds a group's input from silver: commits as Arrow columns, everything else as rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.pipeline.history.inputs import GroupInput, LogEnds, PartitionCommits, Row
from kohort.pipeline.history.zones import settle_zone
from kohort.pipeline.records.offset_commits import Ints
from kohort.pipeline.silver.ranges import joined, moves_between

COMMIT_COLUMNS = (
    "partition", "offset", "ts_ms", "topic", "part", "committed_offset", "is_tombstone", "txn", "expire_ts_ms", "rank",
)  # fmt: skip
_KEY = {
    "group_records": ("partition", "offset"),
    "group_members": ("partition", "offset", "member_id"),
    "member_partitions": ("partition", "offset", "member_id", "topic", "topic_id", "role"),
    "events": ("event_id",),
}


def group_input(group_id: str, cluster: str, commits: pa.Table | None, rows: dict[str, list[Row]]) -> GroupInput:
    """A group from its silver rows, duplicates of several sources counted once.

    rows: by silver table, plus `end_offsets` of its topics, `topic_names`, `log_ranges` and `coordinator_moves` of
    its partition, and `until` with the last moment of the whole analysis.
    """
    group = GroupInput(group_id, cluster)
    group.records = _once("group_records", rows)
    group.conflicts = _contradictions(rows.get("group_records", []), group.records)
    group.members = _once("group_members", rows)
    group.parts = _once("member_partitions", rows)
    group.events = _once("events", rows)
    for event in group.events:
        if isinstance(event.get("detail"), list):
            event["detail"] = dict(event["detail"])
    group.topic_names = {row["topic_id"]: row["topic"] for row in rows.get("topic_names", ())}
    if commits is not None and len(commits):
        _commits(group, commits)
    _ends(group, rows.get("end_offsets", ()))
    ranges = rows.get("log_ranges", [])
    group.intact_from = min((row["intact_from"] for row in joined(ranges)), default=0)
    moves = {(row["ts_ms"], row["epoch"]) for row in rows.get("coordinator_moves", ())}
    group.coordinator_moves = sorted(moves | moves_between(ranges))
    settle_zone(group)
    group.until_ms = max([row["until_ms"] for row in rows.get("until", ())] + [_last_ms(group)])
    return group


def _once(table: str, rows: dict[str, list[Row]]) -> list[Row]:
    """One row per key, of the most trusted source."""
    key = _KEY[table]
    best: dict[tuple[Any, ...], Row] = {}
    trusted: dict[tuple[Any, Any], int] = {}
    found = rows.get(table, [])
    if table == "member_partitions":
        # all rows of one record come from one source, else a member could own what only another reading says
        for row in found:
            place = (row["partition"], row["offset"])
            trusted[place] = min(trusted.get(place, 99), row.get("rank") or 0)
    for row in found:
        if trusted and (row.get("rank") or 0) != trusted[(row["partition"], row["offset"])]:
            continue
        name = tuple(row.get(part) for part in key)
        if name not in best or (row.get("rank") or 0) < (best[name].get("rank") or 0):
            best[name] = row
    return list(best.values())


def _contradictions(found: list[Row], kept: list[Row]) -> int:
    """Records that stand where another one of the same group stands in another source: logs of two clusters."""

    def place(row: Row) -> tuple[Any, Any]:
        return (row["partition"], row["offset"])

    def told(row: Row) -> tuple[Any, ...]:
        return (row["record_type"], row["generation"], row["epoch"], row["member_id"], row["is_tombstone"])

    said = {place(row): told(row) for row in kept}
    return sum(said[place(row)] != told(row) for row in found)


def _last_ms(group: GroupInput) -> int:
    times = [record["ts_ms"] for record in group.records] + [event["ts"] for event in group.events]
    times += [int(commits.ts_ms[-1]) for commits in group.commits.values() if len(commits.ts_ms)]
    return max(times, default=0)


def _commits(group: GroupInput, table: pa.Table) -> None:
    table = table.select(list(COMMIT_COLUMNS)).combine_chunks()
    offset, rank = _ints(table["offset"]), _ints(table["rank"])
    order = np.lexsort((rank, offset))
    again = np.diff(offset[order]) == 0
    committed = _ints(table["committed_offset"])[order]
    group.conflicts += int(np.count_nonzero(again & (np.diff(committed) != 0)))
    keep = order[np.concatenate(([True], ~again))]
    table = table.take(pa.array(keep))
    txn = table["txn"]
    bad = pc.fill_null(pc.is_in(txn, value_set=pa.array(["aborted", "pending"])), False)
    group.aborted_commits = pc.sum(bad).as_py() or 0
    if group.aborted_commits:
        table = table.filter(pc.invert(bad))
    if not len(table):
        return
    topic = table["topic"].combine_chunks().dictionary_encode()
    if isinstance(topic, pa.ChunkedArray):
        topic = topic.combine_chunks()
    code = topic.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    names = topic.dictionary.to_pylist()
    part = _ints(table["part"])
    place = code * (int(part.max(initial=0)) + 2) + part
    offset, times, committed = _ints(table["offset"]), _ints(table["ts_ms"]), _ints(table["committed_offset"])
    gone = table["is_tombstone"].to_numpy(zero_copy_only=False).astype(bool)
    expiring = pc.is_valid(table["expire_ts_ms"]).to_numpy(zero_copy_only=False)
    order = np.lexsort((offset, place))
    edges = np.flatnonzero(np.diff(place[order])) + 1
    for rows in np.split(order, edges):
        first = rows[0]
        dead = gone[rows]
        live = rows[~dead]
        group.commits[(names[code[first]], int(part[first]))] = PartitionCommits(
            times[live],
            committed[live],
            offset[live],
            times[rows[dead]],
            int(expiring[rows].sum()),
        )


def _ints(column: pa.ChunkedArray) -> Ints:
    values: Ints = pc.fill_null(column, 0).to_numpy().astype(np.int64)
    return values


def _ends(group: GroupInput, rows: Iterable[Row]) -> None:
    by_place: dict[tuple[str, int], list[tuple[int, int, int]]] = {}
    for row in rows:
        place = (row["topic"], row["part"])
        if place in group.commits:
            by_place.setdefault(place, []).append((row["sampled_ms"], row["log_start"], row["log_end"]))
    for place, samples in by_place.items():
        columns = np.array(sorted(set(samples)), np.int64).T
        group.ends[place] = LogEnds(columns[0], columns[1], columns[2])
