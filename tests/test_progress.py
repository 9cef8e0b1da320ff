"""Progress of a test run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.support.progress import INTERVAL_S, Progress
from tests.support.scheduling import kind_of, without_group


def report(nodeid: str, when: str = "teardown", outcome: str = "passed") -> Any:
    return SimpleNamespace(
        nodeid=nodeid, when=when, outcome=outcome, failed=outcome == "failed", passed=outcome == "passed"
    )


def test_progress_measures_time() -> None:
    printed: list[str] = []
    now = [100.0]
    progress = Progress(printed.append, lambda: now[0])
    ids = ["a.py::slow@spark", *(f"b.py::test[{n}]@fast b.py 0" for n in range(1_000))]
    progress.pytest_xdist_node_collection_finished(ids)
    progress.pytest_xdist_node_collection_finished(ids)  # another worker
    now[0] += INTERVAL_S - 1
    for nodeid in ids[1:501]:
        progress.pytest_runtest_logreport(report(nodeid))
    assert printed == []
    now[0] += 1
    progress.pytest_runtest_logreport(report(ids[0], "call", "rerun"))
    assert printed == ["\n0:10   33%  500 of 1,001 tests, about 0:20 more, 1 rerun"]
    progress.pytest_runtest_logreport(report(ids[0], "call", "failed"))
    assert printed[1:] == ["\nFAILED a.py::slow"]


def test_file_name_omits_group() -> None:
    assert without_group("a.py::test@spark") == "a.py::test"
    assert without_group("a.py::test[x@y]") == "a.py::test[x@y]"
    assert without_group("a.py::test[x@y]@clients a.py 3") == "a.py::test[x@y]"
    assert without_group("a.py::test") == "a.py::test"
    assert kind_of("a.py::test[x@y]@clients a.py 3") == "clients"
