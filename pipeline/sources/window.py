"""Selected part of the sources: a time range and groups."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.pipeline.records.offset_commits import RecordSpans
from kohort.pipeline.sources.chunk import Chunk
from kohort.protocol.records.layouts import OFFSET_COMMIT

FOREVER_MS = 1 << 62
_LENGTH = re.compile(r"^(\d+)\s*(s|m|min|h|d)$")
_UNIT_MS = {"s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_TIMES = {"events": "ts", "end_offsets": "sampled_ms", "share_lags": "sampled_ms"}  # time column of tables with times


def length_ms(text: str) -> int:
    """Parse a duration such as `90s`, `30m`, `2h` or `1d` to milliseconds.

    Raises:
        ValueError: The text is not a duration.
    """
    match = _LENGTH.match(text.strip())
    if match is None:
        raise ValueError(f"invalid duration {text!r}; expected one like 30m, 2h or 1d")
    return int(match[1]) * _UNIT_MS[match[2]]


@dataclass(frozen=True, slots=True)
class Window:
    """Time range and groups to analyze.

    since_ms, until_ms: Inclusive bounds.
    groups: Names or shell patterns; empty for all.

    Group records from before the window are included, because they contain the members at its start.
    """

    since_ms: int = 0
    until_ms: int = FOREVER_MS
    groups: tuple[str, ...] = ()

    @property
    def is_everything(self) -> bool:
        return self == EVERYTHING

    def cut(self, chunk: Chunk) -> Chunk:
        """Remove later records and earlier commits; commits are most of the log."""
        keep = chunk.timestamp <= self.until_ms
        keep &= (chunk.timestamp >= self.since_ms) | ~_commits(chunk.spans)
        if keep.all():
            return chunk
        spans = chunk.spans
        return replace(
            chunk,
            spans=RecordSpans(
                spans.buffer,
                spans.key_start[keep],
                spans.key_length[keep],
                spans.value_start[keep],
                spans.value_length[keep],
            ),
            partition=chunk.partition[keep],
            offset=chunk.offset[keep],
            timestamp=chunk.timestamp[keep],
            leader_epoch=chunk.leader_epoch[keep],
            transaction=chunk.transaction[keep],
            gap=chunk.gap[keep],
        )

    def rows(self, table: str, rows: pa.Table) -> pa.Table:
        if column := _TIMES.get(table):
            times = rows[column]
            inside = pc.and_(pc.greater_equal(times, self.since_ms), pc.less_equal(times, self.until_ms))
            rows = rows.filter(inside)
        if self.groups and "group_id" in rows.column_names:
            names = pc.cast(rows["group_id"], pa.string())
            group_names = [name for name in pc.unique(names).to_pylist() if self.wants(name)]
            rows = rows.filter(pc.is_in(names, value_set=pa.array(group_names, pa.string())))
        return rows

    def is_timely(self, ts_ms: int) -> bool:
        return self.since_ms <= ts_ms <= self.until_ms

    def wants(self, group: str | None) -> bool:
        """Return whether a group is selected; None is for events without a group, such as an election."""
        return group is None or not self.groups or any(selects(pattern, group) for pattern in self.groups)


EVERYTHING = Window()


def selects(pattern: str, group: str) -> bool:
    """Return whether a name or a shell pattern selects a group, which may have brackets in its name."""
    return group == pattern or fnmatchcase(group, pattern)


def _commits(spans: RecordSpans) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Find offset commits by the version in the first two bytes of their keys."""
    last = max(0, len(spans.buffer) - 1)
    high = spans.buffer[np.minimum(np.maximum(spans.key_start, 0), last)]
    low = spans.buffer[np.minimum(np.maximum(spans.key_start + 1, 0), last)]
    is_commit: np.ndarray[tuple[int], np.dtype[np.bool_]] = (
        (spans.key_length >= 2) & (high == 0) & (low <= OFFSET_COMMIT)
    )
    return is_commit
