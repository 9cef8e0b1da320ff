"""`--out` in a store that speaks S3: the same tables as in a folder, and no reader ever meets a half of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.fs as fs
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from kohort.cli.analyze import analyze
from kohort.pipeline.analysis.analysis_run import analyse
from kohort.pipeline.analysis.engine import RowCounts
from kohort.pipeline.analysis.local_engine import LocalEngine
from kohort.pipeline.analysis.stored_runs import LEFT_ALONE_S, StoredRun, current
from kohort.pipeline.remote_path import Place, StoredPlace, remove_folder
from kohort.pipeline.sources.found import find_sources
from kohort.pipeline.sources.window import EVERYTHING, Window
from kohort.pipeline.store_errors import store_error
from tests.pipeline.incidents.recorded import unpacked
from tests.pipeline.stores import BUCKET, fetch, refusing_store, use
from tests.pipeline.synthetic import Plan, write_segments

NOW_S = 1_790_000_000.0


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Two groups that make findings: where it matters how tables are written, and not what is in them."""
    write_segments(Plan(records=2_000, groups=2, rebalance_every=10), tmp_path / "small")
    return tmp_path / "small"


def files_of(tables: Path) -> dict[str, Any]:
    """Return the rows of each file; those of silver sorted, since their order depends on Spark's tasks."""
    found: dict[str, Any] = {}
    for layer in ("gold", "silver"):
        for path in sorted((tables / layer).rglob("*.parquet")):
            rows = list(map(repr, pq.ParquetFile(path).read().to_pylist()))
            if layer == "gold":
                found[str(path.relative_to(tables))] = rows
            else:
                found.setdefault(str(path.relative_to(tables).parent), []).extend(rows)
    return {name: rows if name.startswith("gold") else sorted(rows) for name, rows in found.items()}


def compare(source: Path, prefix: str, store: fs.S3FileSystem, tmp_path: Path) -> None:
    """Compare the analysis in the bucket with one in a folder."""
    sources, issues = find_sources([str(source)])
    here, there = tmp_path / "here", StoredPlace(f"s3://{BUCKET}/{prefix}")
    analyse(LocalEngine(), sources, issues, here, lambda _: None)
    copy = fetch(store, prefix, tmp_path / "there")
    shown = current(there)
    assert shown is not None
    assert files_of(copy / "tables" / str(shown["run"])) == files_of(here / "tables")
    for name in ("findings.json", "report.html"):
        assert (copy / name).read_text() == (here / name).read_text()
    for name in ("duckdb.sql", "spark.sql"):
        views, local = ((out / "tables" / name).read_text() for out in (copy, here))
        place = f"://{BUCKET}/{prefix}/tables/{shown['run']}"
        assert views.replace(f"s3a{place}", f"s3{place}") == local.replace(str(here / "tables"), f"s3{place}")
        assert f"s3a{place}" in views or name == "duckdb.sql"


@pytest.mark.long
def test_store_equals_folder_tables(store: fs.S3FileSystem, tmp_path: Path) -> None:
    recording = unpacked("kohort", tmp_path / "recording")
    sources, issues = find_sources([str(recording)])
    out = StoredPlace(f"s3://{BUCKET}/alike")
    assert analyse(LocalEngine(), sources, issues, out, lambda _: None).report == out / "report.html"
    compare(recording, "alike", store, tmp_path)


