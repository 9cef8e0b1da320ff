"""What of the sources was asked for: a stretch of time, and groups."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from fnmatch import fnmatchcase

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.pipeline.records.layouts import OFFSET_COMMIT
from kohort.pipeline.records.offset_commits import RecordSpans
from kohort.pipeline.sources.chunk import Chunk

FOREVER_MS = 1 << 62
_LENGTH = re.compile(r"^(\d+)\s*(s|m|min|h|d)$")
_UNIT_MS = {"s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_TIMES = {"events": "ts", "end_offsets": "sampled_ms", "share_lags": "sampled_ms"}
"""Tables that tell of moments, and the column that does."""


def length_ms(text: str) -> int:
    """`90s`, `30m`, `2h`, `1d` in milliseconds. Raises ValueError."""
    found = _LENGTH.match(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no length of time; one looks like 30m, 2h or 1d")
    return int(found[1]) * _UNIT_MS[found[2]]


def moment_ms(text: str, now: datetime) -> int:
    """`2026-05-31T14:00`, `2026-05-31T14:00:00Z`, `14:00` (today) or milliseconds since 1970. Raises ValueError.

    now: with a time zone; it is that of moments which name none.
    """
    given = text.strip()
    if given.isdecimal() and len(given) > 8:
        return int(given)
    try:
        if re.match(r"^\d{1,2}:\d\d(:\d\d)?$", given):
            given = f"{now.date().isoformat()}T{given:0>5}"
        found = datetime.fromisoformat(given)
    except ValueError:
        raise ValueError(f"{text!r} is no moment; one looks like 2026-05-31T14:00 or 14:00") from None
    return round((found if found.tzinfo else found.replace(tzinfo=now.tzinfo)).timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class Window:
    """since_ms, until_ms: both included. groups: names or patterns as a shell has them; empty for all.

    Records of a group are taken from before the window, too: they say who its members were when it began.
    """

    since_ms: int = 0
    until_ms: int = FOREVER_MS
    groups: tuple[str, ...] = ()

    @property
    def is_everything(self) -> bool:
        return self == EVERYTHING

    def cut(self, chunk: Chunk) -> Chunk:
        """Without what came later, and without commits that came earlier: they are most of the log."""
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
        """The rows of a silver table that were asked for."""
        if column := _TIMES.get(table):
            times = rows[column]
            inside = pc.and_(pc.greater_equal(times, self.since_ms), pc.less_equal(times, self.until_ms))
            rows = rows.filter(inside)
        if self.groups and "group_id" in rows.column_names:
            names = pc.cast(rows["group_id"], pa.string())
            wanted = [name for name in pc.unique(names).to_pylist() if self.wants(name)]
            rows = rows.filter(pc.is_in(names, value_set=pa.array(wanted, pa.string())))
        return rows

    def is_timely(self, ts_ms: int) -> bool:
        """Return whether a moment is inside the window."""
        return self.since_ms <= ts_ms <= self.until_ms

    def wants(self, group: str | None) -> bool:
        """Whether a group was asked for. None: an event of no group, such as a coordinator's election."""
        return group is None or not self.groups or any(fnmatchcase(group, each) for each in self.groups)


EVERYTHING = Window()


def _commits(spans: RecordSpans) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which records are offset commits, by the two bytes that keys begin with."""
    last = max(0, len(spans.buffer) - 1)
    high = spans.buffer[np.minimum(np.maximum(spans.key_start, 0), last)]
    low = spans.buffer[np.minimum(np.maximum(spans.key_start + 1, 0), last)]
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = (spans.key_length >= 2) & (high == 0) & (low <= OFFSET_COMMIT)
    return found
