"""Wheels with compiled modules: which modules, what becomes of them without a compiler, and what is tested."""

from __future__ import annotations

import ast
import os
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from kohort.cli.commands import build
from tests.support.compiled import ROOT, is_compiled, listed, run_setup

WANTED = os.environ.get("KOHORT_COMPILED") == "1"
"""Whether these tests are there for a compiled kohort: `make check-compiled` says so."""


def test_modules_are_all_compiled_or_plain() -> None:
    compiled = {path for path in listed() if is_compiled(path)}
    assert compiled == (set(listed()) if WANTED else set())
    assert build() == ("compiled" if WANTED else "plain Python")


def test_module_list_is_valid() -> None:
    assert len(listed()) == len(set(listed()))
    assert [path for path in listed() if not (ROOT / path).is_file()] == []
    rooms = {file.parent.name for file in ROOT.glob("*/__init__.py")} - {"tests"}
    assert {path.partition("/")[0] for path in listed()} <= rooms
    assert [path for path in listed() if path.startswith("protocol/messages/")] == []


@pytest.mark.parametrize("path", listed())
def test_compiled_module_has_no_object_field(path: str) -> None:
    # mypyc compiles such a NamedTuple or dataclass, but importing it raises KeyError 'object'
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.ClassDef) and (
            any(ast.unparse(base) == "NamedTuple" for base in node.bases)
            or any("dataclass" in ast.unparse(each) for each in node.decorator_list)
        ):
            for field in node.body:
                if isinstance(field, ast.AnnAssign):
                    assert "object" not in ast.unparse(field.annotation).split(" | "), ast.unparse(field)


@pytest.mark.parametrize("path", listed())
def test_compiled_module_uses_no_cached_property(path: str) -> None:
    # in a compiled class it would be computed at each access
    assert "cached_property" not in (ROOT / path).read_text()


@pytest.mark.parametrize("path", listed())
def test_compiled_function_has_return_statement(path: str) -> None:
    # a compiled function with only a docstring crashes the process unless it returns None
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.FunctionDef) and node.returns is not None and ast.unparse(node.returns) != "None":
            is_abstract = any(ast.unparse(each) == "abstractmethod" for each in node.decorator_list)
            only_described = len(node.body) == 1 and isinstance(node.body[0], ast.Expr)
            assert is_abstract or not only_described or ast.unparse(node.body[0]) == "...", node.name


class Setup:
    """setup.py with replacements of setuptools and mypyc that record their arguments."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.options: dict[str, Any] = {}
        self.compiled: list[str] = []
        build = types.ModuleType("mypyc.build")
        build.mypycify = self._mypycify  # type: ignore[attr-defined]
        for module in (types.ModuleType("mypyc"), build):
            monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.chdir(ROOT)  # setup.py does, too: this brings back where the tests were
        monkeypatch.setenv("MYPYPATH", "")

    def _mypycify(self, arguments: list[str], *, opt_level: str, **_: Any) -> list[types.SimpleNamespace]:
        self.compiled = [argument for argument in arguments if argument.endswith(".py")]
        return [types.SimpleNamespace(extra_compile_args=[f"-O{opt_level}"])]

    def runs(self, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "argv", ["setup.py", command])
        run_setup(monkeypatch, self.options.update)


@pytest.fixture
def setup(monkeypatch: pytest.MonkeyPatch) -> Setup:
    return Setup(monkeypatch)


def given_compiler(folder: Path, monkeypatch: pytest.MonkeyPatch, exit_code: int) -> None:
    compiler = folder / "cc"
    compiler.write_text(f"#!/bin/sh\nexit {exit_code}\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))


def test_wheel_is_plain_by_default(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KOHORT_COMPILE", raising=False)
    setup.runs("bdist_wheel", monkeypatch)
    assert set(setup.options) == {"packages", "package_dir", "cmdclass"}


def test_wheel_contains_compiled_modules(
    setup: Setup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KOHORT_COMPILE", "1")
    monkeypatch.delenv("KOHORT_OPT_LEVEL", raising=False)
    given_compiler(tmp_path, monkeypatch, exit_code=0)
    setup.runs("egg_info", monkeypatch)
    assert "mypy[mypyc]" in setup.options["setup_requires"][0]
    assert any(each.startswith("kio") for each in setup.options["setup_requires"]), "mypyc wants its types"
    assert "ext_modules" not in setup.options, "mypyc is not there yet"
    setup.runs("bdist_wheel", monkeypatch)
    (module,) = setup.options["ext_modules"]
    assert module.extra_compile_args == ["-O2"]
    assert setup.compiled == [f"typings/kohort/{path}" for path in listed()]
    assert capsys.readouterr().err == ""


def test_they_may_be_compiled_quickly(setup: Setup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KOHORT_COMPILE", "1")
    monkeypatch.setenv("KOHORT_OPT_LEVEL", "0")
    given_compiler(tmp_path, monkeypatch, exit_code=0)
    setup.runs("bdist_wheel", monkeypatch)
    (module,) = setup.options["ext_modules"]
    assert module.extra_compile_args == ["-O0", "-Wno-all"]


@pytest.mark.parametrize("there_is", ["no compiler", "a compiler without Python's headers"])
def test_missing_compiler_builds_plain_wheel(
    there_is: str,
    setup: Setup,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KOHORT_COMPILE", "1")
    if there_is == "no compiler":
        monkeypatch.setenv("CC", str(tmp_path / "none"))
    else:
        given_compiler(tmp_path, monkeypatch, exit_code=1)
    for command in ("egg_info", "dist_info", "bdist_wheel"):
        setup.runs(command, monkeypatch)
    assert set(setup.options) == {"packages", "package_dir", "cmdclass"}
    line = "kohort: found no C compiler with Python's headers; building a wheel without compiled modules\n"
    assert capsys.readouterr().err == line
