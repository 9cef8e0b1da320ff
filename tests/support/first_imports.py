"""In which order a process of a run imports the test modules that it collects: each begins with others.

Pytest compiles a test module when it is imported first: in a fresh clone that is half of what collecting takes.
Processes that all began with the first module would all compile each of them, at the same time.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def import_in_turn(session: pytest.Session) -> None:
    """Imports what is about to be collected, if other processes do the same. Pytest finds it imported."""
    process = getattr(session.config, "workerinput", None)
    if process is None:
        return
    files = modules_of(session.config.args)
    first = len(files) * int(process["workerid"].removeprefix("gw")) // process["workercount"]
    for path in files[first:] + files[:first]:
        with suppress(Exception, pytest.skip.Exception):  # pytest tries again, and tells
            import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def modules_of(arguments: list[str]) -> list[Path]:
    """The test modules that are collected. `arguments`: paths from the checkout's root, perhaps with a test's name."""
    asked = [ROOT / argument.partition("::")[0] for argument in arguments]
    return [
        path for path in sorted((ROOT / "tests").rglob("test_*.py")) if any(path.is_relative_to(each) for each in asked)
    ]
