"""What an installation holds: the rooms under one name, and what `python -m kohort` runs."""

from __future__ import annotations

import runpy
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_the_name_that_the_rooms_share_can_be_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told: dict[str, dict[str, str]] = {}
    fake = types.ModuleType("setuptools")
    fake.setup = lambda **options: told.update(options)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "setuptools", fake)
    runpy.run_path(str(ROOT / "setup.py"))
    assert "kohort" in told["packages"]
    folder = ROOT / told["package_dir"]["kohort"]
    assert [path.name for path in folder.glob("*.py")] == ["__main__.py"], "no __init__.py: it is a namespace"
    monkeypatch.setattr(sys, "argv", ["kohort", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(folder / "__main__.py"), run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("kohort ")
