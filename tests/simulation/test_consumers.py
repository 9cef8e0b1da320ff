"""Groups of both protocols keep their promises, whatever happens to members and brokers.

How to play a seed again, or more of them: tests/support/seeds.py.
"""

import pytest

from kohort.broker.cluster import replay
from tests.simulation.consuming import Consumers
from tests.simulation.consuming_promises import PROMISES, everything_is_consumed, the_log_tells_the_same
from tests.support.seeds import SEEDS, STEPS, is_known


@pytest.mark.parametrize("seed", SEEDS)
def test_every_partition_has_one_owner(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "SLICE_BYTES", 2_000)
    monkeypatch.setattr(replay, "STEP_BYTES", 500)
    consumers = Consumers(seed)
    with consumers.told():
        for number in range(STEPS // 2):
            consumers.step()
            for promise in PROMISES:
                promise(consumers)
            if number % 50 == 49:
                the_log_tells_the_same(consumers)
        consumers.comes_to_rest()
        the_log_tells_the_same(consumers)
        everything_is_consumed(consumers)
    assert consumers.counts["commits"] or not is_known(seed), "nothing much happened"
    if seed == 0:
        assert consumers.counts["upgrades"], "no group was converted"
        assert consumers.counts["downgrades"], "no group was converted back"
