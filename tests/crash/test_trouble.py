"""Responses while a disk is full or fails, and the handling of damaged files."""

from __future__ import annotations

from errno import EIO, ENOSPC
from pathlib import Path
from random import Random

import pytest

from kohort.protocol.batches import TRANSACTIONAL, Record, build_batch
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction
from kohort.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsTopic
from kohort.storage.disk.checking import check_partition
from kohort.storage.disk.ownership import DataDirectoryError
from kohort.whatif.clients.classic_group_member import ClassicMember
from tests.crash.disk import failing
from tests.crash.life import EPOCH_MS
from tests.crash.machine import Machine, T, no_failure
from tests.support.batches import batch
from tests.support.broker import Stopwatch
from tests.support.data_requests import delete, production
from tests.support.data_requests import topic as new_topic
from tests.support.frames import frame, to_fetch

pytestmark = pytest.mark.usefixtures("no_threads")
KEYED = {"cleanup.policy": "compact", "segment.ms": "1000", "min.cleanable.dirty.ratio": "0.01"}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.creates()
    machine.looks_for_coordinators()
    return machine


def test_full_disk_rejects_writes_only(machine: Machine) -> None:
    assert machine.produces(b"a") is E.none
    assert machine.commits(1) is E.none
    machine.disk.full = True
    size = machine.segments[0].stat().st_size
    assert machine.produces(b"b") is E.kafka_storage_error
    assert machine.commits(2) is E.not_coordinator
    assert machine.life.hears("join_group", 3, **ClassicMember("e", "h").join().fields).error_code is E.not_coordinator
    assert machine.values() == [b"a"]
    assert machine.segments[0].stat().st_size == size, "half a batch must not stay"
    machine.disk.full = False
    assert machine.produces(b"c") is E.none
    assert machine.commits(3) is E.none
    assert machine.values() == [b"a", b"c"]
    assert machine.life.log.getvalue().count("No space left on device") == 1, "said once, not with every request"
    machine.starts_again()
    assert machine.values() == [b"a", b"c"]
    assert not machine.life.directory.warnings


def test_unwritable_marker_is_written_later(machine: Machine) -> None:
    life = machine.life
    who = life.hears("init_producer_id", 4, transactional_id="x", transaction_timeout_ms=60_000)
    identity = {"transactional_id": "x", "producer_id": who.producer_id, "producer_epoch": who.producer_epoch}
    added = AddPartitionsToTxnTransaction(**identity, topics=(AddPartitionsToTxnTopic(name=T, partitions=(0,)),))
    life.hears("add_partitions_to_txn", 3, transactions=(added,))
    data = build_batch(
        [Record(None, b"v", life.wall_ms)], attributes=TRANSACTIONAL, producer_id=who.producer_id,
        producer_epoch=who.producer_epoch, base_sequence=0,
    )  # fmt: skip
    answer = life.hears("produce", 9, **production(data, T), transactional_id="x")
    assert answer.responses[0].partition_responses[0].error_code is E.none
    partition = life.cluster.topics.by_name(T).partitions[0]  # type: ignore[union-attr]
    written = failing("write", 2)

    def marker(what: str, path: Path) -> OSError | None:
        return written(what, path) if path.parent.name == f"{T}-0" else None

    machine.disk.fails = marker
    assert life.hears("end_txn", 3, **identity, committed=True).error_code is E.none, "it is decided"
    assert partition.last_stable_offset == 0
    life.wait(60_000)
    assert partition.last_stable_offset == 2
    assert life.hears("init_producer_id", 4, transactional_id="x", transaction_timeout_ms=1).error_code is E.none


def test_failed_segment_creation_is_retried(machine: Machine) -> None:
    machine.creates("rolls", **{"segment.ms": "1000"})
    for index in range(8):
        at_ms = EPOCH_MS + index * 2_000
        machine.disk.fails = failing("open", ending=(".timeindex.tmp", ".log")[index % 2]) if index % 4 else no_failure
        answer = machine.life.hears("produce", 9, **production(batch(b"%d" % index, at=at_ms), "rolls"))
        machine.life.hears("produce", 9, **production(batch(b"old", at=EPOCH_MS), "rolls"))
        assert answer.responses[0].partition_responses[0].error_code in (E.none, E.kafka_storage_error)
    old_values = machine.values("rolls")
    machine.starts_again()
    assert machine.values("rolls") == old_values


