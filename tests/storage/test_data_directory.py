"""A data directory: topics and what else must be known again, and whose directory it is."""

from pathlib import Path
from uuid import UUID

import pytest

from kohort.storage.disk.directory import DataDirectory
from kohort.storage.disk.ownership import DataDirectoryError
from kohort.storage.topic import Topic
from tests.storage.on_disk import ID, NAME, OnDisk
from tests.support.batches import batch


def test_topics_survive_restart(tmp_path: Path) -> None:
    on_disk = OnDisk(tmp_path)
    created = on_disk.topics.create("payments", 3, configs={"retention.ms": "1000"}, topic_id=UUID(int=8))
    assert isinstance(created, Topic)
    on_disk.topics.grow(created, 5)
    on_disk.topics.configure(created, {"retention.ms": "2000"})
    on_disk.dies_and_comes_back()
    topic = on_disk.topics.by_name("payments")
    assert topic is not None
    assert (topic.topic_id, len(topic.partitions)) == (UUID(int=8), 5)
    assert topic.configs == {"retention.ms": "2000"}
    assert topic.log_config.retention_ms == 2_000
    assert on_disk.topics.by_id(ID) is on_disk.topic


def test_recreated_topic_is_empty(tmp_path: Path) -> None:
    on_disk = OnDisk(tmp_path)
    on_disk.log.append(batch(b"x"), wall_ms=0)
    on_disk.topics.delete(on_disk.topic)
    assert not on_disk.folder.exists()
    on_disk.topics.create(NAME, 1, topic_id=UUID(int=9))
    assert on_disk.log.log_end_offset == 0
    on_disk.dies_and_comes_back()
    assert (on_disk.topic.topic_id, on_disk.log.log_end_offset) == (UUID(int=9), 0)


def test_validate_only_leaves_nothing(tmp_path: Path) -> None:
    on_disk = OnDisk(tmp_path)
    on_disk.topics.create("payments", 3, topic_id=UUID(int=8), validate_only=True)
    on_disk.dies_and_comes_back()
    assert len(on_disk.topics) == 1


def test_leaders_epochs_are_remembered(tmp_path: Path) -> None:
    on_disk = OnDisk(tmp_path)
    partition = on_disk.topic.partitions[0]
    partition.leader_epoch = 5
    on_disk.topics.moved(on_disk.topic, partition)
    on_disk.dies_and_comes_back()
    assert on_disk.topic.partitions[0].leader_epoch == 5


def test_producer_ids_are_unique_across_restarts(tmp_path: Path) -> None:
    on_disk = OnDisk(tmp_path)
    seen = [on_disk.topics.next_producer_id() for _ in range(3)]
    on_disk.dies_and_comes_back()
    seen += [on_disk.topics.next_producer_id() for _ in range(1_500)]
    on_disk.stops_and_comes_back()
    seen.append(on_disk.topics.next_producer_id())
    assert len(set(seen)) == len(seen)


def test_first_record_creates_partition_folder(tmp_path: Path) -> None:
    on_disk = OnDisk(tmp_path)
    assert not on_disk.folder.exists()
    on_disk.log.append(batch(b"x"), wall_ms=0)
    assert sorted(path.name for path in on_disk.folder.iterdir()) == [f"{0:020}.log", "partition.metadata"]
    assert (on_disk.folder / "partition.metadata").read_text() == "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAABw\n"


def test_one_process_at_a_time(tmp_path: Path) -> None:
    on_disk = OnDisk(tmp_path)
    with pytest.raises(DataDirectoryError, match="in use by another broker"):
        DataDirectory(tmp_path)
    on_disk.directory.close()
    DataDirectory(tmp_path).abandon()


def test_rejects_directory_with_other_files(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(DataDirectoryError, match=r"contains other files \(thesis.txt\)"):
        DataDirectory(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_kafkas_own_directory_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=abc\nnode.id=1\n")
    with pytest.raises(DataDirectoryError, match="belongs to an Apache Kafka broker"):
        DataDirectory(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["meta.properties"]


@pytest.mark.parametrize("lines", [0, 2, 3])
def test_damaged_meta_is_not_kafkas(tmp_path: Path, lines: int) -> None:
    OnDisk(tmp_path).directory.close()
    meta = tmp_path / "meta.properties"
    whole = meta.read_text()
    meta.write_text("".join(whole.splitlines(keepends=True)[:lines]))
    with pytest.raises(DataDirectoryError, match=r"meta.properties is damaged.*kohort.format=1"):
        DataDirectory(tmp_path)
    meta.write_text(whole)
    DataDirectory(tmp_path).close()


def test_rejects_newer_format(tmp_path: Path) -> None:
    OnDisk(tmp_path).directory.close()
    meta = tmp_path / "meta.properties"
    meta.write_text(meta.read_text().replace("kohort.format=1", "kohort.format=2"))
    with pytest.raises(DataDirectoryError, match=r"in format 2 by a newer kohort.*; install that release"):
        DataDirectory(tmp_path)


def test_rejects_damaged_journal(tmp_path: Path) -> None:
    on_disk = OnDisk(tmp_path)
    on_disk.directory.close()
    journal = tmp_path / "topics.jsonl"
    whole = journal.read_text()
    journal.write_text(whole + '{"topic":"cut sho')
    DataDirectory(tmp_path).abandon()
    journal.write_text("nonsense\n" + whole)
    with pytest.raises(DataDirectoryError, match=r"topics.jsonl, line 1, cannot be read"):
        DataDirectory(tmp_path)
    assert journal.read_text().startswith("nonsense")


def test_adopts_partition_folders(tmp_path: Path) -> None:
    on_disk = OnDisk(tmp_path / "one")
    on_disk.log.append(batch(b"x"), wall_ms=0)
    on_disk.directory.close()
    (tmp_path / "two").mkdir()
    on_disk.folder.rename(tmp_path / "two" / "orders-3")
    strange = DataDirectory(tmp_path / "two")
    assert strange.adopted == {"orders": 4}
    assert strange.id_of("orders") == ID
    strange.abandon()


def test_unknown_folder_is_set_aside(tmp_path: Path) -> None:
    on_disk = OnDisk(tmp_path)
    (tmp_path / "orders-7").mkdir()
    assert on_disk.dies_and_comes_back() == ["orders-7 belongs to no topic there is; it is kept as orders-7-stray"]
    assert (tmp_path / "orders-7-stray").is_dir()
    assert on_disk.dies_and_comes_back() == []
