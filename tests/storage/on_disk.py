"""A data directory with one topic of one partition, which is opened again and again."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

from kohort.storage.disk.directory import DataDirectory
from kohort.storage.disk.files import Disk
from kohort.storage.log import PartitionLog
from kohort.storage.topic import Topic
from kohort.storage.topic_configs import LogConfig
from kohort.storage.topics import Topics

NAME = "orders"
ID = UUID(int=7)


class OnDisk:
    """The topic, as the broker that has the directory open knows it."""

    def __init__(self, path: Path, disk: Disk | None = None, *, delays: bool = False, **config: Any) -> None:
        self.path = path
        self.disk = disk
        self.delays = delays
        self._config = LogConfig(**config)
        self._open()
        made = self.topics.create(NAME, 1, topic_id=ID)
        assert isinstance(made, Topic), made
        self.log.config = self._config

    def _open(self) -> None:
        self.directory = DataDirectory(self.path, disk=self.disk, delays=self.delays)
        self.topics = Topics([1], lambda: ID, storage=self.directory)
        for saved in self.directory.saved.topics.values():
            partitions = [(partition.replicas, partition.leader_epoch) for partition in saved.partitions]
            self.topics.restore(saved.name, saved.topic_id, saved.configs, partitions)
        self.topics.producer_ids_from(self.directory.saved.next_producer_id)
        self.directory.begin()
        self.directory.begun("cluster", 1)

    @property
    def topic(self) -> Topic:
        found = self.topics.by_name(NAME)
        assert found is not None
        return found

    @property
    def log(self) -> PartitionLog:
        return self.topic.partitions[0].log

    @property
    def folder(self) -> Path:
        return self.path / f"{NAME}-0"

    def segments(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("*.log"))

    def dies_and_comes_back(self) -> list[str]:
        """Restart from disk, and return the repairs."""
        self.directory.abandon()
        return self._comes_back()

    def stops_and_comes_back(self) -> list[str]:
        self.directory.close()
        return self._comes_back()

    def _comes_back(self) -> list[str]:
        self._open()
        self.log.config = self._config
        return self.directory.warnings
