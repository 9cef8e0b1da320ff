"""Logs are looked after between the requests of others."""

import pytest

from tests.support.broker import Broker


def test_slow_steps_do_not_accumulate(monkeypatch: pytest.MonkeyPatch) -> None:
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
