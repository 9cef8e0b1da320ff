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
    there = OnDisk(tmp_path)
    created = there.topics.create("payments", 3, configs={"retention.ms": "1000"}, topic_id=UUID(int=8))
    assert isinstance(created, Topic)
    there.topics.grow(created, 5)
    there.topics.configure(created, {"retention.ms": "2000"})
    there.dies_and_comes_back()
    found = there.topics.by_name("payments")
    assert found is not None
    assert (found.topic_id, len(found.partitions)) == (UUID(int=8), 5)
    assert found.configs == {"retention.ms": "2000"}
    assert found.log_config.retention_ms == 2_000
    assert there.topics.by_id(ID) is there.topic


def test_recreated_topic_is_empty(tmp_path: Path) -> None:
    there = OnDisk(tmp_path)
    there.log.append(batch(b"x"), wall_ms=0)
    there.topics.delete(there.topic)
    assert not there.folder.exists()
    there.topics.create(NAME, 1, topic_id=UUID(int=9))
    assert there.log.log_end_offset == 0
    there.dies_and_comes_back()
    assert (there.topic.topic_id, there.log.log_end_offset) == (UUID(int=9), 0)


def test_validate_only_leaves_nothing(tmp_path: Path) -> None:
    there = OnDisk(tmp_path)
    there.topics.create("payments", 3, topic_id=UUID(int=8), validate_only=True)
    there.dies_and_comes_back()
    assert len(there.topics) == 1


def test_leaders_epochs_are_remembered(tmp_path: Path) -> None:
    there = OnDisk(tmp_path)
    partition = there.topic.partitions[0]
    partition.leader_epoch = 5
    there.topics.moved(there.topic, partition)
    there.dies_and_comes_back()
    assert there.topic.partitions[0].leader_epoch == 5


def test_producer_ids_are_unique_across_restarts(tmp_path: Path) -> None:
    there = OnDisk(tmp_path)
    seen = [there.topics.next_producer_id() for _ in range(3)]
    there.dies_and_comes_back()
    seen += [there.topics.next_producer_id() for _ in range(1_500)]
    there.stops_and_comes_back()
    seen.append(there.topics.next_producer_id())
    assert len(set(seen)) == len(seen)


def test_first_record_creates_partition_folder(tmp_path: Path) -> None:
    there = OnDisk(tmp_path)
    assert not there.folder.exists()
    there.log.append(batch(b"x"), wall_ms=0)
    assert sorted(path.name for path in there.folder.iterdir()) == [f"{0:020}.log", "partition.metadata"]
    assert (there.folder / "partition.metadata").read_text() == "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAABw\n"


def test_one_process_at_a_time(tmp_path: Path) -> None:
    there = OnDisk(tmp_path)
    with pytest.raises(DataDirectoryError, match="in use by another broker"):
        DataDirectory(tmp_path)
    there.directory.close()
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
    with pytest.raises(DataDirectoryError, match="was written in format 2"):
        DataDirectory(tmp_path)


def test_rejects_damaged_journal(tmp_path: Path) -> None:
    there = OnDisk(tmp_path)
    there.directory.close()
    journal = tmp_path / "topics.jsonl"
    whole = journal.read_text()
    journal.write_text(whole + '{"topic":"cut sho')
    DataDirectory(tmp_path).abandon()
    journal.write_text("nonsense\n" + whole)
    with pytest.raises(DataDirectoryError, match=r"topics.jsonl, line 1, cannot be read"):
        DataDirectory(tmp_path)
    assert journal.read_text().startswith("nonsense")


def test_adopts_partition_folders(tmp_path: Path) -> None:
    there = OnDisk(tmp_path / "one")
    there.log.append(batch(b"x"), wall_ms=0)
    there.directory.close()
    (tmp_path / "two").mkdir()
    there.folder.rename(tmp_path / "two" / "orders-3")
    strange = DataDirectory(tmp_path / "two")
    assert strange.adopted == {"orders": 4}
    assert strange.id_of("orders") == ID
    strange.abandon()


def test_unknown_folder_is_set_aside(tmp_path: Path) -> None:
    there = OnDisk(tmp_path)
    (tmp_path / "orders-7").mkdir()
    assert there.dies_and_comes_back() == ["orders-7 belongs to no topic there is; it is kept as orders-7-stray"]
    assert (tmp_path / "orders-7-stray").is_dir()
    assert there.dies_and_comes_back() == []
