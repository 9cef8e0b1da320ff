"""Readers of tables during a write see complete ones, old or new."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kohort.pipeline.gold.gold_versions import new_version, show
from kohort.pipeline.silver.parquet_files import Writer, publish, visible_files
from kohort.pipeline.silver.rolling import FEWEST, clean, roll
from kohort.pipeline.silver.silver_schemas import SCHEMAS
from kohort.pipeline.silver.snapshots import snapshot

TABLE = "decode_errors"


def batch(silver: Path, number: int | str, *, published: bool = True) -> None:
    """Return a batch of one row with its number."""
    row = dict.fromkeys(SCHEMAS[TABLE].names) | {
        "partition": 0,
        "offset": 0,
        "ts_ms": 0,
        "error": str(number),
    }
    with Writer(silver, str(number)) as writer:
        writer.add(TABLE, pa.Table.from_pylist([row], SCHEMAS[TABLE]))
    if published:
        publish(silver, str(number), [writer.task])


def rows(folder: Path) -> list[str]:
    files = visible_files(folder, TABLE)
    return sorted(row["error"] for path in files for row in pq.read_table(path, partitioning=None).to_pylist())


def test_unfinished_task_output_is_hidden(tmp_path: Path) -> None:
    batch(tmp_path, 0)
    batch(tmp_path, 1, published=False)
    assert rows(tmp_path) == ["0"]


def test_snapshot_survives_rolls_and_rewrites(tmp_path: Path) -> None:
    silver = tmp_path / "silver"
    for number in range(FEWEST + 1):
        batch(silver, number)
    batch(silver, "sample-7")
    with snapshot(silver, until=FEWEST - 1) as view:
        expected = sorted([*map(str, range(FEWEST)), "sample-7"])
        assert rows(view) == expected, "the batch after those that are committed may be written again"
        assert roll(silver, FEWEST - 1) == FEWEST
        batch(silver, FEWEST)
        assert rows(view) == expected
    assert not view.exists()
    assert rows(silver) == sorted([*expected, str(FEWEST)])


@pytest.mark.long
def test_row_rewrites_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []

    def noting(writer: pq.ParquetWriter, table: pa.Table) -> None:
        written.append(len(table))
        write_table(writer, table)

    write_table = pq.ParquetWriter.write_table
    rounds = 40
    for number in range(rounds):
        for each in range(FEWEST * number, FEWEST * (number + 1)):
            batch(tmp_path, each)
        with monkeypatch.context() as patched:
            patched.setattr(pq.ParquetWriter, "write_table", noting)
            assert roll(tmp_path, FEWEST * (number + 1) - 1) == FEWEST
    assert rows(tmp_path) == sorted(map(str, range(FEWEST * rounds)))
    assert sum(written) < 8 * FEWEST * rounds, "with all of it at each roll it would be twenty times as much"
    assert len(visible_files(tmp_path, TABLE)) < 10


def test_samples_are_rolled_separately(tmp_path: Path) -> None:
    for number in range(FEWEST + 1):
        batch(tmp_path, f"sample-{1_760_000_000_000_000_000 + number}")
    batch(tmp_path, 0)
    old_rows = rows(tmp_path)
    kept = tmp_path / "kept"
    shutil.copytree(tmp_path / TABLE, kept)
    assert roll(tmp_path, -1) == 0
    assert rows(tmp_path) == old_rows
    assert len(visible_files(tmp_path, TABLE)) == 2
    for place in kept.iterdir():
        shutil.copytree(place, tmp_path / TABLE / place.name, dirs_exist_ok=True)
    clean(tmp_path)
    assert rows(tmp_path) == old_rows, "what a crash left behind counts once"


def test_crash_between_rolls_counts_once(tmp_path: Path) -> None:
    for number in range(2 * FEWEST):
        batch(tmp_path, number)
    kept = tmp_path / "kept"
    shutil.copytree(tmp_path / TABLE, kept)
    roll(tmp_path, 2 * FEWEST - 1)
    for place in kept.iterdir():
        shutil.copytree(place, tmp_path / TABLE / place.name)
    clean(tmp_path)
    assert rows(tmp_path) == sorted(map(str, range(2 * FEWEST)))


def test_old_release_roll_is_continued(tmp_path: Path) -> None:
    batch(tmp_path, "rolled-7")
    batch(tmp_path, 5)
    for number in range(8, 8 + FEWEST):
        batch(tmp_path, number)
    clean(tmp_path)
    roll(tmp_path, 8 + FEWEST)
    assert rows(tmp_path) == sorted(["rolled-7", *map(str, range(8, 8 + FEWEST))])


def test_leftover_snapshot_is_removed(tmp_path: Path) -> None:
    silver = tmp_path / "silver"
    batch(silver, 0)
    with snapshot(silver) as first:
        path = first.with_name(first.name + "0")
        shutil.copytree(first, path)
    with snapshot(silver) as second:
        assert not path.exists()
        assert rows(second) == ["0"]


def test_gold_is_replaced_as_a_whole(tmp_path: Path) -> None:
    gold = tmp_path / "gold"
    for text in ("old", "new"):
        version = new_version(gold)
        (version / "table").write_text(text)
        assert not gold.exists() or (gold / "table").read_text() == "old", "nothing is shown before it is complete"
        show(gold, version)
        assert (gold / "table").read_text() == text


def test_failed_attempt_keeps_gold(tmp_path: Path) -> None:
    gold = tmp_path / "gold"
    show(gold, new_version(gold))
    (gold / "table").write_text("old")
    new_version(gold)  # and the process is killed
    assert (gold / "table").read_text() == "old"
    show(gold, new_version(gold))
    assert not (gold / "table").exists()


def test_readers_keep_previous_version(tmp_path: Path) -> None:
    gold = tmp_path / "gold"
    show(gold, new_version(gold))
    (gold / "table").write_text("old")
    found = gold.resolve() / "table"
    show(gold, new_version(gold))
    assert found.read_text() == "old"
    show(gold, new_version(gold))
    assert not found.exists()
    assert len(list(tmp_path.iterdir())) == 3, "the link, the version that it names, and the one before"


@pytest.mark.parametrize("text", ["old"])
def test_old_folder_becomes_a_version(tmp_path: Path, text: str) -> None:
    gold = tmp_path / "gold"
    gold.mkdir()
    (gold / "table").write_text(text)
    version = new_version(gold)
    assert (gold / "table").read_text() == text
    show(gold, version)
    assert list(gold.iterdir()) == []