def test_new_topic_ignores_old_checkpoints(machine: Machine) -> None:
    machine.produces(b"a", b"b", b"c")
    part = DeleteRecordsTopic(name=T, partitions=(DeleteRecordsPartition(partition_index=0, offset=2),))
    machine.life.hears("delete_records", 2, topics=(part,), timeout_ms=1)
    machine.starts_again()
    assert machine.values(start=2) == [b"c"]
    delete(machine.life.client(), T)
    machine.creates()
    machine.produces(b"d")
    machine.starts_again()
    assert machine.values() == [b"d"]


def test_deleted_records_survive_retention(machine: Machine) -> None:
    machine.creates("rolls", **{"segment.ms": "1000", "retention.ms": "5000"})
    for number in range(2):
        machine.life.hears("produce", 9, **production(batch(b"%d" % number, at=EPOCH_MS + number * 9_000), "rolls"))
    first = machine.path / "rolls-0" / f"{0:020}.log"
    data = first.read_bytes()
    machine.life.wait(11_000)
    assert not first.exists()
    part = DeleteRecordsTopic(name="rolls", partitions=(DeleteRecordsPartition(partition_index=0, offset=1),))
    (answer,) = machine.life.hears("delete_records", 2, topics=(part,), timeout_ms=1).topics[0].partitions
    assert (answer.error_code, answer.low_watermark) == (E.none, 1)
    first.write_bytes(data)  # its removal was not synced, and the power went
    machine.starts_again()
    assert machine.values("rolls", start=1) == [b"1"]
    assert machine.life.cluster.topics.by_name("rolls").partitions[0].log.log_start_offset == 1  # type: ignore[union-attr]


@pytest.mark.parametrize("again", [True, False])
def test_undeletable_files_stay_deleted(machine: Machine, again: bool) -> None:
    machine.produces(b"a")
    machine.disk.fails = failing("rename", ending="-delete")
    delete(machine.life.client(), T)
    machine.disk.fails = no_failure
    assert machine.segments, "still there"
    if again:
        machine.creates()
        machine.produces(b"b")
        assert machine.values() == [b"b"]
    machine.starts_again()
    assert bool(machine.segments) == again
    assert [path.name for path in machine.path.glob(f"{T}-*")] == [f"{T}-0"] * again, "nothing is set aside"
    if again:
        assert machine.values() == [b"b"]


def test_longest_topic_name_can_be_deleted(machine: Machine) -> None:
    name = "n" * 249
    machine.creates(name)
    assert machine.produces(b"a", name=name) is E.none
    delete(machine.life.client(), name)
    assert not list(machine.path.glob("n*"))
    machine.disk.make_folder(machine.path / f"{name}-0")
    machine.starts_again()
    (stray,) = machine.path.glob("n*")
    assert stray.name == "n" * 247 + "-0-stray"


@pytest.mark.parametrize("offset", [2, 4])
def test_deletion_frees_full_disk(machine: Machine, offset: int) -> None:
    machine.creates("rolls", **{"segment.ms": "1000"})
    for number in range(4):
        machine.life.hears("produce", 9, **production(batch(b"%d" % number, at=EPOCH_MS + number * 2_000), "rolls"))
    oldest = machine.path / "rolls-0" / f"{0:020}.log"

    def no_room(what: str, path: Path) -> OSError | None:
        return OSError(ENOSPC, "No space left on device", str(path)) if what == "write" and oldest.exists() else None

    machine.disk.fails = no_room
    part = DeleteRecordsTopic(name="rolls", partitions=(DeleteRecordsPartition(partition_index=0, offset=offset),))
    answer = machine.life.hears("delete_records", 2, topics=(part,), timeout_ms=1)
    assert answer.topics[0].partitions[0].error_code is E.none
    assert machine.produces(b"4", name="rolls") is E.none
    machine.starts_again()
    assert machine.values("rolls", start=offset) == [b"2", b"3", b"4"][offset - 2 :]


