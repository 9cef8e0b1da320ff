"""The topics of a data directory: a file of lines in JSON, to which every change is added.

Topics, settings, replicas and leader epochs, settings of groups, and which producer ids were handed out. A last line
that was cut short was never acknowledged and does not count. The file is written anew, one line a topic or group, when
the directory is opened.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from kohort.storage.disk.checkpoints import read_id, show_id
from kohort.storage.disk.files import Disk, File, Folder

JOURNAL = "topics.jsonl"


class JournalError(Exception):
    """A journal that cannot be read. The text is a sentence that says what to do."""


@dataclass(slots=True)
class SavedPartition:
    """Who has copies of a partition, and how often its leader changed."""

    replicas: tuple[int, ...]
    leader_epoch: int


@dataclass(slots=True)
class SavedTopic:
    """A topic as the journal tells it."""

    name: str
    topic_id: UUID
    configs: dict[str, str]
    partitions: list[SavedPartition]


@dataclass(slots=True)
class Saved:
    """All that a journal tells."""

    topics: dict[UUID, SavedTopic] = field(default_factory=dict)
    group_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    deleted: set[UUID] = field(default_factory=set)
    """Topics that went since the file was written anew; something of them may have stayed."""
    next_producer_id: int = 0


class Journal:
    """Adds lines to the file."""

    def __init__(self, disk: Disk, folder: Path) -> None:
        self._disk = disk
        self._path = folder / JOURNAL
        self._file: File | None = None

    def read(self) -> Saved:
        """What was written. Raises JournalError, OSError."""
        saved = Saved()
        try:
            lines = self._path.read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return saved
        for number, line in enumerate(lines, 1):
            if number == len(lines) and not line.endswith(b"\n"):
                break
            try:
                _apply(saved, json.loads(line))
            except (ValueError, KeyError, TypeError, IndexError):
                raise JournalError(
                    f"{self._path}, line {number}, cannot be read: mend or remove that line; nothing has been changed"
                ) from None
        return saved

    def begin(self, saved: Saved) -> None:
        """Writes the file anew, with what there is now. Raises OSError."""
        lines = [_topic(each) for each in saved.topics.values()]
        lines += [_group(group_id, configs) for group_id, configs in saved.group_configs.items() if configs]
        lines.append({"next_producer_id": saved.next_producer_id})
        self._disk.write_whole(self._path, b"".join(map(_line, lines)), precious=True)
        # Else the old file might come back with the power, and what is synced in the new one would be gone with it.
        Folder(self._disk, self._path.parent).sync()
        self._file = self._disk.file(self._path)

    def topic(self, topic: SavedTopic) -> None:
        """A topic was created, or changed in more than one partition. Raises OSError."""
        self._add(_topic(topic))

    def partition(self, topic_id: UUID, index: int, replicas: Iterable[int], leader_epoch: int) -> None:
        """A partition has another leader or other replicas. Raises OSError."""
        self._add({"moved": show_id(topic_id), "partition": index, "replicas": [*replicas], "epoch": leader_epoch})

    def deleted(self, topic_id: UUID) -> None:
        """A topic is gone. Raises OSError.

        On the disk when this returns: its records go next, and must not go alone.
        """
        self._add({"deleted": show_id(topic_id)}).sync()

    def group(self, group_id: str, configs: Mapping[str, str]) -> None:
        """A group has these settings now. Raises OSError."""
        self._add(_group(group_id, configs))

    def producer_ids(self, next_producer_id: int) -> None:
        """Producer ids below this one may have been handed out. Raises OSError.

        On the disk when this returns: a record with one of them may be there sooner than anybody is told.
        """
        self._add({"next_producer_id": next_producer_id}).sync()

    def close(self) -> None:
        """Gives the file back."""
        if self._file is not None:
            self._file.close()

    def _add(self, values: Mapping[str, Any]) -> File:
        assert self._file is not None, "it is begun first"
        self._file.append(_line(values))
        return self._file


def _line(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, separators=(",", ":")).encode() + b"\n"


def _topic(topic: SavedTopic) -> dict[str, Any]:
    return {
        "topic": topic.name,
        "id": show_id(topic.topic_id),
        "configs": topic.configs,
        "partitions": [[[*each.replicas], each.leader_epoch] for each in topic.partitions],
    }


def _group(group_id: str, configs: Mapping[str, str]) -> dict[str, Any]:
    return {"group": group_id, "configs": dict(configs)}


def _apply(saved: Saved, values: Mapping[str, Any]) -> None:
    if "topic" in values:
        partitions = [SavedPartition(tuple(map(int, replicas)), int(epoch)) for replicas, epoch in values["partitions"]]
        configs = {str(name): str(value) for name, value in values["configs"].items()}
        topic = SavedTopic(str(values["topic"]), read_id(values["id"]), configs, partitions)
        saved.topics[topic.topic_id] = topic
    elif "moved" in values:
        partition = saved.topics[read_id(values["moved"])].partitions[values["partition"]]
        partition.replicas, partition.leader_epoch = tuple(map(int, values["replicas"])), int(values["epoch"])
    elif "deleted" in values:
        topic_id = read_id(values["deleted"])
        del saved.topics[topic_id]
        saved.deleted.add(topic_id)
    elif "group" in values:
        saved.group_configs[str(values["group"])] = {str(name): str(it) for name, it in values["configs"].items()}
    else:
        saved.next_producer_id = int(values["next_producer_id"])
