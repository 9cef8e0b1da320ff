"""The clients of the control address in `clients/`: their own tests, run as their users run them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.libraries import Missing, fresh_folder, run, tool
from tests.support.lacking import lacks

CLIENTS = Path(__file__).parent.parent.parent / "clients"
KOHORT = Path(sys.executable).parent / "kohort"
TESTS_S = 300

pytestmark = [
    pytest.mark.libraries,
    pytest.mark.timeout(1_500),  # of which fetching may take most, once
    pytest.mark.needs("our own broker"),
]


def copied(name: str) -> Path:
    """Copy a client's folder next to the generator that its build uses, so that the sources stay unchanged."""
    folder = fresh_folder(f"ready-{name}", CLIENTS / name)
    ignored = shutil.ignore_patterns("node_modules", "target", "sample-*", "__pycache__", "control.js", "control.d.ts")
    for word in (name, "generator"):
        shutil.copytree(CLIENTS / word, folder / word, dirs_exist_ok=True, ignore=ignored)
    return folder / name


@pytest.fixture(autouse=True)
def our_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Builds and tests find the broker of this checkout."""
    monkeypatch.setenv("KOHORT_COMMAND", str(KOHORT))


def fetched(command: list[str], folder: Path) -> None:
    """Fetch a client's dependencies once, or skip the test with the reason."""
    if not (folder / "fetched").exists():
        try:
            run(command, folder)
        except Missing as reason:
            lacks("program", reason)
        (folder / "fetched").touch()


def played(command: list[str], folder: Path) -> str:
    """Return the output of the tests, which must pass."""
    command[0] = tool(command[0])
    told = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=TESTS_S,
        check=False,
    )
    assert told.returncode == 0, told.stdout + told.stderr
    return told.stdout


def test_junit_extension() -> None:
    folder = copied("java")
    fetched(["mvn", "-q", "-B", "dependency:go-offline"], folder)
    told = played(["mvn", "-B", "-Dstyle.color=never", "test"], folder)
    found = re.findall(r"Tests run: (\d+), Failures: 0, Errors: 0, Skipped: 0$", told, re.MULTILINE)
    assert found, told
    assert int(found[-1]) >= 8, told


def test_node_module() -> None:
    folder = copied("node")
    fetched(["npm", "ci", "--silent", "--no-audit", "--no-fund"], folder)
    told = played(["npm", "test", "--silent"], folder)
    assert "# fail 0" in told or "ℹ fail 0" in told, told
    assert "# pass 0" not in told, told
