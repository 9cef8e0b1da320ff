"""The lines of a data directory's journal: what each of them says, how it is written, and how it is read.

Every field is checked. A file that people and failing disks can change must not end in a traceback, nor in a topic
that looks intact and is not.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from kohort.storage.disk.checkpoints import read_id, show_id
from kohort.storage.topics import name_refusal

_LARGEST_INT, _LARGEST_LONG = 2**31 - 1, 2**63 - 1


class LineError(ValueError):
    """A line that cannot be read. The text says what is wrong with it."""


@dataclass(slots=True)
class SavedPartition:
    """Who has copies of a partition, and how often its leader changed."""

    replicas: tuple[int, ...]
    leader_epoch: int


@dataclass(slots=True)
class SavedTopic:
    """A topic as the journal has it."""

    name: str
    topic_id: UUID
    configs: dict[str, str]
    partitions: list[SavedPartition]


@dataclass(slots=True)
class Saved:
    """All that is in a journal."""

    topics: dict[UUID, SavedTopic] = field(default_factory=dict)
    group_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    deleted: set[UUID] = field(default_factory=set)
    """Topics that were deleted since the last start. Some of their files may have stayed."""
    next_producer_id: int = 0
    restoring: bool = False
    """Whether topics are being made of the folders that are there. A start that dies over it goes on with the next."""

    def lines(self) -> Iterator[bytes]:
        """The lines of a new file that says the same."""
        if self.restoring:
            yield line({"restoring": True})
        for topic in self.topics.values():
            yield line(topic_line(topic))
        for group_id, configs in self.group_configs.items():
            if configs:
                yield line(group_line(group_id, configs))
        if self.deleted:
            yield line({"gone": sorted(map(show_id, self.deleted))})
        yield line({"next_producer_id": self.next_producer_id})


def line(values: Mapping[str, Any]) -> bytes:
    """One line of the file."""
    return json.dumps(values, separators=(",", ":")).encode() + b"\n"


def topic_line(topic: SavedTopic) -> dict[str, Any]:
    """A topic as it is now."""
    return {
        "topic": topic.name,
        "id": show_id(topic.topic_id),
        "configs": topic.configs,
        "partitions": [[[*each.replicas], each.leader_epoch] for each in topic.partitions],
    }


def group_line(group_id: str, configs: Mapping[str, str]) -> dict[str, Any]:
    """What is set for a group."""
    return {"group": group_id, "configs": dict(configs)}


def read_line(saved: Saved, data: bytes) -> None:
    """Takes a line of the file over. Raises LineError."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        raise LineError("it is not JSON") from None
    if not isinstance(values, dict):
        raise LineError("it is not an object")
    apply(saved, values)


def apply(saved: Saved, values: Mapping[str, Any]) -> None:
    """Takes over what a line says. Raises LineError; then nothing has changed."""
    if "topic" in values:
        _apply_topic(saved, values)
    elif "moved" in values:
        topic = _topic(saved, values["moved"])
        index = _number(values, "partition", len(topic.partitions) - 1)
        topic.partitions[index] = SavedPartition(_replicas(values.get("replicas")), _number(values, "epoch"))
    elif "deleted" in values:
        topic = _topic(saved, values["deleted"])
        del saved.topics[topic.topic_id]
        saved.deleted.add(topic.topic_id)
    elif "gone" in values:
        saved.deleted.update([_id(each) for each in _list(values["gone"], "gone")])
    elif "restoring" in values:
        saved.restoring = True
    elif "group" in values:
        saved.group_configs[_text(values["group"], "group")] = _configs(values)
    else:
        saved.next_producer_id = _number(values, "next_producer_id", _LARGEST_LONG)


def _apply_topic(saved: Saved, values: Mapping[str, Any]) -> None:
    name, topic_id = _text(values["topic"], "topic"), _id(values.get("id"))
    problem = name_refusal(name)
    if problem is not None:
        raise LineError(problem)
    partitions = []
    for each in _list(values.get("partitions"), "partitions"):
        if not isinstance(each, list) or len(each) != 2:
            raise LineError("a partition is not a list of replicas and a leader epoch")
        partitions.append(SavedPartition(_replicas(each[0]), _number({"leader epoch": each[1]}, "leader epoch")))
    if not partitions:
        raise LineError(f"topic {name} has no partitions")
    saved.topics[topic_id] = SavedTopic(name, topic_id, _configs(values), partitions)


def _topic(saved: Saved, value: object) -> SavedTopic:
    topic = saved.topics.get(_id(value))
    if topic is None:
        raise LineError(f"there is no topic of the id {value!r}")
    return topic


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise LineError(f"'{name}' is no text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise LineError(f"'{name}' is no text") from None
    return value


def _number(values: Mapping[str, Any], name: str, most: int = _LARGEST_INT - 1) -> int:
    """A whole number from 0 to `most`. A leader epoch grows by one at the next start, which must fit too."""
    value = values.get(name)
    if type(value) is not int or not 0 <= value <= most:
        raise LineError(f"'{name}' is no whole number from 0 to {most}")
    return value


def _list(value: object, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise LineError(f"'{name}' is no list")
    return value


def _replicas(value: object) -> tuple[int, ...]:
    replicas = _list(value, "replicas")
    if not replicas or len(set(map(repr, replicas))) < len(replicas):
        raise LineError("'replicas' is no list of different nodes")
    return tuple(_number({"replicas": each}, "replicas", _LARGEST_INT) for each in replicas)


def _id(value: object) -> UUID:
    try:
        return read_id(_text(value, "id"))
    except LineError:
        raise
    except ValueError:
        raise LineError(f"{value!r} is no id of a topic") from None


def _configs(values: Mapping[str, Any]) -> dict[str, str]:
    configs = values.get("configs")
    if not isinstance(configs, dict):
        raise LineError("'configs' is no object")
    return {_text(name, "configs"): _text(value, name) for name, value in configs.items()}
