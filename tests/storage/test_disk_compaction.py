"""Compaction in files: what stays is what stays in memory, and whatever interrupts it, nothing is lost."""

from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.storage.disk.files import Disk
from kohort.storage.log import PartitionLog
from kohort.storage.topic_configs import LogConfig
from tests.storage.on_disk import OnDisk
from tests.support.batches import Pair, batch, contents
from tests.support.effort import examples

EVERYTHING = 1 << 30
COMPACTED: dict[str, Any] = {"compact": True, "delete": False, "segment_bytes": 600}

keys = st.sampled_from([b"a", b"b", b"c", b"d"])
pairs = st.tuples(keys, st.one_of(st.none(), st.binary(max_size=200)))


class PowerCut(BaseException):
    """The process ends here."""


class CutOff(Disk):
    """A disk that fails after a number of renames."""

    left = EVERYTHING

    def rename(self, path: Path, to: Path) -> None:
        self._count()
        super().rename(path, to)

    def remove(self, path: Path) -> None:
        self._count()
        super().remove(path)

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise PowerCut


def fill(log: PartitionLog, story: Iterable[Pair]) -> None:
    for pair in story:
        log.append(batch(pair), wall_ms=1_000)


def compact(log: PartitionLog) -> None:
    for _ in log.compact(1_000):
        pass


def last_values(log: PartitionLog) -> dict[bytes | None, bytes | None]:
    return {key: value for _, key, value in contents(log.read(log.log_start_offset, EVERYTHING))}


@examples(0.6)
@given(st.lists(pairs, max_size=40), st.lists(pairs, max_size=10))
def test_disk_equals_memory(story: list[Pair], more: list[Pair]) -> None:
    memory = PartitionLog(LogConfig(**COMPACTED))
    with TemporaryDirectory() as path:
        disk = OnDisk(Path(path), **COMPACTED)
        for log in (memory, disk.log):
            fill(log, story)
            compact(log)
            fill(log, more)
            compact(log)
        assert last_values(disk.log) == last_values(memory)
        assert disk.log.log_end_offset == memory.log_end_offset
        assert disk.dies_and_comes_back() == []
        assert last_values(disk.log) == last_values(memory)
        assert disk.log.log_end_offset == memory.log_end_offset
        disk.directory.close()


def interrupted(path: Path, after: int) -> tuple[OnDisk, dict[bytes | None, bytes | None], bool]:
    disk = CutOff()
    on_disk = OnDisk(path, disk, **COMPACTED)
    fill(on_disk.log, [(b"key-%d" % (number % 7), b"%d" % number * 20) for number in range(60)])
    old_values = last_values(on_disk.log)
    assert len(on_disk.segments()) > 5
    disk.left = after
    try:
        compact(on_disk.log)
        done = True
    except PowerCut:
        done = False
    disk.left = EVERYTHING
    return on_disk, old_values, done


@pytest.mark.long
@pytest.mark.parametrize("ends", [OnDisk.dies_and_comes_back, OnDisk.stops_and_comes_back])
def test_interrupted_compaction_loses_nothing(tmp_path: Path, ends: Callable[[OnDisk], list[str]]) -> None:
    for after in range(200):
        there, before, done = interrupted(tmp_path / str(after), after)
        if done:
            break
        there.dies_and_comes_back()
        assert last_values(there.log) == before, after
        assert there.log.log_end_offset == 60
        compact(there.log)
        ends(there)
        assert last_values(there.log) == before
        assert not [path.name for path in there.folder.iterdir() if path.suffix in (".cleaned", ".swap", ".tmp")]
        there.directory.close()
    assert done
    assert after > 10


def test_compaction_state_survives_restart(tmp_path: Path) -> None:
    on_disk = OnDisk(tmp_path, **COMPACTED)
    fill(on_disk.log, [(b"key", b"%d" % number * 30) for number in range(30)])
    assert on_disk.log.needs_compaction(1_000)
    compact(on_disk.log)
    assert not on_disk.log.needs_compaction(1_000)
    on_disk.dies_and_comes_back()
    assert not on_disk.log.needs_compaction(1_000)
    on_disk.directory.close()


def test_deletes_topic_during_compaction(tmp_path: Path) -> None:
    on_disk = OnDisk(tmp_path, **COMPACTED)
    fill(on_disk.log, [(b"key", b"%d" % number * 30) for number in range(30)])
    steps = on_disk.log.compact(1_000)
    next(steps)
    log = on_disk.log
    on_disk.topics.delete(on_disk.topic)
    assert list(steps) == []
    assert log.size_bytes == 0
    assert not on_disk.folder.exists()
    on_disk.directory.close()
