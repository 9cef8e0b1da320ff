"""What becomes of a difference, without any broker."""

import asyncio
from pathlib import Path

import pytest

from tests.differential import running
from tests.differential.comparing import Difference
from tests.differential.kinds import make_sequence
from tests.differential.playing import Outcome
from tests.differential.sequence import Steps
from tests.differential.stage import Brokers, Stage

DIFFERS, RACES = 8, 9
SEQUENCES = 12
"""Enough for others to be in play when one is played again."""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> running.Run:
    """Brokers that answer DIFFERS' last step differently, and that of RACES if anything else is played meanwhile."""
    race, mistake = (make_sequence("log", seed)[-1] for seed in (RACES, DIFFERS))
    in_play = 0

    async def play(steps: Steps, brokers: Brokers, stage: Stage, pause_s: float, patience_s: float) -> Outcome:
        nonlocal in_play
        in_play += 1
        together = 0
        for _ in range(10):
            await asyncio.sleep(0)
            together = max(together, in_play)
        in_play -= 1
        api = "Race" if race in steps and together > 1 else "Mistake" if mistake in steps else ""
        return Outcome(differences=[Difference(api, "error_code", "NONE", "UNKNOWN")] if api else [])

    monkeypatch.setattr(running, "play", play)
    return running.Run(Brokers("a:1", "b:2"), tmp_path, at_a_time=3, release="4.4")


async def test_difference_only_in_parallel_is_race(run: running.Run, capsys: pytest.CaptureFixture[str]) -> None:
    await run.play_kinds(["log"], DIFFERS, SEQUENCES)
    run.summarise()
    assert [*run.found.values(), *run.passing.values()] == [[("log", DIFFERS)], [("log", RACES)]]
    assert run.failed
    output = capsys.readouterr().out
    assert "DIFFERS, 1 times (log 8): Mistake" in output
    assert "differed, but never alone, 1 times (log 9): Race" in output


async def test_nothing_but_races_passes(run: running.Run) -> None:
    await run.play_kinds(["log"], RACES, SEQUENCES)
    assert [*run.passing.values()] == [[("log", RACES)]]
    assert not run.failed
