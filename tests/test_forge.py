"""What the forge and pre-commit run is what `make` runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[0-9]*.yml"))
KEYS = {"dropdown": {"label", "options"}, "input": {"label"}, "markdown": {"value"}, "textarea": {"label"}}
"""What each kind of field of an issue form must say."""


def loaded(*path: str) -> Any:
    """One of the files, read as YAML. Its key `on` reads as True."""
    return yaml.safe_load(ROOT.joinpath(*path).read_text())


def test_pre_commit_runs_lint_tools() -> None:
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe
    # pre-commit formats what `make lint` refuses, names the files itself, and sets no variables.
    linted = [
        re.sub(r" --check| \.$", "", line.strip()).replace("$(BIN)", ".venv/bin") for line in recipe[1].splitlines()
    ]
    (repository,) = loaded(".pre-commit-config.yaml")["repos"]
    hooked = [hook["entry"].replace(" --force-exclude", "").removeprefix("env ") for hook in repository["hooks"]]
    assert (repository["repo"], hooked) == ("local", linted)
    assert {hook["language"] for hook in repository["hooks"]} == {"system"}


def test_workflow_runs_ci_script() -> None:
    workflow = loaded(".github", "workflows", "check.yaml")
    assert set(workflow[True]) == {"push", "pull_request"}
    assert workflow["jobs"]["check"]["steps"][-1] == {"run": ".ci/run"}
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_release_workflow_builds_all_packages() -> None:
    workflow = loaded(".github", "workflows", "release.yaml")
    jobs = workflow["jobs"]
    assert jobs["attach"]["needs"] == ["wheels", "archive", "image", "clients"]
    assert jobs["publish"]["if"] == "vars.PUBLISH == 'true'"
    commands = [step.get("run", "") for job in jobs.values() for step in job["steps"]]
    targets = {target for command in commands for target in re.findall(r"\bmake ([a-z-]+)", command)}
    makefile = (ROOT / "Makefile").read_text()
    assert targets == {"release", "generated"}
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
    files = {step["with"]["file"] for job in jobs.values() for step in job["steps"] if "file" in step.get("with", {})}
    assert files
    assert all((ROOT / file).is_file() for file in files)


def test_there_are_issue_forms() -> None:
    assert len(FORMS) == 3


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_issue_forms_are_valid(path: Path) -> None:
    form = yaml.safe_load(path.read_text())
    assert form["name"]
    assert form["description"]
    assert all(KEYS[field["type"]] <= field["attributes"].keys() for field in form["body"])
    names = [field["id"] for field in form["body"] if field["type"] != "markdown"]
    labels = [field["attributes"]["label"] for field in form["body"] if field["type"] != "markdown"]
    assert len(set(names)) == len(names)
    assert len(set(labels)) == len(labels)
