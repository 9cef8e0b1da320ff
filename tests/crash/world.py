"""A machine with its disk, the broker on it, and its clients, driven by a seed."""

from __future__ import annotations

from pathlib import Path
from random import Random

from kohort.storage.disk.checking import check_partition, partition_folders
from tests.crash.disk import FaultyDisk
from tests.crash.life import EPOCH_MS, Life, process_is_gone
from tests.crash.play import Play
from tests.crash.truth import Truth


class World:
    """A machine, its disk, the broker on it, and its clients."""

    def __init__(self, folder: Path, seed: int, fsync: str) -> None:
        self.random = Random(seed)
        self.fsync = fsync
        self.folder = folder.resolve()
        self.lives = 0
        self.now_ms = EPOCH_MS
        self.truth = Truth()
        self.play = Play(self.random, self.truth)
        self.disk = self._new_disk()
        self._life: Life | None = None

    @property
    def life(self) -> Life:
        """The broker, which runs."""
        assert self._life is not None
        return self._life

    @property
    def path(self) -> Path:
        return self.disk.root / "data"

    def _new_disk(self) -> FaultyDisk:
        root = self.folder / f"machine-{self.lives}"
        root.mkdir(exist_ok=True)
        return FaultyDisk(root, keeps_unsynced=self.fsync != "never")

    def starts(self) -> None:
        self.lives += 1
        self._life = Life(self.path, self.disk, self.fsync, seed=self.random.randrange(1 << 30), at_ms=self.now_ms)
        self.play.meet(self.life)

    def is_killed(self) -> None:
        """Kill the process; written data remains in the system's cache."""
        self._over()
        self.disk = self.disk.reborn()

    def loses_power(self) -> None:
        """Stop the machine, which may lose unsynced data."""
        self._over()
        root = self.folder / f"machine-{self.lives}"
        self.disk.lose_power(self.random, root)
        self.disk = FaultyDisk(root, keeps_unsynced=self.fsync != "never")

    def _over(self) -> None:
        process_is_gone(self.path)
        if self._life is not None:
            self.now_ms = self._life.wall_ms
            self._life = None

    def settles(self) -> None:
        """Wait until all requests have responses and dead members have expired."""
        self.life.settle()
        self.life.wait(12_000)
        self.life.settle()

    def intact(self) -> None:
        """Check that no damage remains."""
        faults = [
            (partition_folder.name, check_partition(partition_folder).faults)
            for partition_folder in partition_folders(self.path)
        ]
        assert not any(found for _, found in faults), faults
