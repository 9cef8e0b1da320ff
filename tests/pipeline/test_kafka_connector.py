"""Spark's own Kafka connector on a topic of kohort's, batch and stream."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kohort.testing import Cluster
from tests.clients.libraries import Missing, run
from tests.support.lacking import lacks

POM = Path(__file__).parent / "connector_jars"


@pytest.mark.deep
@pytest.mark.spark
@pytest.mark.timeout(1500)
def test_sparks_own_connector_reads_a_topic(tmp_path: Path) -> None:
    jars = tmp_path / "jars"
    try:
        run(["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={jars}"], POM)
    except Missing as reason:
        lacks("program", f"the connector's jars: {reason}")
    with Cluster(nodes=2) as kafka:
        kafka.topics.create("orders", partitions=2)
        for number in range(20):
            kafka.topics.append("orders", f"order {number}", partition=number % 2)
        arguments = [kafka.bootstrap, "orders", str(jars), str(tmp_path / "checkpoint")]
        result = subprocess.run(
            [sys.executable, "-m", "tests.pipeline.connector", *arguments],
            capture_output=True,
            text=True,
            timeout=1400,
            check=False,
        )
    assert result.returncode == 0, result.stderr[-3_000:]
    document = json.loads(result.stdout.strip().splitlines()[-1])
    expected = sorted([number % 2, number // 2, f"order {number}"] for number in range(20))
    assert document["batch"] == expected
    assert document["stream"] == expected
    assert document["batches"] > 1, "the limit made several batches of it"
