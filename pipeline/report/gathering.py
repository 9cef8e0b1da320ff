"""Gold tables of the report: a summary of all groups, and all tables of groups with a page.

Tables of a thousand groups are large. They stay columnar, limited to the groups and columns in use; rows are made for
one group at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from kohort.pipeline.gold.gold_files import read_table
from kohort.pipeline.gold.gold_rows import (
    CommitMinuteRow,
    CommitStallRow,
    GenerationRow,
    GroupHealthRow,
    LagMinuteRow,
    MemberSessionRow,
    PartitionMoveRow,
    RebalanceMemberRow,
    RebalanceRow,
    RecommendationRow,
    ThroughputRow,
)
from kohort.pipeline.gold.share_gold_rows import ShareMemberRow
from kohort.pipeline.remote_path import Place

# columns of the tables of a group's page, or None for all columns
_COLUMNS: dict[str, tuple[str, ...] | None] = {
    "rebalances": None,
    "generations": ("generation", "stable_ms", "end_ms", "members", "partitions", "protocol"),
    "rebalance_members": (
        "rebalance_no", "client", "role", "rejoin_delay_us", "sync_delay_us", "is_laggard",
    ),
    "partition_moves": ("rebalance_no", "topic", "part", "from_client", "to_client"),
    "member_sessions": ("member_id", "client", "first_ms", "last_ms", "end_kind"),
    "commit_minutes": ("minute", "offset_delta"),
    "throughput": ("start_ms", "step_ms", "offsets"),
    "lag_minutes": ("minute", "lag"),
    "commit_stalls": ("start_ms", "end_ms", "kind"),
    "share_members": None,
    "recommendations": None,
    "group_health": None,
}  # fmt: skip
_ORDER = {"rebalances": "stable_ms", "generations": "stable_ms", "commit_stalls": "start_ms", "throughput": "start_ms",
          "group_health": "day"}  # fmt: skip


class RebalanceInShort(TypedDict):
    """Columns of a rebalance for the drawings of all groups together."""

    group_id: NotRequired[str | None]
    start_ms: int | None
    barrier_ms: int
    stable_ms: int
    prepare_lo_ms: int
    prepare_est_ms: int | None
    members_before: int
    kind: str
    cause: str
    outcome: str
    day: str


def rebalances_in_short(gold: Place) -> list[RebalanceInShort]:
    table = read_table(gold, "rebalances", list(RebalanceInShort.__annotations__))
    return [] if table is None else table.to_pylist()


_HEALTH_IN_SHORT = [
    "group_id", "rebalances", "follow_ups", "commits", "unavailable_partition_s_hi", "has_records", "has_events",
    "unknown_members", "sampled_share", "first_ms", "last_ms",
]  # fmt: skip


def health_in_short(gold: Place) -> list[GroupHealthRow]:
    """Return the health of all groups with the columns for the summary; a group's page has all columns."""
    table = read_table(gold, "group_health", _HEALTH_IN_SHORT)
    rows: list[GroupHealthRow] = [] if table is None else table.to_pylist()
    return rows


@dataclass(frozen=True, slots=True)
class PageTables:
    """Tables of a group's page with the columns of `_COLUMNS`; a table without rows is empty."""

    rebalances: list[RebalanceRow]
    generations: list[GenerationRow]
    rebalance_members: list[RebalanceMemberRow]
    partition_moves: list[PartitionMoveRow]
    member_sessions: list[MemberSessionRow]
    commit_minutes: list[CommitMinuteRow]
    throughput: list[ThroughputRow]
    lag_minutes: list[LagMinuteRow]
    commit_stalls: list[CommitStallRow]
    share_members: list[ShareMemberRow]
    recommendations: list[RecommendationRow]
    group_health: list[GroupHealthRow]


class Pages:
    """Rows of each group's page."""

    def __init__(self, gold: Place, groups: list[str]) -> None:
        self._tables: dict[str, pa.Table] = {}
        self._places: dict[str, dict[str, tuple[int, int]]] = {}
        names = pa.array(groups, pa.string())  # an empty list has no type by itself
        for name, columns in _COLUMNS.items():
            selected = None if columns is None else ["group_id", *columns]
            table = read_table(gold, name, selected, ds.field("group_id").isin(names))
            if table is not None and len(table):
                order = [("group_id", "ascending")]
                if name in _ORDER:
                    order.append((_ORDER[name], "ascending"))
                self._tables[name] = table.sort_by(order)
                self._places[name] = _places(self._tables[name]["group_id"])

    def of(self, group: str) -> PageTables:
        return PageTables(**{name: self._rows(name, group) for name in _COLUMNS})

    def _rows(self, name: str, group: str) -> list[Any]:
        start, count = self._places.get(name, {}).get(group, (0, 0))
        return self._tables[name].slice(start, count).to_pylist() if count else []


def _places(groups: pa.ChunkedArray) -> dict[str, tuple[int, int]]:
    """Return the first row and the row count of each group; rows are sorted by group."""
    places, at = {}, 0
    for run in pc.value_counts(groups).to_pylist():
        places[run["values"]] = (at, run["counts"])
        at += run["counts"]
    return places
