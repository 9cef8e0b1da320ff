"""The work of an analysis is linear in the number of groups: steps of the interpreter are counted, not time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from kohort.pipeline.analysis.analysis_run import analyse
from kohort.pipeline.analysis.local_engine import LocalEngine
from kohort.pipeline.rules import r35_broker_stopped, r36_expired_together
from kohort.pipeline.rules.r36_expired_together import Expiry
from kohort.pipeline.sources.found import find_sources
from kohort.pipeline.terminal import print_findings
from tests.pipeline.tiny_groups import write_commits, write_log

STEP = 40
TOLERATED = 1.06
"""Growth of the last step over the one previous_trace: a part that is quadratic shows even if it is small."""


def count_steps(work: Callable[[], object]) -> int:
    """Return how many instructions of the interpreter a function takes."""
    steps = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal steps
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        steps += event == "opcode"
        return trace

    previous_trace = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(previous_trace)
    return steps


def check_linear(work: Callable[[int], Callable[[], object]], step: int) -> None:
    """Compare the steps for one, two and three times as many groups."""
    work(step)()  # what is done once is done now
    one, two, three = (count_steps(work(count * step)) for count in (1, 2, 3))
    assert three - two <= TOLERATED * (two - one), (one, two, three)


@pytest.mark.long
@pytest.mark.parametrize("write", [write_log, write_commits])
def test_analysis_is_linear(
    write: Callable[[Path, int], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def work(groups: int) -> Callable[[], None]:
        inputs, issues = find_sources([str(write(tmp_path / f"{groups}.log", groups))])

        def run() -> None:
            print_findings(analyse(LocalEngine(), inputs, issues, tmp_path / f"out-{groups}", lambda _: None), False)

        return run

    check_linear(work, STEP)


def test_waves_are_judged_linearly() -> None:
    def work(groups: int) -> Callable[[], None]:
        expiries = [Expiry(ms, f"team-{ms}", f"app-{ms}") for ms in range(groups)]

        def run() -> None:
            (wave,) = r36_expired_together.waves(expiries)
            assert all(r36_expired_together.findings([wave], group) for group in wave.groups)

        return run

    check_linear(work, 200)


def test_pauses_are_compared_linearly() -> None:
    def work(groups: int) -> Callable[[], None]:
        lived = {f"team-{n}": (n * 10_000, n * 10_000 + 35_000) for n in range(groups)}
        pauses = {name: [(begin + 10_000, begin + 14_000)] for name, (begin, _) in lived.items()}

        def run() -> None:
            assert r35_broker_stopped.outages(pauses, lived) == []

        return run

    check_linear(work, 200)


def test_listed_groups_are_few(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    inputs, issues = find_sources([str(write_log(tmp_path / "server.log", 60))])
    outcome = analyse(LocalEngine(), inputs, issues, tmp_path / "out", lambda _: None)
    print_findings(outcome, False)
    assert "team-59" in capsys.readouterr().out
    assert "and 56 more" in outcome.findings[0]["text"]
