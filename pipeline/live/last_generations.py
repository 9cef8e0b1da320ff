"""Silver data about groups with an open rebalance, queried for few groups, after they have waited for long."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kohort.pipeline.live.waited_for import KnownGroup, MemberCommits
from kohort.pipeline.silver.parquet_files import visible_files

CLASSIC = 2  # record type of a classic group
EAGER, COOPERATIVE = ("range", "roundrobin", "sticky"), "cooperative-sticky"
LOOK_BACK_MS = 5 * 60_000  # period before the rebalance whose commits are relevant
SAME_START_MS = 60_000  # An earlier start in a broker's log than this belongs to another rebalance or a wrong clock.
FEWEST_INTERVALS = 5
TRIES = 5


class LastGenerations:
    """Reads silver while a stream writes it and merges batches."""

    def __init__(self, silver: Path) -> None:
        self._silver = silver

    def __call__(self, since: Mapping[str, int]) -> dict[str, KnownGroup]:
        """Return the data about these groups.

        Args:
            since: Time at which each group's rebalance was first seen.
        """
        newest: dict[str, dict[str, Any]] = {}
        for row in self._rows(
            "group_records", since, ("partition", "offset", "ts_ms", "leader", "protocol", "record_type")
        ):
            best = newest.get(row["group_id"])
            if row["record_type"] == CLASSIC and (best is None or row["offset"] > best["offset"]):
                newest[row["group_id"]] = row
        at = {(group_id, row["offset"]) for group_id, row in newest.items()}
        members: dict[str, set[str]] = {}
        for row in self._rows("group_members", newest, ("offset", "member_id")):
            if (row["group_id"], row["offset"]) in at:
                members.setdefault(row["group_id"], set()).add(row["member_id"])
        owners: dict[str, dict[tuple[str, int], str]] = {}
        for row in self._rows("member_partitions", newest, ("offset", "member_id", "topic", "role", "parts")):
            if row["role"] == "assigned" and (row["group_id"], row["offset"]) in at:
                parts = {(row["topic"], part): row["member_id"] for part in row["parts"]}
                owners.setdefault(row["group_id"], {}).update(parts)
        commits = self._commits(owners, min(since.values(), default=0) - LOOK_BACK_MS)
        from_events = self.read_events(since, {group_id: row["ts_ms"] for group_id, row in newest.items()})
        return {
            group_id: KnownGroup(
                generation_ms=newest[group_id]["ts_ms"] if group_id in newest else -1,
                members=frozenset(members.get(group_id, ())),
                leader=newest[group_id]["leader"] if group_id in newest else None,
                eager=is_eager(newest[group_id]["protocol"]) if group_id in newest else None,
                commits=commits.get(group_id, {}),
                started_ms=from_events.get(group_id, (None, None))[0],
                waited_for=from_events.get(group_id, (None, None))[1],
            )
            for group_id in since
        }

    def _commits(
        self, owners: dict[str, dict[tuple[str, int], str]], from_ms: int
    ) -> dict[str, dict[str, MemberCommits]]:
        """Return commits by group and member, by the local clock."""
        columns = ("topic", "part", "ts_ms", "is_tombstone")
        table = self._table("offset_commits", owners, columns, [("ts_ms", ">=", from_ms)])
        if table is None or not len(table):
            return {}
        # a broker whose clock is ahead would make commits later than the rebalance that they came before
        ahead = max(0, pc.max(table["ts_ms"]).as_py() - round(time.time() * 1000))
        times: dict[tuple[str, str], set[int]] = {}
        by_place = table.filter(pc.invert(table["is_tombstone"])).group_by(["group_id", "topic", "part"])
        for row in by_place.aggregate([("ts_ms", "distinct")]).to_pylist():
            owner = owners[row["group_id"]].get((row["topic"], row["part"]))
            if owner is not None:
                times.setdefault((row["group_id"], owner), set()).update(row["ts_ms_distinct"])
        commits: dict[str, dict[str, MemberCommits]] = {}
        for (group_id, owner), moments in times.items():
            commits.setdefault(group_id, {})[owner] = member_commits(sorted(ts_ms - ahead for ts_ms in moments))
        return commits

    def read_events(
        self, since: Mapping[str, int], generations: Mapping[str, int]
    ) -> dict[str, tuple[int | None, frozenset[str] | None]]:
        """Return start and missing members of each group's rebalance.

        The start is from a broker's log, the members from an event log.
        """
        rebalances: dict[str, tuple[int | None, frozenset[str] | None]] = {}
        rows = self._rows("events", since, ("ts", "kind", "waited_for"))
        for row in sorted(rows, key=lambda row: row["ts"]):
            group_id, ts_ms = row["group_id"], row["ts"]
            if ts_ms < max(since[group_id] - SAME_START_MS, generations.get(group_id, 0)):
                continue
            started = rebalances.get(group_id, (None, None))[0]
            if row["kind"] == "rebalance_started":
                rebalances[group_id] = (ts_ms, None)
            elif row["kind"] == "join_progress" and row["waited_for"]:
                rebalances[group_id] = (started, frozenset(row["waited_for"]))
            elif row["kind"] == "join_completed":
                rebalances.pop(group_id, None)
        return rebalances

    def _rows(self, table: str, groups: Iterable[str], columns: tuple[str, ...]) -> list[dict[str, Any]]:
        table_rows = self._table(table, groups, columns)
        rows: list[dict[str, Any]] = [] if table_rows is None else table_rows.to_pylist()
        return rows

    def _table(
        self, table: str, groups: Iterable[str], columns: tuple[str, ...], more: Iterable[tuple[str, str, object]] = ()
    ) -> pa.Table | None:
        """Return columns of these groups. Retries if a file was merged into another one meanwhile."""
        filters = [("group_id", "in", sorted(groups)), *more]
        for attempt in range(TRIES):
            files = visible_files(self._silver, table)
            if not files or not filters[0][2]:
                return None
            try:
                return pq.read_table(files, columns=["group_id", *columns], filters=filters, partitioning=None)
            except FileNotFoundError:
                if attempt + 1 == TRIES:
                    raise
        return None


def member_commits(moments: list[int]) -> MemberCommits:
    """Return the figures from commit times, which must be in order and not empty."""
    intervals = sorted(later - earlier for earlier, later in pairwise(moments))
    usual = intervals[len(intervals) // 2] if len(intervals) >= FEWEST_INTERVALS else None
    return MemberCommits(moments[-1], usual)


def is_eager(protocol: str | None) -> bool | None:
    if protocol in EAGER:
        return True
    return False if protocol == COOPERATIVE else None
