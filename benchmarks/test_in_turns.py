"""Tests of figures measured in turns."""

import io
import json
from collections.abc import Sequence

import pytest
from click.testing import CliRunner
from rich.console import Console

from benchmarks.failures import Failures
from benchmarks.in_turns import GROUPLOAD, LOADS, TURN_LOADS, Load, Turns, at, main, measure, table
from benchmarks.turn_loads import LOADS as LOADS_IN_PYTHON


def result_of(requests: float, wrong: int = 0) -> dict[str, object]:
    """Return a result as groupload prints it."""
    return {"results": {"requests_per_s": requests}, "failures": {"wrong error code": wrong} if wrong else {}}


class Player:
    """Server with prepared results."""

    def __init__(self, name: str, *answers: dict[str, object]) -> None:
        self.name = name
        self._answers = iter(answers)

    def load(self, program: Sequence[str], load: Load) -> dict[str, object]:
        return next(self._answers)


def taken_by(peers: list[Player], rounds: int, failures: Failures | None = None) -> Turns:
    turns, programs = Turns([peer.name for peer in peers]), {GROUPLOAD: ["groupload"]}
    failures = Failures() if failures is None else failures
    measure(peers, ["heartbeat 64x1"], rounds, programs, turns, failures)  # type: ignore[arg-type]
    return turns


def test_ratios_are_those_of_one_round() -> None:
    peers = [
        Player("kfake", result_of(100), result_of(50), result_of(100)),
        Player("kohort", result_of(120), result_of(60), result_of(50)),
    ]
    turns = taken_by(peers, 3)
    assert turns.ratios("heartbeat 64x1", "requests, /s", "kohort") == [1.2, 1.2, 0.5]
    out = io.StringIO()
    Console(file=out, width=100).print(table(turns))
    line = next(line for line in out.getvalue().splitlines() if "requests" in line)
    assert line.split() == ["requests,", "/s", "100", "60", "1.20", "0.50-1.20"]


def test_a_round_without_one_of_the_figures_is_left_out() -> None:
    peers = [Player("kfake", result_of(100), result_of(100)), Player("kohort", result_of(0), result_of(50))]
    turns = taken_by(peers, 2)
    assert turns.ratios("heartbeat 64x1", "requests, /s", "kohort") == [0.5]


def test_what_kohort_did_wrong_is_counted_and_what_its_peer_did_is_not() -> None:
    failures = Failures()
    peers = [Player("kfake", result_of(1, wrong=7)), Player("kohort", result_of(1, wrong=2))]
    taken_by(peers, 1, failures)
    assert failures.counts == {"kohort: wrong error code": 2}


def test_figures_are_found_by_their_path() -> None:
    results = json.loads('{"leave_ms": {"median": 7.5, "none": 0, "word": "x"}}')
    assert at(results, "leave_ms.median") == 7.5
    assert [at(results, path) for path in ("leave_ms.none", "leave_ms.word", "leave_ms.max", "join_ms.median")] == [
        None
    ] * 4


def test_every_load_exists() -> None:
    subcommands = {"heartbeat", "commit", "rebalance", "mixed", "data", "groups"}
    assert {load.words.split()[0] for load in LOADS.values() if load.program == GROUPLOAD} == subcommands
    assert {load.words.split()[0] for load in LOADS.values() if load.program == TURN_LOADS} == set(LOADS_IN_PYTHON)
    assert all(load.figures for load in LOADS.values())


def test_ratios_without_peer() -> None:
    fast: dict[str, object] = {"results": {"server_s": 2.0, "loaded_s": 3.0}, "failures": {}}
    slow: dict[str, object] = {"results": {"server_s": 5.0, "loaded_s": 6.0}, "failures": {}}
    peers = [Player("kfake"), Player("kohort", fast, fast), Player("old", slow, slow)]
    turns = Turns([peer.name for peer in peers])
    measure(peers, ["restart"], 2, {TURN_LOADS: ["python"]}, turns, Failures())  # type: ignore[arg-type]
    assert turns.ratios("restart", "… CPU, s", "old") == [2.5, 2.5]
    out = io.StringIO()
    Console(file=out, width=150).print(table(turns))
    line = next(line for line in out.getvalue().splitlines() if "CPU" in line)
    assert line.split() == ["…", "CPU,", "s", "–", "2", "5", "2.50", "x", "kohort", "2.50-2.50"]


@pytest.mark.parametrize("options", [("--laboratory",), ("--with", "compiled=/missing/kohort")])
def test_unknown_load_is_rejected(options: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, [*options, "nonsense"])
    assert result.exit_code == 2
    assert "unknown load nonsense; expected one of: heartbeat 64x1" in result.output
