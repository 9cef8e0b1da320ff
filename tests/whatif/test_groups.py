"""Predictions for several groups at the same time."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kohort.cli.what_if import what_if
from kohort.pipeline.analysis.worker_processes import WorkerProcesses
from kohort.pipeline.report.readiness_section import what_if_section
from kohort.whatif.question import FEWEST_SEEDS
from tests.pipeline.incidents.recorded import unpacked


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked("what-if-kafka-4.3", tmp_path_factory.mktemp("logs"))


@pytest.fixture(autouse=True)
def few_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kohort.whatif.question.SEEDS", FEWEST_SEEDS)


def run(logs: Path, *arguments: str) -> Result:
    return CliRunner().invoke(what_if, [str(logs), *arguments])


def test_groups_of_pattern_are_predicted(logs: Path) -> None:
    result = run(logs, "--group", "rolling-[cr]*", "--set", "group.instance.id=static", "--json")
    assert result.exit_code == 0, result.output
    names = ["rolling-consumer-static", "rolling-cooperative", "rolling-range"]
    answers = json.loads(result.stdout)
    assert [answer["group"] for answer in answers] == names
    assert [answer["variants"][1]["figures"]["rebalances"] for answer in answers] == [0, 0, 0]
    assert [answer["variants"][0]["figures"]["rebalances"] for answer in answers] == [0, 12, 8]


def test_refused_group_keeps_other_predictions(logs: Path, tmp_path: Path) -> None:
    groups = ["--group", "rolling-range", "--group", "rolling-consumer-static", "--group", "absent"]
    groups += ["--group", "poison-poll15"]
    page = tmp_path / "page.html"
    result = run(logs, *groups, "--set", "session.timeout.ms=30000", "--report", str(page))
    assert result.exit_code == 1
    assert "group rolling-range: the play under its own settings reproduces the history" in result.stdout
    assert result.stdout.count("\nsession.timeout.ms=30000\n") == 1
    errors = result.stderr.splitlines()
    assert any(line.startswith("Error: group rolling-consumer-static: session.timeout.ms does not") for line in errors)
    assert "Error: group absent is not in these sources" in errors
    assert any(line.startswith("Error: cannot predict group poison-poll15: the play does not") for line in errors)
    html = page.read_text(encoding="utf-8")
    assert "<h1>What if: 4 groups</h1>" in html
    assert "<p>Nothing is predicted: group absent is not in these sources.</p>" in html
    assert html.count("<h3>Figures</h3>") == 1


def test_json_names_error_of_group(logs: Path) -> None:
    result = run(logs, "--group", "rolling-range", "--group", "absent", "--set", "group.instance.id=static", "--json")
    assert result.exit_code == 1
    refused, predicted = json.loads(result.stdout)
    assert refused == {"group": "absent", "error": "group absent is not in these sources"}
    assert predicted["group"] == "rolling-range"


def test_setting_unsuitable_for_all_groups(logs: Path) -> None:
    result = run(logs, "--group", "*-consumer*", "--set", "session.timeout.ms=30000")
    assert result.exit_code == 2
    assert "session.timeout.ms does not apply to the consumer protocol" in result.stderr


def test_interrupt_ends_worker_processes() -> None:
    with pytest.raises(KeyboardInterrupt):
        _interrupt_calls()


def _interrupt_calls() -> None:
    with WorkerProcesses() as workers:
        results = workers.map(_wait_for_signal_unless_first, [0, 1])
        assert next(results) == 0
        raise KeyboardInterrupt


def _wait_for_signal_unless_first(number: int) -> int:
    if number:
        signal.pause()
    return number


def test_equal_ids_in_two_clusters() -> None:
    section = what_if_section({("east", "billing"): "<p>1</p>", ("west", "billing"): "<p>2</p>"})
    assert "<b><bdi>billing</bdi></b> in <bdi>east</bdi>" in section
    assert "<b><bdi>billing</bdi></b> in <bdi>west</bdi>" in section
    assert section.index("<p>1</p>") < section.index("<p>2</p>")
