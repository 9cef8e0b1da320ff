"""The same job wherever Spark runs: a cluster with workers of its own, spark-submit, a Spark Connect server."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kohort.testing import Cluster
from tests.pipeline.synthetic import Plan, write_segments
from tests.pipeline.written_cluster import World

pytestmark = [pytest.mark.spark, pytest.mark.cluster, pytest.mark.timeout(1500)]
COMMAND = [sys.executable, "-m", "kohort.cli", "analyze"]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("input") / "logs"
    write_segments(Plan(records=8_000, groups=5, members=4, rebalance_every=10, seed=3), folder)
    return folder


@pytest.fixture(scope="module")
def expected(logs: Path) -> dict[str, list[str]]:
    """The tables that Spark makes on this machine."""
    out = logs.parent / "here"
    run([*COMMAND, str(logs), "--out", str(out), "--cluster", "local[2]"])
    tables = gold(out / "tables" / "gold")
    assert len(tables["rebalances"]) > 50
    return tables


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Spark Connect server in a process and a folder of its own."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    folder = tmp_path_factory.mktemp("server")
    settings = {"spark.connect.grpc.binding.port": str(port), "spark.ui.enabled": "false", "spark.driver.memory": "1g"}
    named = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*spark_submit(), *named, "--class", server, "spark-internal"],
            cwd=folder, env=environment(), stdout=log, stderr=log,
        )  # fmt: skip
    try:
        wait_for(port, process, folder / "log")
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(300)


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 400
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)


def spark_submit() -> list[str]:
    import pyspark

    return [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", "local[2]"]


def environment() -> dict[str, str]:
    from kohort.pipeline.java import java_home

    return {**os.environ, "JAVA_HOME": java_home(), "PYSPARK_PYTHON": sys.executable}


def run(command: list[str], **options: Any) -> None:
    result = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert result.returncode == 0, result.stderr
    assert "report: " in result.stdout


@pytest.mark.deep
def test_cluster_gives_same_tables(logs: Path, expected: dict[str, list[str]], tmp_path: Path) -> None:
    command = [*COMMAND, logs.name, "--out", os.path.relpath(tmp_path, logs.parent)]
    run([*command, "--cluster", "local-cluster[2,1,1024]"], cwd=logs.parent)
    same(gold(tmp_path / "tables" / "gold"), expected)


@pytest.mark.deep
def test_spark_submit_gives_the_same_tables(logs: Path, expected: dict[str, list[str]], tmp_path: Path) -> None:
    job = tmp_path / "analyse.py"
    job.write_text("from kohort.cli.analyze import analyze\n\nanalyze()\n")
    run([*spark_submit(), str(job), str(logs), "--out", str(tmp_path / "out")], env=environment())
    same(gold(tmp_path / "out" / "tables" / "gold"), expected)


@pytest.mark.deep
def test_spark_connect_gives_the_same_tables(
    logs: Path, expected: dict[str, list[str]], connect: str, tmp_path: Path
) -> None:
    command = [*COMMAND, logs.name, "--out", os.path.relpath(tmp_path, logs.parent)]
    run(command, cwd=logs.parent, env={**os.environ, "SPARK_REMOTE": connect})
    same(gold(tmp_path / "tables" / "gold"), expected)


@pytest.mark.deep
def test_spark_connect_alerts_are_printed_locally(connect: str, tmp_path: Path) -> None:
    with Cluster(seed=1) as kafka:
        world = World(kafka, 1)
        world.ts_ms = round(time.time() * 1000) - 60_000
        command = [*COMMAND[:-1], "follow", kafka.bootstrap, "--engine", "spark", "--cluster", connect]
        command += ["--metrics-port", "0", "--out", str(tmp_path)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        told = []
        for _ in range(6):
            world.ts_ms += 1_000
            world.append("orders", world.rebalance("orders"))
        try:
            for line in process.stdout:
                told.append(line)
                if "orders: 5 rebalances in" in line:
                    process.send_signal(signal.SIGINT)
            _, progress = process.communicate(timeout=600)
        finally:
            process.kill()  # an interrupted test must not leave a follower of a closed cluster
    assert process.returncode == 0, progress
    assert any("orders: 5 rebalances in" in line for line in told), progress
    assert any(line.startswith("report: ") for line in told), progress


def gold(folder: Path) -> dict[str, list[str]]:
    """Return every gold table with sorted rows."""
    return {
        table.name: sorted(repr(sorted(row.items())) for row in pq.read_table(table).to_pylist())
        for table in sorted(folder.iterdir())
        if table.is_dir() and not table.name.startswith("_")
    }


def same(found: dict[str, list[str]], expected: dict[str, list[str]]) -> None:
    assert found.keys() == expected.keys()
    for name, rows in found.items():
        assert rows == expected[name], name
