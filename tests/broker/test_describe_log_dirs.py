"""Where partitions are kept, and how large they are."""

from pathlib import Path
from typing import Any

from kohort.storage.disk.directory import DataDirectory
from tests.support.batches import batch
from tests.support.broker import Broker, Client
from tests.support.data_requests import given_topic, produce


def described(client: Client) -> Any:
    (result,) = client.asks("describe_log_dirs", 4, topics=None).results
    return result


def test_memory_directory_has_unknown_size() -> None:
    client = Broker().client()
    given_topic(client)
    produce(client, batch(b"x"))
    groups = described(client)
    assert (groups.log_dir, groups.total_bytes, groups.usable_bytes) == ("/memory", -1, -1)
    assert groups.topics[0].partitions[0].partition_size == len(batch(b"x"))


def test_disk_directory(tmp_path: Path) -> None:
    client = Broker(directory=DataDirectory(tmp_path)).client()
    given_topic(client)
    produce(client, batch(b"x"))
    groups = described(client)
    assert groups.log_dir == str(tmp_path.resolve())
    assert groups.total_bytes > groups.usable_bytes > 0
    assert groups.topics[0].partitions[0].partition_size == (tmp_path / "topic-0" / f"{0:020}.log").stat().st_size
