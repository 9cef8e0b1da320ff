"""The stages that a change and a release must pass: their documentation and their results."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tests import stages
from tests.stages import ROOT, Stage, ci, deep, report, run

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
ALL = [("ci", stage) for row in ci(ROOT) for stage in row] + [("deep", stage) for row in deep(ROOT) for stage in row]


@pytest.mark.parametrize(("run", "stage"), ALL, ids=lambda value: getattr(value, "name", value))
def test_stage_is_documented_with_its_target(run: str, stage: Stage) -> None:
    command = ".ci/run" if run == "ci" else "make deep"
    assert re.search(
        rf"^\| `{re.escape(command)}` \| {stage.name} \| {re.escape(stage.description)} \|", CONTRIBUTING, re.MULTILINE
    )
    assert re.search(rf"^{stage.make.partition(' ')[0]}:", MAKEFILE, re.MULTILINE)


def test_documentation_has_no_other_stage() -> None:
    assert len(re.findall(r"^\| `(?:\.ci/run|make deep)` \|", CONTRIBUTING, re.MULTILINE)) == len(ALL)


def test_required_libraries_have_versions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [requirement for extra in project["optional-dependencies"].values() for requirement in extra]
    required = [*project["dependencies"], *extras]
    names = {re.split(r"[\[<>=!~;]", text)[0].lower().replace("_", "-") for text in required} - {"kohort"}
    pinned = {line.split("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}
    assert names <= pinned, "make constraints"


def test_spark_tests_are_in_make_spark() -> None:
    marked = [path for path in (ROOT / "tests").rglob("test_*.py") if re.search(r"mark\.spark\b", path.read_text())]
    assert {path.parent.relative_to(ROOT).as_posix() for path in marked} == {"tests/pipeline"}
    assert re.search(r'-m "spark.* tests/pipeline$', MAKEFILE, re.MULTILINE)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder with a Makefile, to which its stages write."""
    (tmp_path / "Makefile").write_text(
        "good:\n\t@echo '3 passed, 1 skipped, 2 rerun in 1.0s'; echo 'RERUN tests/a.py::b'\n"
        "bad:\n\t@echo '1 failed, 4 passed in 1.0s'; exit 3\n"
        "broken:\n\t@exit 1\n"
    )
    monkeypatch.setattr(stages, "ROOT", tmp_path)
    monkeypatch.setattr(stages, "LOGS", tmp_path)
    return tmp_path


@pytest.mark.long
def test_failed_stage_does_not_stop_others(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [[Stage("broken", "", "broken"), Stage("good", "", "good")], [Stage("bad", "", "bad")]]
    run(rows)
    broken, good, bad = *rows[0], *rows[1]
    assert [stage.code for stage in (broken, good, bad)] == [2, 0, 2]
    assert good.counts == Counter(passed=3, skipped=1, rerun=2)
    assert not report([broken, good, bad], 1.0)
    output = capsys.readouterr().out
    assert "rerun: tests/a.py::b" in output
    assert output.endswith("\n7 passed, 2 failed, 1 skipped\n")


def test_skipped_stage_shows_its_reason(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stage = Stage("compile", "a wheel", "good", lambda: "there is no C compiler")
    run([[stage]])
    assert report([stage], 1.0)
    assert "left out: compile (a wheel): there is no C compiler" in capsys.readouterr().out
