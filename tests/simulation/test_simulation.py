"""The simulated world keeps its promises. How to play a seed again, or more of them: tests/support/seeds.py."""

import pytest

from kohort.protocol.errors import ErrorCode as E
from tests.simulation.promises import (
    PROMISES,
    events_tell_of_whole_rebalances,
    generations_in_the_log_never_go_back,
    replay_gives_the_same,
)
from tests.simulation.simulated import Simulation
from tests.support.seeds import SEEDS, STEPS, is_known


@pytest.mark.parametrize("seed", SEEDS)
def test_promises(seed: int) -> None:
    simulation = Simulation(seed)
    try:
        for number in range(STEPS):
            simulation.step()
            for promise in PROMISES:
                promise(simulation)
            if number % 50 == 49:
                simulation.write(E.none, len(simulation.world.held))
                for partition in simulation.world.log:
                    simulation.loads_up(partition)
                replay_gives_the_same(simulation)
                generations_in_the_log_never_go_back(simulation)
    except Exception:
        print(f"KOHORT_SEED={seed}, step {number}; before:", *simulation.transcript, sep="\n")
        raise
    assert bool(simulation.world.events) == bool(seed % 2), "every other world has a listener"
    events_tell_of_whole_rebalances(simulation)
    assert simulation.busy or not is_known(seed), "nothing much happened"
