"""Logs are looked after between the requests of others."""

import pytest

from tests.support.broker import Broker


def test_steps_that_take_longer_than_the_pause_between_them_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker()
    steps = 0

    def long_step(wall_ms: int) -> int:
        nonlocal steps
        steps += 1
        broker.clock.advance(3)
        return 0  # there is more to do

    monkeypatch.setattr(broker.cluster.topics, "maintain", long_step)
    in_each_turn = []
    for _ in range(10):
        before = steps
        broker.loop.ring()
        in_each_turn.append(steps - before)
    assert max(in_each_turn) == 1
