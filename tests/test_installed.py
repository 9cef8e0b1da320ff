"""What an installation holds: the package `kohort`, and what pytest derives from the list of its files."""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from _pytest.config import _iter_rewritable_modules

from tests.support.compiled import run_setup

ROOT = Path(__file__).parent.parent


@pytest.fixture
def package_dir(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the folder of each package, as setup.py passes it to setuptools."""
    options: dict[str, Any] = {}
    run_setup(monkeypatch, options.update)
    folders: dict[str, str] = options["package_dir"]
    assert options["packages"] == list(folders)
    return folders


def test_package_can_be_run(
    package_dir: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["kohort", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / package_dir["kohort"] / "__main__.py"), run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("kohort ")


def test_pytest_rewrites_no_other_package(package_dir: dict[str, str]) -> None:
    files = [
        f"{package.replace('.', '/')}/{path.name}"
        for package, folder in package_dir.items()
        for path in (ROOT / folder).glob("*.py")
    ]
    installed = [*files, "kohort__mypyc.cpython-311-x86_64-linux-gnu.so", "kohort-0.1.0.dist-info/RECORD"]
    assert list(_iter_rewritable_modules(installed)) == ["kohort"]


def test_package_imported_early_is_not_reported(package_dir: dict[str, str]) -> None:
    # pytest warns of a plugin's module that was imported before it could be rewritten, unless its docstring has this.
    text = (ROOT / package_dir["kohort"] / "__init__.py").read_text()
    assert "PYTEST_DONT_REWRITE" in text


def test_package_imports_nothing(package_dir: dict[str, str]) -> None:
    text = (ROOT / package_dir["kohort"] / "__init__.py").read_text()
    imported = [node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert not imported
