"""Compiled modules of the kohort under test."""

from __future__ import annotations

import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.support.absent import is_absent

ROOT = Path(__file__).parents[2]


def listed() -> list[str]:
    """Return the files that a wheel with KOHORT_COMPILE=1 has compiled."""
    settings: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    files: list[str] = settings["tool"]["kohort"]["compiled"]
    return files


def is_compiled(path: str) -> bool:
    """Return whether Python imports this module from a compiled file."""
    if is_absent("kohort." + path.rpartition("/")[0].replace("/", ".")):
        return False
    spec = find_spec("kohort." + path.removesuffix(".py").replace("/", "."))
    assert spec is not None
    assert spec.origin is not None
    return not spec.origin.endswith(".py")