@pytest.mark.deep
@pytest.mark.spark
@pytest.mark.timeout(1000)
def test_spark_writes_same_tables(store: fs.S3FileSystem, tmp_path: Path) -> None:
    # a new Spark process, whose workers start with the environment variables of the store
    logs = tmp_path / "logs"
    write_segments(Plan(records=4_000, groups=4, rebalance_every=10), logs)
    out = f"s3a://{BUCKET}/by-spark"
    command = [sys.executable, "-m", "kohort", "analyze", str(logs), "--out", out, "--cluster", "local[2]"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"report: {out}/report.html" in result.stdout
    compare(logs, "by-spark", store, tmp_path)


@pytest.mark.long
def test_views_lead_to_the_tables(store: fs.S3FileSystem, small: Path, tmp_path: Path) -> None:
    # local files, since DuckDB would download its S3 extension
    result = CliRunner().invoke(analyze, [str(small), "--out", f"s3://{BUCKET}/asked/"])
    assert result.exit_code == 0, result.output
    assert f"report: s3://{BUCKET}/asked/report.html" in result.output
    copy = fetch(store, "asked", tmp_path / "copy")
    views = (copy / "tables" / "duckdb.sql").read_text().replace(f"s3://{BUCKET}/asked", str(copy))
    connection = duckdb.connect()
    connection.execute(views)
    row = connection.execute("SELECT count(*) FROM diagnoses").fetchone()
    assert row is not None
    assert row[0] == len(json.loads((copy / "findings.json").read_text())) > 0


class Watched(LocalEngine):
    """Looks at what readers find while tables are written. breaks: the second half of the work fails."""

    def __init__(self, out: StoredPlace, breaks: bool) -> None:
        self._out, self._breaks = out, breaks
        self.seen: list[list[str]] = []

    def write_gold(self, silver: Place, gold: Place, window: Window = EVERYTHING) -> RowCounts:
        counts = super().write_gold(silver, gold, window)
        self.seen.append(shown_tables(self._out))
        if self._breaks:
            raise OSError("the machine dies here")
        return counts


def shown_tables(out: StoredPlace) -> list[str]:
    """Return the files that a reader of current.json finds."""
    named = current(out)
    assert named is not None
    run = out / "tables" / str(named["run"])
    return [str(path) for layer in ("gold", "silver") for path in (run / layer).glob("*/*/*.parquet")]


@pytest.mark.long
def test_readers_see_only_complete_tables(store: fs.S3FileSystem, small: Path) -> None:
    sources, issues = find_sources([str(small)])
    out = StoredPlace(f"s3://{BUCKET}/whole")
    analyse(LocalEngine(), sources, issues, out, lambda _: None)
    first, before = current(out), shown_tables(out)
    assert first is not None
    assert any("/gold/diagnoses/" in path for path in before)

    broken = Watched(out, breaks=True)
    with pytest.raises(OSError, match="the machine dies here"):
        analyse(broken, sources, issues, out, lambda _: None)
    assert broken.seen == [before]
    assert shown_tables(out) == before
    assert runs_in(out) == {first["run"]}

    sound = Watched(out, breaks=False)
    analyse(sound, sources, issues, out, lambda _: None)
    assert sound.seen == [before]
    assert current(out) != first
    assert len(shown_tables(out)) == len(before)
    assert all(StoredPlace(path).exists() for path in before), "readers of the previous run can continue"

    next_run = StoredRun.begin(out, NOW_S)
    next_run.show()
    next_run.clean(NOW_S)
    assert first["run"] not in runs_in(out)


def runs_in(out: StoredPlace) -> set[str]:
    return {place.name for place in (out / "tables").iterdir() if place.name.startswith("run-")}


def test_foreign_runs_are_kept_one_day(store: fs.S3FileSystem) -> None:
    out = StoredPlace(f"s3://{BUCKET}/others")
    died = StoredRun.begin(out, NOW_S - LEFT_ALONE_S - 60)
    at_work = StoredRun.begin(out, NOW_S - 60)
    mine = StoredRun.begin(out, NOW_S)
    assert current(out) is None
    mine.show()
    mine.clean(NOW_S)
    assert current(out) == {"run": mine.name, "before": None}
    assert runs_in(out) == {at_work.name, mine.name} - {died.name}


@pytest.mark.long
def test_store_without_delete_right(store: fs.S3FileSystem, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: StoredRun, now_s: float) -> None:
        raise OSError("AWS Error ACCESS_DENIED during DeleteObject operation: No")

    monkeypatch.setattr(StoredRun, "clean", refused)
    result = CliRunner().invoke(analyze, [str(small), "--out", f"s3://{BUCKET}/kept"])
    assert result.exit_code == 0, result.output
    assert f"cannot remove older runs in s3://{BUCKET}/kept/tables: the store refuses" in result.output


@pytest.mark.parametrize(
    ("status", "code", "said", "most"),
    [
        (403, "AccessDenied", "the store with bucket incidents refuses (PutObject: ACCESS_DENIED)", 1),
        (503, "SlowDown", "the store with bucket incidents throttles requests or fails, after several attempts", 2),
    ],
)
def test_store_refuses_or_throttles(
    small: Path, monkeypatch: pytest.MonkeyPatch, status: int, code: str, said: str, most: int
) -> None:
    with refusing_store(status, code) as store:
        use(monkeypatch, store.endpoint)
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
        result = CliRunner().invoke(analyze, [str(small), "--out", "s3://incidents/today"])
    assert result.exit_code == 1
    assert said in result.output
    assert "Traceback" not in result.output
    assert store.requests == ["PUT"] * most


def test_sources_in_a_store_that_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with refusing_store(403, "AccessDenied") as store:
        use(monkeypatch, store.endpoint)
        result = CliRunner().invoke(analyze, ["s3://backups/broker-1", "--out", str(tmp_path / "out")])
    assert result.exit_code == 1
    assert "s3://backups/broker-1: the store with bucket backups refuses" in result.output
    assert "nothing to analyse" in result.output


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("AWS Error UNKNOWN (HTTP status 503) during HeadObject operation: No response body.", "throttles"),
        ("AWS Error NETWORK_CONNECTION during PutObject operation: curlCode: 7", "cannot be reached"),
        ("in bucket 'x': AWS Error NO_SUCH_BUCKET during PutObject operation: gone", "the bucket does not exist"),
        ("AWS Error INVALID_ACCESS_KEY_ID during GetObject operation: no", "refuses"),
    ],
)
def test_store_error_messages(text: str, said: str) -> None:
    assert said in str(store_error(f"OSError: When doing something: {text}"))


def test_other_errors_are_not_a_stores() -> None:
    assert store_error("No space left on device") is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--out", "ftp://host/incident"), "unknown store ftp://"),
        (("--out", "s3://"), "a bucket is missing"),
    ],
)
def test_unwritable_addresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(analyze, ["localhost:1", *options])
    assert result.exit_code == 2
    assert said in result.output
    assert list(tmp_path.iterdir()) == []


def test_places_in_a_store(store: fs.S3FileSystem) -> None:
    folder = StoredPlace(f"s3://{BUCKET}/places")
    assert not folder.exists()
    assert list(folder.iterdir()) == []
    (folder / "a" / "day=1" / "part-0.parquet").write_bytes(b"one")
    (folder / "a" / "day=2" / "_hidden.parquet").write_bytes(b"two")
    (folder / "note.txt").write_bytes(b"first")
    (folder / "note.txt").write_bytes(b"second")
    assert (folder / "note.txt").read_bytes() == b"second"
    assert [place.name for place in folder.iterdir()] == ["a", "note.txt"]
    assert list((folder / "a").glob("day=*/part-*.parquet")) == [folder / "a" / "day=1" / "part-0.parquet"]
    assert (folder / "a").is_dir()
    assert not (folder / "note.txt").is_dir()
    remove_folder(folder / "a")
    assert not (folder / "a" / "day=1" / "part-0.parquet").exists()