def two_logs_to_compact(machine: Machine) -> None:
    """Create topics `first` and `second`, each with one key written many times."""
    for name in ("first", "second"):
        machine.creates(name, **KEYED)
        for number in range(6):
            pair = (b"key", b"%d" % number * 50)
            machine.life.hears("produce", 9, **production(batch(pair, at=EPOCH_MS + number * 2_000), name))


@pytest.mark.parametrize("ending", [".cleaned", ".index", "cleaner-offset-checkpoint.tmp"])
def test_failed_compaction_loses_nothing(machine: Machine, ending: str) -> None:
    two_logs_to_compact(machine)

    def in_the_first(what: str, path: Path) -> OSError | None:
        fails = what in ("write", "open") and path.name.endswith(ending) and path.parent.name != "second-0"
        return OSError(EIO, "Input/output error", str(path)) if fails else None

    machine.disk.fails = in_the_first
    machine.life.wait(40_000)
    assert machine.values("second") == [b"4" * 50, b"5" * 50]
    partition = machine.life.cluster.topics.by_name("first").partitions[0]  # type: ignore[union-attr]
    folder = machine.path / "first-0"
    assert [segment.base_offset for segment in partition.log._segments] == [
        int(path.stem) for path in sorted(folder.glob("*.log"))
    ]
    assert machine.values("first")[-1] == b"5" * 50
    old_values = machine.values("first")
    machine.starts_again()
    assert machine.values("first") == old_values
    machine.life.wait(40_000)
    assert machine.values("first") == [b"4" * 50, b"5" * 50]


def test_foreign_truncation_affects_one_log(
    machine: Machine,
) -> None:
    two_logs_to_compact(machine)
    with (machine.path / "first-0" / f"{0:020}.log").open("r+b") as file:
        file.truncate(30)
    machine.life.wait(40_000)
    assert machine.values("second") == [b"4" * 50, b"5" * 50]


def test_strays_with_equal_names_are_kept(machine: Machine) -> None:
    for _ in range(2):
        machine.disk.make_folder(machine.path / "lost-0")
        machine.starts_again()
        (warning,) = machine.life.directory.warnings
        assert "lost-0" in warning
    assert len(list(machine.path.glob("lost-0-stray*"))) == 2


# Damage

FIVE = [batch(b"%d" % number * size, at=EPOCH_MS) for number, size in enumerate((1, 30, 5, 40, 9))]


