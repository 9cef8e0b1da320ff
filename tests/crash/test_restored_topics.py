"""A directory that has lost its `topics.jsonl`, and is restored because the user requests it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kohort.cli.commands import main
from kohort.protocol.batches import Record, build_batch
from kohort.protocol.errors import ErrorCode as E
from kohort.storage.disk.checkpoints import show_id
from kohort.storage.disk.journal import JOURNAL
from kohort.storage.disk.ownership import DataDirectoryError
from tests.crash.disk import Died
from tests.crash.life import EPOCH_MS, Life, process_is_gone
from tests.crash.machine import Machine, T
from tests.support.batches import batch
from tests.support.data_requests import production

pytestmark = pytest.mark.usefixtures("no_threads")
A_YEAR_MS = 366 * 86_400_000


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Its topics have records, a group has committed, and then the file is lost."""
    machine = Machine(tmp_path)
    machine.creates(T, **{"segment.ms": "1000"})
    machine.creates("keyed", **{"cleanup.policy": "compact"})
    machine.looks_for_coordinators()
    for number in range(3):
        machine.produces(b"%d" % number)
    machine.life.hears("produce", 9, **production(batch((b"key", b"value")), "keyed"))
    assert machine.commits(2) is E.none
    machine.starts_again(in_peace=True)
    machine.life.directory.close()
    process_is_gone(machine.path)
    (machine.path / JOURNAL).unlink()
    return machine


def restores(machine: Machine, at_ms: int = EPOCH_MS) -> None:
    machine.disk = machine.disk.reborn()
    machine.life = Life(machine.path, machine.disk, machine.fsync, seed=3, at_ms=at_ms, restore_topics=True)


def everything_is_there(machine: Machine) -> None:
    assert sorted(topic.name for topic in machine.life.cluster.topics if not topic.internal) == ["keyed", T]
    assert machine.values() == [b"0", b"1", b"2"]
    assert machine.values("keyed") == [b"value"]
    group = machine.life.cluster.coordinators[0].groups["g"]
    assert [(topic, index, each.offset) for topic, index, each in group.offsets or ()] == [(T, 0, 2)]
    assert not list(machine.path.glob("*-stray*"))


def test_restore_must_be_requested(machine: Machine) -> None:
    with pytest.raises(DataDirectoryError, match=r"topics.jsonl is missing.*start once with --restore-topics"):
        machine.starts_again()
    restores(machine)
    everything_is_there(machine)


def test_restored_topics_keep_all_records(machine: Machine) -> None:
    restores(machine, EPOCH_MS + A_YEAR_MS)
    assert "their settings are unknown, so they keep all records (retention.ms=-1)" in machine.life.log.getvalue()
    machine.life.wait(40_000)
    assert machine.values() == [b"0", b"1", b"2"]
    topics = machine.life.cluster.topics
    for name in (T, "keyed"):
        topic = topics.by_name(name)
        assert topic is not None
        assert topic.configs == {"retention.ms": "-1"}
        assert show_id(topic.topic_id) in (machine.path / f"{name}-0" / "partition.metadata").read_text()
    offsets = topics.by_name("__consumer_offsets")
    assert offsets is not None
    assert len(offsets.partitions) == 2, "as many as the settings say, whatever has a folder"
    assert offsets.log_config.compact


def test_second_restore_does_nothing(machine: Machine) -> None:
    restores(machine)
    machine.starts_again()
    everything_is_there(machine)
    assert not machine.life.directory.warnings
    process_is_gone(machine.path)
    restores(machine)
    everything_is_there(machine)
    assert machine.life.directory.warnings == ["topics.jsonl is there: --restore-topics has nothing to do"]


def test_interrupted_restore_is_continued(machine: Machine) -> None:
    deaths = 0
    for at in range(1, 200):
        disk = machine.disk = machine.disk.reborn()
        disk.dies_at = disk.asked + at
        try:
            machine.life = Life(machine.path, disk, seed=at, restore_topics=True)
        except Died:
            process_is_gone(machine.path)
            deaths += 1
            if not (machine.path / JOURNAL).exists():
                continue
            machine.starts_again()  # it was requested once
            everything_is_there(machine)
            process_is_gone(machine.path)
            (machine.path / JOURNAL).unlink()
        else:
            disk.dies_at = None
            everything_is_there(machine)
            break
    assert deaths > 5


def test_logged_producer_ids_are_skipped(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.creates()
    who = machine.life.hears("init_producer_id", 4, transactional_id=None, transaction_timeout_ms=1)
    data = build_batch([Record(None, b"v", EPOCH_MS)], producer_id=who.producer_id, producer_epoch=0, base_sequence=0)
    machine.life.hears("produce", 9, **production(data, T))
    process_is_gone(machine.path)
    (machine.path / JOURNAL).unlink()
    restores(machine)
    machine.starts_again()
    again = machine.life.hears("init_producer_id", 4, transactional_id=None, transaction_timeout_ms=1)
    assert again.producer_id > who.producer_id + 1_000


def test_restore_flag_requires_directory() -> None:
    result = CliRunner().invoke(main, ["serve", "--restore-topics"])
    assert result.exit_code == 2
    assert result.stderr == ("kohort: --restore-topics has no effect in memory; name a directory with --data-dir\n")
