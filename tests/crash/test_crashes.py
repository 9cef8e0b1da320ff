"""Whatever a broker acknowledged is there after it was killed, and after the machine lost its power.

`KOHORT_SEED=7` plays one seed again; `KOHORT_STEPS`, `KOHORT_SEEDS` as in tests/simulation/test_simulation.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from kohort.protocol.errors import ErrorCode as E
from kohort.storage.disk.checking import check_partition, partition_folders
from tests.crash.disk import Died, FaultyDisk
from tests.crash.life import EPOCH_MS, Life, process_is_gone
from tests.crash.play import Play
from tests.crash.truth import Truth
from tests.simulation.test_simulation import SEEDS, STEPS

STORAGE = {E.kafka_storage_error, E.not_coordinator}
pytestmark = pytest.mark.usefixtures("no_threads")


class World:
    """A machine, its disk, the broker on it, and those who talk to it."""

    def __init__(self, folder: Path, seed: int, fsync: str) -> None:
        self.random = Random(seed)
        self.fsync = fsync
        self.folder = folder.resolve()
        self.lives = 0
        self.now_ms = EPOCH_MS
        self.truth = Truth()
        self.play = Play(self.random, self.truth)
        self.disk = self._new_disk()
        self.life: Life | None = None

    @property
    def path(self) -> Path:
        return self.disk.root / "data"

    def _new_disk(self) -> FaultyDisk:
        root = self.folder / f"machine-{self.lives}"
        root.mkdir(exist_ok=True)
        return FaultyDisk(root, keeps_unsynced=self.fsync == "always")

    def starts(self) -> None:
        self.lives += 1
        self.life = Life(self.path, self.disk, self.fsync, seed=self.random.randrange(1 << 30), at_ms=self.now_ms)
        self.play.meet(self.life)

    def is_killed(self) -> None:
        """The process is gone; what it has written is with the system."""
        self._over()
        self.disk = self.disk.reborn()

    def loses_power(self) -> None:
        """What was not synced may be gone."""
        self._over()
        root = self.folder / f"machine-{self.lives}"
        self.disk.lose_power(self.random, root)
        self.disk = FaultyDisk(root, keeps_unsynced=self.fsync == "always")

    def _over(self) -> None:
        process_is_gone(self.path)
        if self.life is not None:
            self.now_ms = self.life.wall_ms
            self.life = None

    def intact(self) -> None:
        """Nothing is left of the damage."""
        faults = [(each.name, check_partition(each).faults) for each in partition_folders(self.path)]
        assert not any(found for _, found in faults), faults


@contextmanager
def told(world: World, seed: int) -> Iterator[None]:
    """Says how to see it again."""
    try:
        yield
    except Exception:
        print(f"KOHORT_SEED={seed}, life {world.lives}, {world.disk.asked} changes asked of its disk")
        if world.life is not None:
            print(world.life.log.getvalue())
        raise


def lives_and_dies(world: World, dies: Callable[[], None], steps: int) -> None:
    """A start, some work, and an end at any moment: the start's own, or in the middle of a write."""
    if world.random.random() < 0.7:
        world.disk.dies_at = world.disk.asked + int(world.random.expovariate(1 / 80)) + 1
    try:
        world.starts()
        if world.lives > 1:
            world.play.looks()
            world.intact()
        for _ in range(world.random.randrange(steps)):
            world.play.step()
    except Died:
        pass
    dies()


def comes_back(world: World) -> None:
    """A last start, with everything in order."""
    world.starts()
    world.play.looks()
    world.intact()


def begins(world: World) -> None:
    world.starts()
    world.play.begin()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fsync", ["never", "always"])
def test_nothing_acknowledged_is_lost_when_the_process_is_killed(seed: int, fsync: str, tmp_path: Path) -> None:
    world = World(tmp_path, seed, fsync)
    with told(world, seed):
        begins(world)
        world.is_killed()
        for _ in range(max(STEPS // 400, 2)):
            lives_and_dies(world, world.is_killed, 400)
            _no_trouble(world)
        comes_back(world)
    assert world.play.acknowledged, "nothing much happened"


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_acknowledged_is_lost_when_everything_unsynced_is(seed: int, tmp_path: Path) -> None:
    world = World(tmp_path, seed, "always")
    with told(world, seed):
        begins(world)
        world.life.settle()
        world.loses_power()
        for _ in range(max(STEPS // 400, 2)):
            lives_and_dies(world, world.random.choice((world.is_killed, world.loses_power, world.loses_power)), 400)
            _no_trouble(world)
        comes_back(world)
    assert world.play.acknowledged, "nothing much happened"


def _no_trouble(world: World) -> None:
    """Nothing was wrong with the disk, so nobody was told so."""
    assert not world.play.errors & {E.kafka_storage_error, E.unknown_server_error}, world.play.errors
