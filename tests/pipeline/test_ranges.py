"""How far a partition was read, from one reading or from many batches of a stream; and many batches made one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from kohort.pipeline.silver.parquet_files import Writer, publish
from kohort.pipeline.silver.ranges import joined, moves_between
from kohort.pipeline.silver.rolling import FEWEST, clean, roll
from kohort.pipeline.silver.silver_rows import LogRange
from kohort.pipeline.silver.silver_schemas import table_of
from kohort.pipeline.sources.chunk import Issue


def range_(first: int, last: int, intact: int | None = None, **more: Any) -> LogRange:
    usual = LogRange(
        partition=0,
        first_offset=first,
        last_offset=last,
        intact_from=first if intact is None else intact,
        records=last - first + 1,
        first_ts_ms=first,
        last_ts_ms=last,
    )
    return replace(usual, **more)


def test_adjacent_ranges_are_merged() -> None:
    (whole,) = joined([range_(11, 20), range_(0, 10), range_(22, 30)])  # 21 was a transaction's marker
    assert (whole.first_offset, whole.last_offset, whole.intact_from, whole.records) == (0, 30, 0, 30)


def test_gaps_around_later_ranges_count() -> None:
    assert joined([range_(0, 10, intact=5), range_(11, 20)])[0].intact_from == 5
    assert joined([range_(0, 10), range_(15, 20, hole_before=True)])[0].intact_from == 15
    assert joined([range_(0, 10), range_(11, 20, intact=17)])[0].intact_from == 17


def test_different_readings_stay_separate() -> None:
    assert len(joined([range_(0, 20), range_(5, 30)])) == 2
    assert len(joined([range_(0, 20), range_(21, 30, rank=1)])) == 2
    assert len(joined([range_(0, 20), range_(21, 30, partition=1)])) == 2


def test_move_between_ranges_is_detected() -> None:
    epochs = [range_(0, 9, first_epoch=1, last_epoch=2), range_(10, 19, first_epoch=3, last_epoch=3)]
    assert moves_between(epochs) == {(10, 3)}
    assert moves_between([range_(0, 9, last_epoch=3), range_(10, 19, first_epoch=3)]) == set()
    assert moves_between([range_(0, 9), range_(10, 19, first_epoch=3)]) == set()


def _batch(folder: Path, number: int) -> None:
    with Writer(folder, str(number)) as writer:
        row = range_(10 * number, 10 * number + 9)
        writer.add("log_ranges", table_of("log_ranges", [row], "c"))
        issue = Issue("r", str(number), "")
        writer.add("dq_issues", table_of("dq_issues", [issue], "c"))
    publish(folder, str(number), [writer.task])


def _keys(folder: Path) -> list[int]:
    rows = pq.read_table(folder / "dq_issues", partitioning=None)
    return sorted(int(key) for key in rows["keys"].to_pylist())


def test_merged_batches_keep_every_row(tmp_path: Path) -> None:
    for number in range(FEWEST + 5):
        _batch(tmp_path, number)
    assert roll(tmp_path, FEWEST + 2) == FEWEST + 3
    assert _keys(tmp_path) == list(range(FEWEST + 5))
    ranges = pq.read_table(tmp_path / "log_ranges", partitioning=None).to_pylist()
    assert sorted((row["first_offset"], row["last_offset"]) for row in ranges)[0] == (0, 10 * (FEWEST + 3) - 1)
    assert len(ranges) == 3
    for number in range(FEWEST + 5, 2 * FEWEST + 10):
        _batch(tmp_path, number)
    roll(tmp_path, 2 * FEWEST + 9)
    assert _keys(tmp_path) == list(range(2 * FEWEST + 10))
    assert len(list((tmp_path / "dq_issues").iterdir())) == 1


def test_few_batches_are_left_alone(tmp_path: Path) -> None:
    for number in range(3):
        _batch(tmp_path, number)
    assert roll(tmp_path, 2) == 0
    assert len(list((tmp_path / "dq_issues").iterdir())) == 3


def test_interrupted_roll_is_completed(tmp_path: Path) -> None:
    for number in range(FEWEST):
        _batch(tmp_path, number)
    roll(tmp_path, FEWEST - 1)
    _batch(tmp_path, 3)  # as if it had not been removed any more
    clean(tmp_path)
    assert _keys(tmp_path) == list(range(FEWEST))
