"""What is known of how far a partition of the log was read: ranges that follow each other count as one.

A file or a whole reading of a partition is one range. A stream brings a range with every batch; several sources of the
same log bring ranges that overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

Row = dict[str, Any]


def joined(ranges: Iterable[Row]) -> list[Row]:
    """One row for ranges of a partition that follow each other, in the columns of `log_ranges`.

    A range that begins with a hole, or has one inside, is what the joined one is intact from. Ranges that overlap are
    other readings of the same records and stay apart.
    """
    result: list[Row] = []
    for row in _in_order(ranges):
        last = result[-1] if result else None
        if last is None or not _follows(last, row):
            result.append(dict(row))
            continue
        if row["intact_from"] > row["first_offset"] or row.get("hole_before"):
            last["intact_from"] = row["intact_from"]
        last["records"] += row["records"]
        last["last_offset"] = row["last_offset"]
        last["last_ts_ms"] = max(last["last_ts_ms"], row["last_ts_ms"])
        if row.get("last_epoch") is not None:
            last["last_epoch"] = row["last_epoch"]
    return result


def moves_between(ranges: Iterable[Row]) -> set[tuple[int, int]]:
    """(time, epoch) of coordinators that changed just where one range ends and the next begins."""
    return {
        (row["first_ts_ms"], row["first_epoch"])
        for before, row in pairwise(_in_order(ranges))
        if _follows(before, row) and None not in (before.get("last_epoch"), row.get("first_epoch"))
        if before["last_epoch"] != row["first_epoch"]
    }


def _in_order(ranges: Iterable[Row]) -> Iterator[Row]:
    return iter(
        sorted(
            ranges, key=lambda row: (row["partition"], row.get("rank") or 0, row["first_offset"], row["last_offset"])
        )
    )


def _follows(before: Row, row: Row) -> bool:
    same = (before["partition"], before.get("rank")) == (row["partition"], row.get("rank"))
    return same and row["first_offset"] > before["last_offset"]
