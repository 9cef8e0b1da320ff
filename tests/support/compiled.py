"""Which modules of the kohort that is tested are compiled."""

from __future__ import annotations

import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.support.absent import is_absent

ROOT = Path(__file__).parents[2]


def listed() -> list[str]:
    """The files that a wheel with KOHORT_COMPILE=1 has compiled."""
    settings: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    found: list[str] = settings["tool"]["kohort"]["compiled"]
    return found


def is_compiled(path: str) -> bool:
    """Whether Python imports this module from something else than its source."""
    if is_absent("kohort." + path.rpartition("/")[0].replace("/", ".")):
        return False
    spec = find_spec("kohort." + path.removesuffix(".py").replace("/", "."))
    assert spec is not None
    assert spec.origin is not None
    return not spec.origin.endswith(".py")
