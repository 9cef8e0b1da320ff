"""Order in which a worker process imports test modules: each worker starts with different ones.

pytest compiles a test module at its first import, which is half of the collection time in a fresh clone. If all workers
started with the first module, each would compile every module at the same time.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def import_in_turn(session: pytest.Session) -> None:
    """Import the modules that are about to be collected, if other workers do the same."""
    process = getattr(session.config, "workerinput", None)
    if process is None:
        return
    files = modules_of(session.config.args)
    first = len(files) * int(process["workerid"].removeprefix("gw")) // process["workercount"]
    for path in files[first:] + files[:first]:
        with suppress(Exception, pytest.skip.Exception):  # pytest tries again and reports it
            import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def modules_of(arguments: list[str]) -> list[Path]:
    """Return the test modules that are collected.

    Args:
        arguments: Paths from the root of the checkout, optionally with the name of a test.
    """
    asked = [ROOT / argument.partition("::")[0] for argument in arguments]
    return [
        path
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if any(path.is_relative_to(request) for request in asked)
    ]
