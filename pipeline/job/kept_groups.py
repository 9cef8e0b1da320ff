"""While a cluster is followed, groups with news are analysed anew, and what was found of the others is kept.

A group without news changes, too: its silence grows, records wait for it. So it is looked at again for a while after
its last news, and seldom then. The report that following ends with is of everything at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kohort.pipeline.silver.parquet_files import shown

Analyse = Callable[[Path, list[str] | None], dict[str, dict[str, pa.Table]]]
"""Gold tables by group, of the groups named or (None) of all that silver has."""

LOOKED_ON_S = 15 * 60.0
"""For so long after its last news a group is analysed with each report, and at least so often after that."""
MOSTLY = 0.5
"""With a larger share of all groups, all are analysed: asking for each of them costs more than it saves."""
_NAMING = ("offset_commits", "group_records", "events", "share_states", "share_lags")


def groups_in(silver: Path, batches: Callable[[str], bool]) -> set[str]:
    """The groups of which batches tell. batches: whether one is meant, by its name."""
    found: set[str] = set()
    for table in _NAMING:
        for path in shown(silver, table):
            if batches(path.parent.name.removeprefix("batch=")):
                names = pq.ParquetFile(path).read(["group_id"])["group_id"]
                found.update(name for name in pc.unique(names).to_pylist() if name is not None)
    return found


class KeptGroups:
    """Gold tables by group as they were found last."""

    def __init__(self, analyse: Analyse, clock: Callable[[], float] = time.monotonic) -> None:
        self._analyse, self._clock = analyse, clock
        self._tables: dict[str, dict[str, pa.Table]] = {}
        self._news_s: dict[str, float] = {}
        self._analysed_s: dict[str, float] = {}

    def news(self, groups: Iterable[str]) -> None:
        """Something was read of these groups."""
        self._news_s |= dict.fromkeys(groups, self._clock())

    def due(self) -> list[str] | None:
        """Groups that are analysed with the next report; None: all of them."""
        now_s = self._clock()
        if not self._tables:
            return None
        named = {name for name, at in self._news_s.items() if now_s - at <= LOOKED_ON_S}
        named |= {name for name, at in self._analysed_s.items() if now_s - at > LOOKED_ON_S}
        return None if len(named) > MOSTLY * len(self._tables) else sorted(named)

    def tables(self, silver: Path, *, all_groups: bool = False) -> dict[str, list[pa.Table]]:
        """The gold tables of all groups, those of some made anew. Where the analysis raises, what was kept stays."""
        due = None if all_groups else self.due()
        found = self._analyse(silver, due) if due is None or due else {}
        if due is None:
            self._tables = found
        for name in due or ():
            self._tables.pop(name, None)
        self._tables |= found
        self._analysed_s |= dict.fromkeys([*found, *(due or ())], self._clock())
        tables: dict[str, list[pa.Table]] = {}
        for of_group in self._tables.values():
            for table, rows in of_group.items():
                tables.setdefault(table, []).append(rows)
        return tables
