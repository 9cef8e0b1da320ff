"""Compiled modules of the kohort under test."""

from __future__ import annotations

import runpy
import sys
import tomllib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

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


def run_setup(monkeypatch: pytest.MonkeyPatch, setup: Callable[..., object]) -> None:
    """Run setup.py with `setup` in place of setuptools' function."""
    setuptools, command, build_py = map(ModuleType, ("setuptools", "setuptools.command", "setuptools.command.build_py"))
    setuptools.setup = setup  # type: ignore[attr-defined]
    build_py.build_py = object  # type: ignore[attr-defined]
    for module in (setuptools, command, build_py):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    runpy.run_path(str(ROOT / "setup.py"))
