"""What a share group has accepted stays so, and no record is lost, when the broker is killed or loses power.

How to play a seed again, or more of them: tests/support/seeds.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.disk import Died
from tests.crash.share_play import SharePlay
from tests.crash.world import World
from tests.support.seeds import SEEDS_ON_DISK, STEPS, is_known

LIVES = max(STEPS // 300, 2)
pytestmark = pytest.mark.usefixtures("no_threads")


@pytest.mark.parametrize("seed", SEEDS_ON_DISK)
@pytest.mark.parametrize(("fsync", "power"), [("never", False), ("always", False), ("always", True)])
def test_accepted_records_stay_accepted(seed: int, fsync: str, power: bool, tmp_path: Path) -> None:
    world = World(tmp_path, seed, fsync)
    play = SharePlay(world.random)
    world.play = play  # type: ignore[assignment]
    world.starts()
    play.begin()
    for _ in range(LIVES):
        if world.random.random() < 0.7:
            world.disk.dies_at = world.disk.asked + int(world.random.expovariate(1 / 60)) + 1
        try:
            for _ in range(world.random.randrange(200)):
                play.step()
        except Died:
            pass
        (world.loses_power if power else world.is_killed)()
        world.starts()
        world.intact()
    play.nothing_is_lost()
    assert (play.again and play.restarted) or not is_known(seed), "nothing much happened"
