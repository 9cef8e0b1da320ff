"""`topics.jsonl` agrees with the responses to clients, also if the disk fails after a line was written."""

from __future__ import annotations

from collections.abc import Callable
from errno import EIO, ENOSPC
from pathlib import Path

import pytest

from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.create_partitions import CreatePartitionsTopic
from kohort.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsTopic
from kohort.protocol.messages.delete_topics import DeleteTopicState
from kohort.protocol.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource
from kohort.storage.disk.journal import JOURNAL
from tests.crash.disk import failing
from tests.crash.machine import Machine, T, no_failure
from tests.support.data_requests import topic as new_topic

pytestmark = pytest.mark.usefixtures("no_threads")
DRAFT = JOURNAL + ".tmp"


@pytest.fixture(params=["never", "interval", "always"])
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Machine:
    machine = Machine(tmp_path, request.param)
    assert creates(machine, T) is E.none
    assert machine.produces(b"a") is E.none
    return machine


def creates(machine: Machine, name: str) -> E:
    answer = machine.life.hears("create_topics", 7, topics=(new_topic(name, 1),))
    return answer.topics[0].error_code  # type: ignore[no-any-return]


def deletes(machine: Machine, name: str = T) -> E:
    topic_state = DeleteTopicState(name=name, topic_id=None)
    answer = machine.life.hears("delete_topics", 6, timeout_ms=10_000, topics=(topic_state,))
    return answer.responses[0].error_code  # type: ignore[no-any-return]


def grows(machine: Machine) -> E:
    more = CreatePartitionsTopic(name=T, count=2, assignments=None)
    answer = machine.life.hears("create_partitions", 3, topics=(more,), timeout_ms=1, validate_only=False)
    return answer.results[0].error_code  # type: ignore[no-any-return]


def alters(machine: Machine, kind: int = 2, setting: str = "segment.ms") -> E:
    config = AlterableConfig(name=setting, config_operation=0, value="60000")
    resource = AlterConfigsResource(resource_type=kind, resource_name=T, configs=(config,))
    answer = machine.life.hears("incremental_alter_configs", 1, resources=(resource,), validate_only=False)
    return answer.responses[0].error_code  # type: ignore[no-any-return]


def alters_group(machine: Machine) -> E:
    return alters(machine, 32, "consumer.session.timeout.ms")


def asks_for_an_id(machine: Machine) -> E:
    answer = machine.life.hears("init_producer_id", 4, transactional_id=None, transaction_timeout_ms=1)
    return answer.error_code  # type: ignore[no-any-return]


def creates_another(machine: Machine) -> E:
    return creates(machine, "another")


CHANGES: list[Callable[[Machine], E]] = [creates_another, deletes, grows, alters, alters_group, asks_for_an_id]


def state(machine: Machine) -> object:
    """Return the cluster state that a restart must restore."""
    cluster = machine.life.cluster
    topics = {topic.name: (topic.topic_id, len(topic.partitions), dict(topic.configs)) for topic in cluster.topics}
    return topics, {group: cluster.group_configs.of(group) for group in cluster.group_configs}


def fails(*what: tuple[str, str], errno: int = EIO) -> Callable[[str, Path], OSError | None]:
    """Fail calls of these types to files with these suffixes, as often as requested."""

    def problem(asked: str, path: Path) -> OSError | None:
        hit = any(asked == kind and path.name.endswith(ending) for kind, ending in what)
        return OSError(errno, "the disk has failed", str(path)) if hit else None

    return problem


def test_unsynced_deletion_keeps_later_records(machine: Machine) -> None:
    machine.disk.fails = failing("sync", ending=JOURNAL)
    assert deletes(machine) is E.kafka_storage_error
    assert "deleted" not in (machine.path / JOURNAL).read_text()
    assert machine.produces(b"b") is E.none
    machine.starts_again()
    assert machine.values() == [b"a", b"b"]
    assert deletes(machine) is E.none
    machine.starts_again()
    assert machine.life.cluster.topics.by_name(T) is None


@pytest.mark.parametrize(
    "broken", [[("truncate", JOURNAL)], [("sync", DRAFT)], [("rename", JOURNAL)], [("sync", "data")]],
)  # fmt: skip
def test_one_rollback_method_suffices(machine: Machine, broken: list[tuple[str, str]]) -> None:
    machine.disk.fails = fails(("sync", JOURNAL), *broken)
    assert deletes(machine) is E.kafka_storage_error
    machine.disk.fails = no_failure
    old_state = state(machine)
    machine.starts_again()
    assert state(machine) == old_state
    assert machine.values() == [b"a"]


