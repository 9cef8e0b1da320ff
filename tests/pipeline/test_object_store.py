"""Sources in a store that speaks S3: read where they lie, with the same result as from a folder."""

from __future__ import annotations

from pathlib import Path

import pyarrow.fs as fs
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from kohort.cli.analyze import analyze
from kohort.pipeline.sources.found import Source, find_sources
from tests.pipeline.incidents.recorded import unpacked
from tests.pipeline.stores import BUCKET, put


def without_place(sources: list[Source], root: str) -> set[tuple[str, str, int, int]]:
    return {(source.kind, source.path.removeprefix(root), source.partition, source.size) for source in sources}


def rows_in(gold: Path) -> dict[str, list[str]]:
    paths = sorted(gold.rglob("*.parquet"))
    return {str(path.relative_to(gold)): list(map(repr, pq.ParquetFile(path).read().to_pylist())) for path in paths}


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_store_sources_are_recognized(store: fs.S3FileSystem, tmp_path: Path, scheme: str) -> None:
    recording = unpacked("kohort", tmp_path / "recording")
    put(store, recording, "recognised")
    there, issues = find_sources([f"{scheme}://{BUCKET}/recognised"])
    here, _ = find_sources([str(recording)])
    assert issues == []
    assert without_place(there, f"{scheme}://{BUCKET}/recognised") == without_place(here, str(recording))


@pytest.mark.long
def test_store_analysis(store: fs.S3FileSystem, tmp_path: Path) -> None:
    recording = unpacked("kohort", tmp_path / "recording")
    put(store, recording, "analysed")
    for source, out in ((f"s3://{BUCKET}/analysed/", "there"), (str(recording), "here")):
        result = CliRunner().invoke(analyze, [source, "--out", str(tmp_path / out)])
        assert result.exit_code == 0, result.output
    there, here = (rows_in(tmp_path / out / "tables" / "gold") for out in ("there", "here"))
    assert there == here
    assert any("diagnoses" in table for table in here)


def test_one_file_of_a_store(store: fs.S3FileSystem, tmp_path: Path) -> None:
    line = "[2026-11-20 22:17:43,630] INFO [GroupCoordinator id=2]: unheard of (kafka.X)\n"
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "notes.txt").write_text(line)
    put(store, tmp_path / "logs", "one")
    sources, issues = find_sources([f"s3://{BUCKET}/one/notes.txt"])
    assert issues == []
    assert [(source.kind, source.path, source.size) for source in sources] == [
        ("text_log", f"s3://{BUCKET}/one/notes.txt", len(line))
    ]


def test_missing_object_is_reported(store: fs.S3FileSystem, tmp_path: Path) -> None:
    places = [f"s3://{BUCKET}/nowhere/", "s3://no-such-bucket/x"]
    result = CliRunner().invoke(analyze, [*places, "--out", str(tmp_path / "out")])
    assert result.exit_code == 1
    assert f"{places[0]}: " in result.output
    assert f"{places[1]}: " in result.output
    assert "NO_SUCH_BUCKET" in result.output
    assert "nothing to analyse" in result.output


def test_store_without_usable_files(store: fs.S3FileSystem) -> None:
    with store.open_output_stream(f"{BUCKET}/pictures/cat.txt") as stream:
        stream.write(b"meow\n")
    sources, issues = find_sources([f"s3://{BUCKET}/pictures"])
    assert sources == []
    assert [(issue.rule, issue.keys) for issue in issues] == [("no_source", f"s3://{BUCKET}/pictures")]
