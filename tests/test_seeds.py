"""Which worlds a test run plays."""

from __future__ import annotations

import pytest

from tests.support import seeds


@pytest.fixture(autouse=True)
def nothing_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KOHORT_SEED", "KOHORT_SEEDS", "KOHORT_NEW_SEEDS", "KOHORT_NEW_SEEDS_FROM"):
        monkeypatch.delenv(name, raising=False)


def test_new_seeds_come_from_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOHORT_NEW_SEEDS", "2")
    monkeypatch.setattr(seeds, "time", lambda: 1_800_000_000.5)
    seeds.choose_new_seeds()
    assert seeds.seeds(3) == [0, 1, 2, 18_000_000_000, 18_000_000_001]
    monkeypatch.setattr(seeds, "time", lambda: 1_900_000_000.0)
    seeds.choose_new_seeds()  # a worker process of the same run
    assert seeds.seeds(1) == [0, 18_000_000_000, 18_000_000_001]


def test_one_seed_is_played_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOHORT_NEW_SEEDS", "2")
    seeds.choose_new_seeds()
    monkeypatch.setenv("KOHORT_SEED", "22")
    assert seeds.seeds() == [22]


def test_run_prints_new_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOHORT_NEW_SEEDS", "0")
    assert seeds.new_seeds_line() == ""
    monkeypatch.setenv("KOHORT_NEW_SEEDS", "2")
    monkeypatch.setenv("KOHORT_NEW_SEEDS_FROM", "70")
    assert seeds.new_seeds_line() == "new seeds of the simulations: 70, 71; KOHORT_SEED=… plays one of them again"