def test_irrevocable_deletion_counts(machine: Machine) -> None:
    machine.disk.fails = fails(("sync", JOURNAL), ("truncate", JOURNAL), ("sync", DRAFT))
    # With `always` nothing can be acknowledged any more, since the disk's contents are unknown.
    assert deletes(machine) is (E.kafka_storage_error if machine.fsync == "always" else E.none)
    assert machine.life.cluster.topics.by_name(T) is None
    assert machine.segments, "files go when it is certain that the topic is gone"
    machine.disk.fails = no_failure
    machine.starts_again()
    assert machine.life.cluster.topics.by_name(T) is None
    assert not machine.segments
    assert not machine.life.directory.warnings


def test_successor_waits_for_certain_deletion(machine: Machine) -> None:
    machine.disk.fails = fails(("sync", JOURNAL), ("truncate", JOURNAL), ("sync", DRAFT))
    deletes(machine)
    machine.disk.fails = fails(("sync", DRAFT))
    if machine.fsync != "always":  # else this process makes nothing any more
        assert creates(machine, T) is E.kafka_storage_error
        assert machine.segments, "files go when it is certain that the topic is gone"
    machine.disk.fails = no_failure
    if machine.fsync == "always":
        machine.starts_again()
    assert creates(machine, T) is E.none
    assert not machine.segments
    assert machine.produces(b"b") is E.none
    machine.starts_again()
    assert machine.values() == [b"b"]
    assert not list(machine.path.glob("*-stray"))


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    ("kind", "ending"),
    [("write", JOURNAL), ("sync", JOURNAL), ("open", "checkpoint.tmp"), ("rename", "checkpoint"), ("rename", "-stray")],
)
@pytest.mark.parametrize("stubborn", [False, True])
def test_rejected_change_stays_rejected(
    machine: Machine, change: Callable[[Machine], E], kind: str, ending: str, stubborn: bool
) -> None:
    # What earlier partitions of these names have left is in the way: a folder, and where the log started.
    for name in ("another-0", f"{T}-1"):
        machine.disk.make_folder(machine.path / name)
        (machine.path / name / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAABw\n")
        machine.life.directory._starts[name] = 7
    broken = [(kind, ending), *([("truncate", JOURNAL)] if stubborn else [])]
    machine.disk.fails = fails(*broken, errno=ENOSPC)
    heard = change(machine)
    machine.disk.fails = no_failure
    assert heard in (E.none, E.kafka_storage_error)
    old_state = state(machine)
    machine.starts_again()
    assert state(machine) == old_state
    if machine.life.cluster.topics.by_name(T) is not None:
        assert machine.values() == [b"a"]
    if heard is not E.none:
        # What was only not synced, with `always`, is there: in memory, and after a restart.
        assert change(machine) in (E.none, E.topic_already_exists, E.invalid_partitions)
    after = state(machine)
    machine.starts_again()
    assert state(machine) == after


def test_producer_ids_stay_unique(machine: Machine) -> None:
    given = []
    for trouble in (no_failure, failing("sync", ending=JOURNAL), failing("write", ending=JOURNAL), no_failure):
        machine.disk.fails = trouble
        for _ in range(1_002):
            answer = machine.life.hears("init_producer_id", 4, transactional_id=None, transaction_timeout_ms=1)
            if answer.error_code is E.none:
                given.append(answer.producer_id)
        machine.disk.fails = no_failure
        machine.starts_again()
    assert len(set(given)) == len(given) > 4_000


def test_next_change_records_pending_leader(machine: Machine) -> None:
    topics = machine.life.cluster.topics
    topic = topics.by_name(T)
    assert topic is not None
    topic.partitions[0].leader_epoch = 40
    machine.disk.fails = failing("write", ending=JOURNAL)
    with pytest.raises(OSError, match="Input/output error"):
        topics.moved(topic, topic.partitions[0])
    assert creates_another(machine) is E.none
    machine.starts_again()
    topic = machine.life.cluster.topics.by_name(T)
    assert topic is not None
    assert topic.partitions[0].leader_epoch == 41


def test_rejected_deletion_keeps_records(machine: Machine) -> None:
    assert machine.produces(b"b") is E.none
    part = DeleteRecordsTopic(name=T, partitions=(DeleteRecordsPartition(partition_index=0, offset=1),))
    machine.disk.fails = fails(("rename", "log-start-offset-checkpoint"))
    answer = machine.life.hears("delete_records", 2, topics=(part,), timeout_ms=1)
    assert answer.topics[0].partitions[0].error_code is E.kafka_storage_error
    machine.disk.fails = no_failure
    # Another partition's start is noted in the same file.
    assert creates_another(machine) is E.none
    assert machine.produces(b"x", b"y", name="another") is E.none
    other = DeleteRecordsTopic(name="another", partitions=(DeleteRecordsPartition(partition_index=0, offset=1),))
    machine.life.hears("delete_records", 2, topics=(other,), timeout_ms=1)
    machine.starts_again()
    assert machine.values() == [b"a", b"b"]
    assert machine.values("another", start=1) == [b"y"]
