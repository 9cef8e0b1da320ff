"""Messages when Spark is not available."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from kohort.cli.analyze import analyze
from kohort.pipeline.session import NoSparkError, connect_place, with_retries
from kohort.pipeline.silver.parquet_files import UnseenTablesError, Writer, publish
from kohort.pipeline.silver.silver_schemas import table_of
from kohort.pipeline.sources.chunk import Issue
from tests.pipeline.synthetic import Plan, write_segments


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("sc://spark:15003/;user_id=me", ("spark", 15003)),
        ("sc://spark", ("spark", 15002)),
        ("sc://[::1]:7", ("::1", 7)),
    ],
)
def test_spark_connect_address(address: str, place: tuple[str, int]) -> None:
    assert connect_place(address) == place


@pytest.mark.parametrize("address", ["sc://", "sc://spark:port", "sc://spark:99999"])
def test_invalid_address(address: str) -> None:
    with pytest.raises(NoSparkError, match="expected one like sc://host:15002"):
        connect_place(address)


@pytest.mark.parametrize(
    ("master", "taken"),
    [
        ("local", "local[1,4]"),
        ("local[3]", "local[3,4]"),
        ("local[*]", "local[*,4]"),
        ("local[2,1]", "local[2,1]"),
        ("local-cluster[2,1,1024]", "local-cluster[2,1,1024]"),
        ("spark://host:7077", "spark://host:7077"),
    ],
)
def test_dead_worker_is_replaced(master: str, taken: str) -> None:
    # local mode of Spark fails with the first failed task; clusters try four times
    assert with_retries(master) == taken


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sc://127.0.0.1:{port}", "no Spark Connect server answers at 127.0.0.1:{port}"),
        ("spark://127.0.0.1:{port}", "no Spark master answers at 127.0.0.1:{port}"),
        ("spark://127.0.0.1:{port},[::1]:{port}", "no Spark master answers at 127.0.0.1:{port} (["),
    ],
)
def test_nobody_at_the_address(url: str, said: str, tmp_path: Path) -> None:
    write_segments(Plan(records=10, groups=1), tmp_path / "logs")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    logs, out = str(tmp_path / "logs"), tmp_path / "out"
    result = CliRunner().invoke(analyze, [logs, "--out", str(out), "--cluster", url.format(port=port)])
    assert result.exit_code == 1
    assert said.format(port=port) in result.output
    assert not (out / "error.log").exists(), "the message is complete"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "An exception was thrown from the Python worker.\nTraceback (most recent call last):\n  File x\n"
            "ModuleNotFoundError: No module named 'kohort'\n",
            "kohort is missing in the Python of Spark's workers",
        ),
        (
            "An exception was thrown from the Python worker.\nTraceback (most recent call last):\n  File x\n"
            "pyarrow.lib.ArrowInvalid: odd\nOSError: [Errno 28] No space left on device\n",
            "one of Spark's workers failed: OSError: [Errno 28] No space left on device",
        ),
        (
            "An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.\n"
            ": org.apache.spark.SparkException: Could not parse Master URL: 'foo'\n\tat a.b.C",
            "Spark failed: Could not parse Master URL: 'foo'",
        ),
        ("org.apache.spark.SparkException: Job aborted\n at a.b.C", "org.apache.spark.SparkException: Job aborted"),
    ],
)
def test_spark_errors_become_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str) -> None:
    def broken(_: str | None) -> None:
        raise RuntimeError(text)

    monkeypatch.setattr("kohort.pipeline.session.spark_session", broken)
    write_segments(Plan(records=10, groups=1), tmp_path / "logs")
    result = CliRunner().invoke(analyze, [str(tmp_path / "logs"), "--engine", "spark", "--out", str(tmp_path / "out")])
    assert result.exit_code == 1
    assert f"Error: {said}" in result.output
    assert text.splitlines()[-1] in (tmp_path / "out" / "error.log").read_text()


def test_tables_are_counted_on_display(tmp_path: Path) -> None:
    with Writer(tmp_path, "0") as writer:
        writer.add("dq_issues", table_of("dq_issues", [Issue("r", "k", "d")], ""))
    assert publish(tmp_path, "0", ["of another machine"]) == 0
    assert "pass a shared folder with --out" in str(UnseenTablesError(tmp_path))
