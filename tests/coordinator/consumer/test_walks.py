"""Random walks of groups always converge (random_walk.py)."""

import pytest

from kohort.coordinator.consumer import consumer_heartbeating
from tests.coordinator.consumer.random_walk import Walk
from tests.support.effort import EFFORT
from tests.support.walking import walk_to_its_end


def walk(seed: int, *, failing: bool) -> Walk:
    this = Walk(seed, failing=failing)
    walk_to_its_end(this, f"seed {seed}, failing={failing}")
    return this


@pytest.mark.parametrize("seed", range(EFFORT.walks))
def test_random_group_stabilizes(seed: int) -> None:
    walk(seed, failing=False)


@pytest.mark.parametrize("seed", range(EFFORT.walks))
def test_so_it_does_when_writes_fail(seed: int) -> None:
    walk(seed, failing=True)


@pytest.mark.parametrize("seed", range(EFFORT.walks // 3))
def test_short_path_equals_long_path(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    short = walk(seed, failing=False)
    for name in ("_with_nothing_new", "steady_assignment"):
        monkeypatch.setattr(consumer_heartbeating, name, lambda *_: None)
    long = walk(seed, failing=False)
    assert short.world.log == long.world.log
    for before, after in zip(short.actors, long.actors, strict=True):
        assert [ticket.heard for ticket in before.tickets] == [ticket.heard for ticket in after.tickets]
