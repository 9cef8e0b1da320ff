"""What the tracker of a followed cluster gets of commits: one row for each moment, however the commits were read."""

from __future__ import annotations

from kohort.pipeline.live.tracker_rows import tracker_rows
from kohort.pipeline.silver.record_rows import SilverRows
from kohort.pipeline.sources.chunk import LogRow, chunk_of_rows
from kohort.protocol.records.record_writer import encode_key, encode_value

NOW = 1_760_000_000_000


def commit(offset: int, group: str, ts_ms: int) -> LogRow:
    value = {"offset": 1, "leaderEpoch": -1, "metadata": "", "commitTimestamp": ts_ms}
    return 0, offset, ts_ms, encode_key(1, {"group": group, "topic": "t", "partition": 0}), encode_value(1, 4, value)


def test_commits_become_one_row_each() -> None:
    # a group with a non-ASCII name uses the plain decoder
    runs = [
        [commit(0, "orders", NOW), commit(1, "billing", NOW)],
        [commit(2, "shipping", NOW + 1), commit(3, "größer", NOW + 2)],
        [commit(4, "orders", NOW + 3)],
    ]
    silver = SilverRows("", 0)
    tables = [table for run in runs for table in silver.add(chunk_of_rows(run))]
    assert sorted(row[:3] for row in tracker_rows(tables)) == [
        ("billing", 0, 1),
        ("größer", 0, 3),
        ("orders", 0, 0),
        ("orders", 0, 4),
        ("shipping", 0, 2),
    ]
