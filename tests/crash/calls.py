"""A broker's life in which one call to the disk fails, and then the next one, until each has failed.

The life is the same each time up to the call that fails: it begins on an empty disk, stores something of everything,
is stopped, starts again, is killed in the middle of a write, and starts again. What was acknowledged must be there
afterwards, no answer may be a mistake of ours, and what clients see must be what the next start finds.
"""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from errno import EIO, ENOSPC
from pathlib import Path
from tempfile import TemporaryDirectory
from traceback import format_exc
from unittest.mock import patch

from kohort.protocol.errors import ErrorCode as E
from kohort.storage.disk.ownership import DataDirectoryError
from tests.crash.disk import FaultyDisk
from tests.crash.life import no_threads, process_is_gone
from tests.crash.looking import topic_facts
from tests.crash.truth import MONEY
from tests.crash.world import World

SEED = 4
FOR_EVER = 1 << 30
STEPS = 40


@dataclass(frozen=True)
class Fault:
    """Calls that fail, counted from the first of the life."""

    fsync: str
    at: int
    errno: int = EIO
    times: int = 1

    def __str__(self) -> str:
        times = "all from there on" if self.times == FOR_EVER else f"{self.times} of them"
        return f"--fsync {self.fsync}, call {self.at} ({times}) ends in {os.strerror(self.errno)}"


class BrokenLife:
    """One life, with its fault."""

    def __init__(self, folder: Path, fault: Fault) -> None:
        self.world = World(folder, SEED, fault.fsync)
        self.fault = fault
        self.hit: list[str] = []
        """The failed calls: operation and file."""
        self.refusals: list[str] = []
        """Why the broker did not start."""
        self.heard: set[E] = set()
        self.log = ""

    def plays(self) -> BrokenLife:
        """Play the whole life. Raises AssertionError for a broken promise."""
        self._starts()
        self._begins()
        self._steps()
        with suppress(OSError):  # then the next start looks at everything
            self.world.life.directory.close()
        self._starts_again()
        self._steps()
        self._is_killed_in_the_middle()
        self._starts()
        self._steps()
        self._heals()
        return self

    # What happens

    def _breaks(self, disk: FaultyDisk) -> None:
        first, last = self.fault.at, self.fault.at + self.fault.times

        def fails(what: str, path: Path) -> OSError | None:
            if not first <= disk.asked < last:
                return None
            self.hit.append(f"{what} {path.name}")
            return OSError(self.fault.errno, os.strerror(self.fault.errno), str(path))

        disk.fails = fails

    def _starts(self) -> None:
        while True:
            self._breaks(self.world.disk)
            try:
                self.world.starts()
                return
            except DataDirectoryError as problem:
                self.refusals.append(str(problem))
                process_is_gone(self.world.path)
                self.world.disk = self.world.disk.reborn()
                if self.fault.times == FOR_EVER:
                    self._mends()

    def _starts_again(self) -> None:
        self._ends_life()
        self.world.is_killed()
        self._starts()

    def _begins(self) -> None:
        """Create the initial topics and groups, with retries."""
        play, life = self.world.play, self.world.life
        for attempt in range(6):
            if attempt == 5:
                self._mends()
            if life.cluster.topics.by_name(MONEY) is None:
                play.creates_money()
                life.settle()
            if life.cluster.topics.by_name(MONEY) is not None:
                break
            if life.cluster.broken is not None:
                self._mends()
                self._starts_again()
                life = self.world.life
        for _ in range(4):  # they are created by the first request
            play.finds_coordinators()

    def _steps(self) -> None:
        play = self.world.play
        for _ in range(STEPS):
            play.step()
        for action in (
            play.creates, play.produces, play.deletes_records, play.changes, play.changes_group, play.grows,
            play.asks_for_an_id, play.consumers.commits, play.deletes, play.creates, play.produces, play.passes_long,
        ):  # fmt: skip
            action()
            self.world.life.settle()
        self.heard |= play.errors

    def _is_killed_in_the_middle(self) -> None:
        """Leave half a batch at the end of a segment, and an incomplete compaction."""
        self._ends_life()
        self.world.is_killed()
        segments = sorted(self.world.path.glob("money-*/*.log")) or sorted(self.world.path.glob("*/*.log"))
        for path in segments[:1]:
            with path.open("ab") as file:
                file.write(bytes(range(40)))
            path.with_name(path.name + ".cleaned").write_bytes(b"half")

    def _ends_life(self) -> None:
        self.log += self.world.life.log.getvalue()

    def _mends(self) -> None:
        self.world.disk.fails = lambda what, path: None
        self.fault = Fault(self.fault.fsync, FOR_EVER)

    def _heals(self) -> None:
        """Restore the disk: the next start must find what clients see now."""
        self._mends()
        world = self.world
        if "does not coordinate the partition" in world.life.log.getvalue():
            self._starts_again()  # its log could not be read
        if world.life.cluster.broken is None:
            world.play.finds_coordinators()
            world.settles()
        # A sync that failed while nothing could be written may be noticed only by the next one, which ran just now.
        if world.life.cluster.broken is None:
            world.play.looks()
        self._ends_life()
        world.is_killed() if world.fsync != "always" or len(self.hit) % 2 else world.loses_power()
        world.starts()
        world.play.finds_coordinators()
        world.play.looks()
        world.intact()
        self._ends_life()
        assert E.unknown_server_error not in self.heard
        assert not any("\n" in refusal for refusal in self.refusals), self.refusals
        assert "[error" not in self.log, self.log
        left = [path.name for path in world.path.iterdir() if path.name.endswith(("-delete", "-stray"))]
        left = [name for name in left if not self._is_of_no_topic(name)]
        assert not left, left

    def _is_of_no_topic(self, name: str) -> bool:
        """Return whether a folder belongs to a topic whose creation failed; it is kept."""
        topic, _, number = name.removesuffix("-stray").rpartition("-")
        return number.isdigit() and topic_facts(self.world.life, topic) is None


def faults(fsync: str, calls: int) -> list[Fault]:
    """Yield faults for each call: alone, with the next two, or with all later ones; device error or full disk."""
    return [
        Fault(fsync, at, errno, times)
        for at in range(1, calls + 1)
        for errno, times in ((EIO, 1), (ENOSPC, 3), (EIO, FOR_EVER))
    ]


def play(fault: Fault) -> str | None:
    """Play the life with this fault in its own folder, and return the error, if any."""
    with TemporaryDirectory(prefix="kohort-calls-") as folder, no_threads():
        life = BrokenLife(Path(folder), fault)
        try:
            life.plays()
        except Exception:
            return f"{fault}; failed: {', '.join(life.hit[:3])}\n{format_exc(limit=-3)}"
    return None


def calls_of(fsync: str) -> Counter[str]:
    """Return the calls of a life without faults, by type."""
    counted: Counter[str] = Counter()
    begins = FaultyDisk._begins

    def counts(disk: FaultyDisk, what: str, path: Path, **more: bool) -> None:
        counted[f"{what} of a folder" if what in ("sync", "open") and path.is_dir() else what] += 1
        begins(disk, what, path, **more)

    with patch.object(FaultyDisk, "_begins", counts):
        problem = play(Fault(fsync, FOR_EVER))
    assert problem is None, problem
    return counted
