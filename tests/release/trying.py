"""A file of a release, installed where nothing of kohort is, and used as README says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from tests.release.building import ROOT, ReleaseError

EXTRAS = "demo,analyze"


class Tried(NamedTuple):
    """Seconds that each step took."""

    install: float
    """With all that it needs, nothing of it in a cache."""
    test: float
    """README's first test."""
    demo: float
    version: str


def try_out(path: Path, folder: Path) -> Tried:
    """Raises ReleaseError when a step fails, with what it printed."""
    folder.mkdir(parents=True)
    python = folder / "venv" / "bin" / "python"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    environment["PIP_NO_CACHE_DIR"] = "1"

    def step(*command: str | Path) -> tuple[float, str]:
        began = time.monotonic()
        done = subprocess.run(
            list(map(str, command)), cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            said = " ".join(map(str, command[1:4]))
            raise ReleaseError(f"{path.name}: {said} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return time.monotonic() - began, done.stdout

    install, _ = step(sys.executable, "-m", "venv", folder / "venv")
    needed = ["pytest<9.2", "pytest-asyncio"]
    more, _ = step(python, "-m", "pip", "install", "--quiet", f"{path}[{EXTRAS}]", *needed)
    (folder / "test_first.py").write_text(first_test())
    (folder / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")
    test, told = step(python, "-m", "pytest", "-q", "test_first.py")
    if "1 passed" not in told:
        raise ReleaseError(f"{path.name}: README's first test did not pass:\n{told}")
    kohort = folder / "venv" / "bin" / "kohort"
    _, version = step(kohort, "--version")
    demo, _ = step(kohort, "demo", "--plain", "--out", folder / "demo")
    return Tried(install + more, test, demo, version.strip())


def first_test() -> str:
    """The first block of Python in README."""
    found = re.search(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]
