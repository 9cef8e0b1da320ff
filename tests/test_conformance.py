"""The runner of recorded conversations, without a broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import conformance
from tests.conformance import Outcome, play
from tests.conformance_clusters import Setup

FILES = [Path("scenarios/consumer/one.talk"), Path("scenarios/kafka-4.4/consumer/other.talk")]


@pytest.mark.parametrize(("name", "file"), [("consumer/one", FILES[0]), ("kafka-4.4/consumer/other", FILES[1])])
def test_failed_conversation_is_repeated_alone(monkeypatch: pytest.MonkeyPatch, name: str, file: Path) -> None:
    played: list[list[Path]] = []

    def play_once(setup: Setup, files: list[Path]) -> Outcome:
        played.append(files)
        return Outcome(1, 1, f"FAIL  {name}  1.1 s — a title") if len(played) == 1 else Outcome(1, 0, "")

    monkeypatch.setattr(conformance, "play_once", play_once)
    outcome = play(Setup(), FILES)
    assert played == [FILES, [file]]
    assert (outcome.passed, outcome.failed) == (2, 0)