def _five(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.creates()
    for each in FIVE:
        machine.life.hears("produce", 9, **production(each, T))
    return machine


def test_truncated_segment_recovers_whole_batches(tmp_path: Path) -> None:
    machine = _five(tmp_path)
    (path,) = machine.segments
    whole, values = path.read_bytes(), machine.values()
    ends = [sum(map(len, FIVE[:count])) for count in range(6)]
    for cut in (0, *range(ends[3] - 1, len(whole) + 1)):
        path.write_bytes(whole[:cut])
        machine.starts_again()
        left = sum(end <= cut for end in ends) - 1
        assert machine.values() == values[:left]
        warnings = machine.life.directory.warnings
        assert len(warnings) == (cut not in ends or cut == 0), warnings
        if warnings:
            assert (f"{cut - ends[left]} bytes" if cut else "is empty") in warnings[0]
        assert not check_partition(path.parent).faults
    assert machine.produces(b"more") is E.none


def test_flipped_bit_is_logged(tmp_path: Path) -> None:
    machine = _five(tmp_path)
    (path,) = machine.segments
    whole, values = path.read_bytes(), machine.values()
    random = Random(5)
    starts = [sum(map(len, FIVE[:count])) for count in range(5)]
    heads = [start + at for start in (0, *starts[3:]) for at in range(61)]
    refused: list[int] = []
    for at in [*heads, *random.sample(range(len(whole)), 30)]:
        spoilt = bytearray(whole)
        spoilt[at] ^= 1 << random.randrange(8)
        path.write_bytes(spoilt)
        hit = sum(start <= at for start in starts) - 1
        try:
            machine.starts_again()
        except DataDirectoryError:
            refused.append(at)
            assert path.read_bytes() == spoilt
            continue
        found = machine.values()
        kept = found == values and not machine.life.directory.warnings
        if kept:
            # Leader epoch and offset are outside of the checksum; an offset that is too large shows when others follow.
            assert at - starts[hit] in range(12, 16) or (hit == 4 and at - starts[hit] < 8), at - starts[hit]
        else:
            assert found == values[:hit] + values[hit + 1 :], (at - starts[hit], hit)
            (warning,) = machine.life.directory.warnings
            assert path.name in warning
            assert not check_partition(path.parent).faults
        for file in path.parent.glob("*.log.*"):
            file.unlink()
    # a last batch in another format cannot be distinguished from intact data
    assert set(refused) <= {starts[4] + 16}


def test_crash_repairs_old_flipped_bit(machine: Machine) -> None:
    machine.creates("rolls", **{"segment.ms": "1000"})
    for number in range(3):
        machine.life.hears("produce", 9, **production(batch(b"%d" % number, at=EPOCH_MS + number * 2_000), "rolls"))
    first = machine.path / "rolls-0" / f"{0:020}.log"
    data = bytearray(first.read_bytes())
    data[-2] ^= 1
    first.write_bytes(data)
    machine.starts_again()
    assert machine.values("rolls") == [b"1", b"2"]
    (warning,) = machine.life.directory.warnings
    assert "checksum" in warning


def test_failed_sync_is_verified_after_stop(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "always")
    machine.life.cluster.topics.create(T, 1)
    assert machine.produces(b"a") is E.none
    assert machine.produces(b"b") is E.none
    machine.disk.fails = failing("sync", ending=".log")
    assert machine.produces(b"c") is E.kafka_storage_error
    (path,) = machine.segments
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)
    machine.starts_again(in_peace=True)
    assert machine.values() == [b"a", b"b"]
    (warning,) = machine.life.directory.warnings
    assert "bytes cut from byte" in warning


def test_topic_creation_waits_for_sync(tmp_path: Path) -> None:
    life = Machine(tmp_path, "always").life
    Stopwatch(life, 1_000)
    creator, reader = life.client(), life.client()
    creator.says(frame("create_topics", 7, 1, topics=tuple(new_topic(f"t{n}", 1) for n in range(10)), timeout_ms=1_000))
    slices = 0
    while life.cluster.topics.by_name("t9") is None:
        reader.says(frame("metadata", 9, 1, topics=None))
        life.loop.run_soon()
        slices += 1
    assert slices > 1
    while life.loop.run_soon():
        """Requests that need no disk get a response."""
    assert len(reader.heard()) == slices
    assert not creator.heard(), "acknowledged before the disk has it"
    life.settle()
    assert creator.heard()


def test_group_request_ignores_foreign_sync(tmp_path: Path) -> None:
    # consumers stop when their coordinator returns KAFKA_STORAGE_ERROR
    machine = Machine(tmp_path, "always")
    machine.looks_for_coordinators()
    life = machine.life
    life.settle()
    Stopwatch(life, 1_000)
    machine.disk.fails = failing("sync", 1_000, errno=EIO)
    creator, member = life.client(), life.client()
    creator.says(frame("create_topics", 7, 1, topics=(new_topic("u", 1), new_topic("v", 1)), timeout_ms=1_000))
    member.says(frame("offset_fetch", 8, 1, groups=to_fetch("g"), require_stable=False))
    life.settle()
    ((_, heard),) = member.hears("offset_fetch", 8)
    assert heard.groups[0].error_code is E.none
    ((_, refused),) = creator.hears("create_topics", 7)
    assert refused.topics[0].error_code is E.kafka_storage_error
