"""Processes of a run import the same test modules, each in another order."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import first_imports
from tests.support.first_imports import ROOT, import_in_turn, modules_of


def session_of(*args: str, **config: Any) -> Any:
    return SimpleNamespace(config=SimpleNamespace(args=list(args), **config))


def imported(monkeypatch: pytest.MonkeyPatch, **config: Any) -> list[str]:
    names: list[str] = []
    monkeypatch.setattr(first_imports, "import_module", names.append)
    import_in_turn(session_of("tests/storage", "tests/talk/test_talk.py::a", **config))
    return names


def test_each_begins_with_others(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {path.stem for path in (ROOT / "tests" / "storage").rglob("test_*.py")} | {"test_talk"}
    names = [imported(monkeypatch, workerinput={"workerid": f"gw{n}", "workercount": 3}) for n in range(3)]
    assert [{name.rpartition(".")[2] for name in each} for each in names] == [there] * 3
    assert len({each[0] for each in names}) == 3
    assert "tests.talk.test_talk" in names[0]


def test_single_process_skips_early_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    assert imported(monkeypatch) == []


def test_import_errors_are_left_to_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def broken(name: str) -> None:
        tried.append(name)
        raise ImportError(name)

    monkeypatch.setattr(first_imports, "import_module", broken)
    import_in_turn(session_of("tests/talk", workerinput={"workerid": "gw0", "workercount": 1}))
    assert tried == ["tests.talk.test_talk"]
    assert modules_of(["tests/talk"]) == [ROOT / "tests" / "talk" / "test_talk.py"]
