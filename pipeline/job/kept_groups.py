"""Analysis of changed groups while a cluster is followed; the results of other groups are kept.

Figures of a group without new records change, too: it stays silent, or its lag grows. So it is analyzed again for a
while after its last record, and rarely after that. The final report analyzes all groups.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kohort.pipeline.silver.parquet_files import visible_files

# returns gold tables by group, for the named groups or, with None, for all groups in silver
Analyse = Callable[[Path, list[str] | None], dict[str, dict[str, pa.Table]]]

# a group is analyzed with each report for this long after its last record, and later at least this often
LOOKED_ON_S = 15 * 60.0
# with a larger proportion of the groups all are analyzed, because selecting groups costs more than it saves
MOSTLY = 0.5
_NAMING = ("offset_commits", "group_records", "events", "share_states", "share_lags")


def groups_in(silver: Path, batches: Callable[[str], bool]) -> set[str]:
    """List the groups in the selected batches of silver.

    Args:
        silver: Folder of silver.
        batches: Predicate on the name of a batch.
    """
    groups: set[str] = set()
    for table in _NAMING:
        for path in visible_files(silver, table):
            if batches(path.parent.name.removeprefix("batch=")):
                names = pq.ParquetFile(path).read(["group_id"])["group_id"]
                groups.update(name for name in pc.unique(names).to_pylist() if name is not None)
    return groups


class KeptGroups:
    """Latest gold tables by group."""

    def __init__(self, analyse: Analyse, clock: Callable[[], float] = time.monotonic) -> None:
        self._analyse, self._clock = analyse, clock
        self._tables: dict[str, dict[str, pa.Table]] = {}
        self._news_s: dict[str, float] = {}
        self._analysed_s: dict[str, float] = {}

    def news(self, groups: Iterable[str]) -> None:
        """Note new records of these groups."""
        self._news_s |= dict.fromkeys(groups, self._clock())

    def due(self) -> list[str] | None:
        """List groups to analyze for the next report, or None for all groups."""
        now_s = self._clock()
        if not self._tables:
            return None
        named = {name for name, at in self._news_s.items() if now_s - at <= LOOKED_ON_S}
        named |= {name for name, at in self._analysed_s.items() if now_s - at > LOOKED_ON_S}
        return None if len(named) > MOSTLY * len(self._tables) else sorted(named)

    def tables(self, silver: Path, *, all_groups: bool = False) -> dict[str, list[pa.Table]]:
        """Return the gold tables of all groups, after analyzing the groups that are due.

        An error leaves the tables unchanged.
        """
        due = None if all_groups else self.due()
        analysed = self._analyse(silver, due) if due is None or due else {}
        if due is None:
            self._tables = analysed
        for name in due or ():
            self._tables.pop(name, None)
        self._tables |= analysed
        self._analysed_s |= dict.fromkeys([*analysed, *(due or ())], self._clock())
        tables: dict[str, list[pa.Table]] = {}
        for of_group in self._tables.values():
            for table, rows in of_group.items():
                tables.setdefault(table, []).append(rows)
        return tables
