"""Whatever a broker acknowledged is there after it was killed, and after the machine lost its power.

How to play a seed again, or more of them: tests/support/seeds.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EIO, ENOSPC
from pathlib import Path

import pytest

from kohort.protocol.errors import ErrorCode as E
from tests.crash.disk import Died, failing
from tests.crash.play import Play
from tests.crash.truth import MONEY, Truth
from tests.crash.world import World
from tests.support.seeds import SEEDS_ON_DISK, STEPS

LIVES = max(STEPS // 600, 2)
STORAGE = {E.kafka_storage_error, E.not_coordinator}
pytestmark = pytest.mark.usefixtures("no_threads")


@contextmanager
def told(world: World, seed: int) -> Iterator[None]:
    """Return how to reproduce the failure."""
    try:
        yield
    except Exception:
        print(f"KOHORT_SEED={seed}, life {world.lives}, {world.disk.asked} changes asked of its disk")
        if world._life is not None:
            print(world.life.log.getvalue())
        raise


def lives_and_dies(world: World, dies: Callable[[], None], steps: int) -> None:
    """Start, work, and die at a random moment: at startup, or during a write."""
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
    """Start for the last time, without faults."""
    world.starts()
    world.play.looks()
    world.intact()


def begins(world: World) -> None:
    world.starts()
    world.play.begin()


@pytest.mark.parametrize("seed", SEEDS_ON_DISK)
@pytest.mark.parametrize("fsync", ["never", "always"])
def test_killed_process_loses_nothing_acknowledged(seed: int, fsync: str, tmp_path: Path) -> None:
    world = World(tmp_path, seed, fsync)
    with told(world, seed):
        begins(world)
        world.is_killed()
        for _ in range(LIVES):
            lives_and_dies(world, world.is_killed, 300)
            _no_trouble(world)
        comes_back(world)
    assert world.play.acknowledged, "nothing much happened"


@pytest.mark.parametrize("seed", SEEDS_ON_DISK)
def test_power_cut_loses_nothing_acknowledged(seed: int, tmp_path: Path) -> None:
    world = World(tmp_path, seed, "always")
    with told(world, seed):
        begins(world)
        world.life.settle()
        world.loses_power()
        for _ in range(LIVES):
            lives_and_dies(world, world.random.choice((world.is_killed, world.loses_power, world.loses_power)), 300)
            _no_trouble(world)
        comes_back(world)
    assert world.play.acknowledged, "nothing much happened"


@pytest.mark.parametrize("seed", SEEDS_ON_DISK)
def test_unsynced_broker_starts_after_power_cut(seed: int, tmp_path: Path) -> None:
    world = World(tmp_path, seed, "never")
    with told(world, seed):
        for _ in range(LIVES + 2):
            world.play.was_promised_something = False
            world.starts()
            world.intact()
            if world.life.cluster.topics.by_name(MONEY) is None:
                world.play.begin()
            for _ in range(world.random.randrange(150)):
                world.play.step()
            assert "[error" not in world.life.log.getvalue()
            world.loses_power()
            world.play = Play(world.random, Truth())
        world.starts()
        world.intact()


TROUBLES = ("full", "open", "write", "rename", "keep", "remove", "folder")


@pytest.mark.parametrize("seed", SEEDS_ON_DISK)
@pytest.mark.parametrize("fsync", ["never", "always"])
def test_flaky_disk_loses_nothing_acknowledged(seed: int, fsync: str, tmp_path: Path) -> None:
    world = World(tmp_path, seed, fsync)
    with told(world, seed):
        begins(world)
        heard: set[E] = set()
        for _ in range(LIVES):
            trouble = world.random.choice(TROUBLES)
            if trouble == "full":
                world.disk.full = True
            else:
                errno = world.random.choice((EIO, ENOSPC))
                world.disk.fails = failing(trouble, world.random.randint(1, 5), errno=errno)
            for _ in range(world.random.randrange(60)):
                world.play.step()
            heard |= world.play.errors
            world.disk.full, world.disk.fails = False, lambda what, path: None
            world.settles()
            world.play.errors.clear()
            if world.life.cluster.broken is not None:  # a file could not be opened, to be synced
                assert fsync == "always"
                world.is_killed()
                world.starts()
            world.play.looks()
            for _ in range(60):
                world.play.step()
            _no_trouble(world)
            assert E.unknown_server_error not in heard
            assert "[error" not in world.life.log.getvalue()
            if world.random.random() < 0.4:
                world.is_killed()
                comes_back(world)
        world.is_killed()
        comes_back(world)
    assert world.play.acknowledged, "nothing much happened"


@pytest.mark.parametrize("seed", SEEDS_ON_DISK)
def test_failed_sync_stops_writes_only(seed: int, tmp_path: Path) -> None:
    world = World(tmp_path, seed, "always")
    with told(world, seed):
        begins(world)
        for _ in range(world.random.randrange(200)):
            world.play.step()
        world.disk.fails = failing("sync", 1_000, ending=".log", errno=EIO)
        for _ in range(1_000):
            world.play.step()
            if world.life.cluster.broken is not None:
                break
        world.disk.fails = lambda what, path: None
        old_offset = world.play.acknowledged
        world.settles()
        world.play.errors.clear()
        ends = {
            partition: partition.log.log_end_offset
            for topic in world.life.cluster.topics
            for partition in topic.partitions
        }
        for _ in range(100):
            world.play.step()
        assert {end: end.log.log_end_offset for end in ends} == ends
        assert world.play.errors & STORAGE
        world.is_killed()
        comes_back(world)
    assert old_offset


def _no_trouble(world: World) -> None:
    """Check that no disk error was reported, since there was none."""
    assert not world.play.errors & {E.kafka_storage_error, E.unknown_server_error}, world.play.errors
