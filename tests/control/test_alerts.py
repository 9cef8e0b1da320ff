"""The alert rules for Prometheus, evaluated by promtool if it is installed."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from kohort.control.http.lag_metrics import of_groups
from kohort.control.http.metrics import Counts, read_counters
from tests.control.talking import Lab

ROOT = Path(__file__).parent.parent.parent
ALERTS = ROOT / "docker" / "prometheus" / "alerts.yaml"
CASES = Path(__file__).parent / "alert_cases.yaml"


def test_alerts_use_exported_metrics(lab: Lab) -> None:
    cluster = lab.laboratory.cluster
    exported = {metric.name for metric in (*of_groups(cluster), *read_counters(Counts(), cluster))}
    rules = yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]
    names = {name for rule in rules for name in re.findall(r"kafka_\w+", rule["expr"])}
    assert names
    assert {name.removesuffix("_total") for name in names} <= exported


@pytest.mark.needs("prometheus")
def test_alerts_fire_as_expected(tmp_path: Path) -> None:
    cases = tmp_path / "cases.yaml"
    cases.write_text(CASES.read_text().replace("ALERTS", str(ALERTS)))
    ended = subprocess.run(["promtool", "test", "rules", cases], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
