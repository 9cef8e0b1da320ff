"""Installs a file of a release in an environment without kohort, and uses it as described in README."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.release.building import ROOT, ReleaseError

EXTRAS = "demo,analyze"
OLDEST_AND_NEWEST = ("pytest==8.4.*", "pytest>=9.2")
OTHER_PLUGINS = ("pytest-mock", "pytest-timeout")  # pytest-asyncio warns under pytest 9.2 itself
GREENLETS = ("gevent", "eventlet")
STEP_S = 600

STRICT = """\
[tool.pytest.ini_options]
filterwarnings = ["error"]
"""
UNCONCERNED = """\
import client

def test_own_package_is_left_alone():
    assert type(client.__loader__).__name__ == "SourceFileLoader"
    assert 1 + 1 == 2
"""
CONCERNED = """\
def test_orders(kafka):
    kafka.topics.create("orders")
"""
IMPORTED_BEFORE = "import kohort.base.clock, pytest; raise SystemExit(pytest.main())"
GEVENT = "from gevent import monkey; monkey.patch_all({})\n"
EVENTLET = "import eventlet; eventlet.monkey_patch({})\n"


class Tried(NamedTuple):
    """Seconds that each step took."""

    install: float  # with all dependencies, without a cache
    test: float  # the first test of README
    demo: float
    version: str


class _Environment:
    """Folder with a virtual environment."""

    def __init__(self, file: Path, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._file = file
        self.folder = folder
        self.python = folder / "venv" / "bin" / "python"
        self._variables = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))
        }

    def step(self, *command: str | Path, exit_code: int = 0, **variables: str) -> tuple[float, str]:
        """Run a command, and return its seconds and its output.

        Raises:
            ReleaseError: The command has another exit code.
        """
        began = time.monotonic()
        result = subprocess.run(
            list(map(str, command)),
            cwd=self.folder,
            env=self._variables | variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=STEP_S,
        )
        if result.returncode != exit_code:
            output = " ".join(map(str, command[1:4]))
            raise ReleaseError(
                f"{self._file.name}: {output} ended with {result.returncode}:\n{result.stdout}{result.stderr}"
            )
        return time.monotonic() - began, result.stdout


def try_with_pytest_projects(wheel: Path, folder: Path) -> None:
    """Run pytest in a project that treats warnings as errors, with and without other plugins.

    Raises ReleaseError if the installation of the wheel changes what happens there.
    """
    for number, pytest in enumerate(OLDEST_AND_NEWEST):
        tried = _Environment(wheel, folder / f"pytest-{number}")
        tried.step(sys.executable, "-m", "venv", tried.folder / "venv")
        tried.step(tried.python, "-m", "pip", "install", "--quiet", wheel, pytest)
        (tried.folder / "pyproject.toml").write_text(STRICT)
        (tried.folder / "client").mkdir()
        (tried.folder / "client" / "__init__.py").touch()
        (tried.folder / "test_unconcerned.py").write_text(UNCONCERNED)
        (tried.folder / "test_concerned.py").write_text(CONCERNED)
        for plugins in ((), OTHER_PLUGINS):
            if plugins:
                tried.step(tried.python, "-m", "pip", "install", "--quiet", *plugins)
            for command in (("-m", "pytest"), ("-c", IMPORTED_BEFORE)):
                _, text = tried.step(tried.python, *command)
                if "2 passed" not in text or "warning" in text:
                    raise ReleaseError(f"{wheel.name} with {pytest} and {plugins}: expected 2 passed\n{text}")


def try_with_greenlets(wheel: Path, folder: Path) -> None:
    """Raise ReleaseError if the fixture does not fail at once in a process that gevent or eventlet has patched."""
    tried = _Environment(wheel, folder / "greenlets")
    tried.step(sys.executable, "-m", "venv", tried.folder / "venv")
    tried.step(tried.python, "-m", "pip", "install", "--quiet", wheel, "pytest", *GREENLETS)
    (tried.folder / "test_concerned.py").write_text(CONCERNED)
    for patch in (GEVENT.format(""), GEVENT.format("thread=False"), EVENTLET.format("")):
        (tried.folder / "conftest.py").write_text(patch)
        _, text = tried.step(tried.python, "-m", "pytest", exit_code=1)
        if "a cluster cannot run in a process in which" not in text or "1 error" not in text:
            raise ReleaseError(f"{wheel.name}: the fixture does not refuse {patch.strip()}\n{text}")


def try_out(path: Path, folder: Path) -> Tried:
    """Install a file as its users do, and run the first test of README.

    Raises:
        ReleaseError: A step fails.
    """
    tried = _Environment(path, folder)
    step, python = partial(tried.step, PIP_NO_CACHE_DIR="1"), tried.python
    install, _ = step(sys.executable, "-m", "venv", folder / "venv")
    needed = ["pytest<9.2", "pytest-asyncio"]
    more, _ = step(python, "-m", "pip", "install", "--quiet", f"{path}[{EXTRAS}]", *needed)
    (folder / "test_first.py").write_text(first_test())
    (folder / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")
    test, times = step(python, "-m", "pytest", "-q", "test_first.py")
    if "1 passed" not in times:
        raise ReleaseError(f"{path.name}: README's first test did not pass:\n{times}")
    kohort = folder / "venv" / "bin" / "kohort"
    _, version = step(kohort, "--version")
    demo, _ = step(kohort, "demo", "--plain", "--out", folder / "demo")
    return Tried(install + more, test, demo, version.strip())


def first_test() -> str:
    """Return the first Python block of README."""
    match = re.search(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert match is not None
    return match[1]
