"""The lines of a data directory's journal: their fields, writing, and reading.

Every field is validated. A file that people and failing disks can change must not cause a traceback or a topic that
looks intact but is not.
"""

import json
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from kohort.storage.disk.checkpoints import read_id, show_id
from kohort.storage.topic_names import name_refusal

# ACL as text: resource type, pattern type, name, principal, host, operation, permission
SavedAcl = tuple[str, str, str, str, str, str, str]

_SCRAM_BYTES = ("salt", "stored_key", "server_key")
_LARGEST_INT, _LARGEST_LONG = 2**31 - 1, 2**63 - 1


class LineError(ValueError):
    """A malformed line. The text gives the reason."""


@dataclass(slots=True)
class SavedPartition:
    """Replicas and leader epoch of a partition."""

    replicas: tuple[int, ...]
    leader_epoch: int


@dataclass(slots=True)
class SavedTopic:
    """A topic in the journal."""

    name: str
    topic_id: UUID
    configs: dict[str, str]
    partitions: list[SavedPartition]


class SavedScram(NamedTuple):
    """A stored SCRAM credential."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"SavedScram({self.iterations} iterations)"


@dataclass(slots=True)
class Saved:
    """The content of a journal."""

    topics: dict[UUID, SavedTopic] = field(default_factory=dict)
    group_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)  # changed levels, by name
    features_epoch: int = 0  # number of changes
    acls: dict[SavedAcl, None] = field(default_factory=dict)  # in order of creation
    # credentials by user and number of the mechanism
    scram: dict[tuple[str, int], SavedScram] = field(default_factory=dict)
    # Topics that were deleted since the last start; some of their files may still exist.
    deleted: set[UUID] = field(default_factory=set)
    next_producer_id: int = 0
    # Whether topics are being created from folders. If a start is interrupted, the next one continues.
    restoring: bool = False

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of a new file with the same content."""
        if self.restoring:
            yield line({"restoring": True})
        for topic in self.topics.values():
            yield line(topic_line(topic))
        for group_id, configs in self.group_configs.items():
            if configs:
                yield line(group_line(group_id, configs))
        for name, level in self.features.items():
            yield line(feature_line(name, level, self.features_epoch))
        for acl in self.acls:
            yield line({"acls": [acl]})
        for (user, mechanism), scram in self.scram.items():
            yield line(scram_line(user, mechanism, scram))
        if self.deleted:
            yield line({"gone": sorted(map(show_id, self.deleted))})
        yield line({"next_producer_id": self.next_producer_id})


def line(values: Mapping[str, Any]) -> bytes:
    """Format one line of the file."""
    return json.dumps(values, separators=(",", ":")).encode() + b"\n"


def topic_line(topic: SavedTopic) -> dict[str, Any]:
    return {
        "topic": topic.name,
        "id": show_id(topic.topic_id),
        "configs": topic.configs,
        "partitions": [[[*partition.replicas], partition.leader_epoch] for partition in topic.partitions],
    }


def group_line(group_id: str, configs: Mapping[str, str]) -> dict[str, Any]:
    return {"group": group_id, "configs": dict(configs)}


def feature_line(name: str, level: int, epoch: int) -> dict[str, Any]:
    """Return the level of a feature after `epoch` changes of any feature."""
    return {"feature": name, "level": level, "epoch": epoch}


def scram_line(user: str, mechanism: int, scram: SavedScram | None) -> dict[str, Any]:
    """Return a user's SCRAM credential of one mechanism, or its removal for None."""
    if scram is None:
        return {"scram": user, "mechanism": mechanism, "iterations": 0}
    keys = {name: b64encode(getattr(scram, name)).decode() for name in _SCRAM_BYTES}
    return {"scram": user, "mechanism": mechanism, "iterations": scram.iterations, **keys}


def read_line(saved: Saved, data: bytes) -> None:
    """Parse and apply a line.

    Raises:
        LineError: The line is malformed.
    """
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        raise LineError("it is not JSON") from None
    if not isinstance(values, dict):
        raise LineError("it is not an object")
    apply(saved, values)


def apply(saved: Saved, values: Mapping[str, Any]) -> None:
    """Apply the values of a line.

    Raises:
        LineError: A value is invalid; nothing has changed.
    """
    if "topic" in values:
        _apply_topic(saved, values)
    elif "scram" in values:
        _apply_scram(saved, values)
    elif "moved" in values:
        topic = _topic(saved, values["moved"])
        index = _number(values, "partition", len(topic.partitions) - 1)
        topic.partitions[index] = SavedPartition(_replicas(values.get("replicas")), _number(values, "epoch"))
    elif "deleted" in values:
        topic = _topic(saved, values["deleted"])
        del saved.topics[topic.topic_id]
        saved.deleted.add(topic.topic_id)
    elif "gone" in values:
        saved.deleted.update([_id(topic_id) for topic_id in _list(values["gone"], "gone")])
    elif "restoring" in values:
        saved.restoring = True
    elif "group" in values:
        saved.group_configs[_text(values["group"], "group")] = _configs(values)
    elif "feature" in values:
        name, level = _text(values["feature"], "feature"), _number(values, "level")
        saved.features_epoch = _number(values, "epoch")
        saved.features[name] = level
    elif "acls" in values:
        saved.acls.update(dict.fromkeys(_acls(values["acls"], "acls")))
    elif "acls_gone" in values:
        for acl in _acls(values["acls_gone"], "acls_gone"):
            saved.acls.pop(acl, None)
    else:
        saved.next_producer_id = _number(values, "next_producer_id", _LARGEST_LONG)


def _apply_topic(saved: Saved, values: Mapping[str, Any]) -> None:
    name, topic_id = _text(values["topic"], "topic"), _id(values.get("id"))
    error = name_refusal(name)
    if error is not None:
        raise LineError(error)
    partitions = []
    for entry in _list(values.get("partitions"), "partitions"):
        if not isinstance(entry, list) or len(entry) != 2:
            raise LineError("a partition is not a list of replicas and a leader epoch")
        partitions.append(SavedPartition(_replicas(entry[0]), _number({"leader epoch": entry[1]}, "leader epoch")))
    if not partitions:
        raise LineError(f"topic {name} has no partitions")
    saved.topics[topic_id] = SavedTopic(name, topic_id, _configs(values), partitions)


def _apply_scram(saved: Saved, values: Mapping[str, Any]) -> None:
    user, mechanism = _text(values["scram"], "scram"), _number(values, "mechanism")
    iterations = _number(values, "iterations")
    if not iterations:
        saved.scram.pop((user, mechanism), None)
        return
    saved.scram[user, mechanism] = SavedScram(
        _bytes(values, "salt"), _bytes(values, "stored_key"), _bytes(values, "server_key"), iterations
    )


def _bytes(values: Mapping[str, Any], name: str) -> bytes:
    try:
        return b64decode(_text(values.get(name), name), validate=True)
    except Base64Error:
        raise LineError(f"'{name}' is not base64") from None


def _topic(saved: Saved, value: object) -> SavedTopic:
    topic = saved.topics.get(_id(value))
    if topic is None:
        raise LineError(f"unknown topic id {value!r}")
    return topic


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise LineError(f"'{name}' is not a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise LineError(f"'{name}' is not a string") from None
    return value


def _number(values: Mapping[str, Any], name: str, most: int = _LARGEST_INT - 1) -> int:
    """Return an integer from 0 to `most`.

    The default leaves room for the leader epoch's increment at the next start.
    """
    value = values.get(name)
    if type(value) is not int or not 0 <= value <= most:
        raise LineError(f"'{name}' is not an integer from 0 to {most}")
    return value


def _list(value: object, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise LineError(f"'{name}' is not a list")
    return value


def _replicas(value: object) -> tuple[int, ...]:
    replicas = _list(value, "replicas")
    if not replicas or len(set(map(repr, replicas))) < len(replicas):
        raise LineError("'replicas' is not a list of distinct nodes")
    return tuple(_number({"replicas": node_id}, "replicas", _LARGEST_INT) for node_id in replicas)


def _acls(value: object, name: str) -> list[SavedAcl]:
    """Return ACLs as text; the caller checks their meaning."""
    acls = []
    for fields in _list(value, name):
        if not isinstance(fields, list | tuple) or len(fields) != 7:
            raise LineError(f"'{name}' is not a list of ACLs with seven fields each")
        kind, pattern, resource, principal, host, operation, permission = (_text(word, name) for word in fields)
        acls.append((kind, pattern, resource, principal, host, operation, permission))
    return acls


def _id(value: object) -> UUID:
    try:
        return read_id(_text(value, "id"))
    except LineError:
        raise
    except ValueError:
        raise LineError(f"{value!r} is not a topic id") from None


def _configs(values: Mapping[str, Any]) -> dict[str, str]:
    configs = values.get("configs")
    if not isinstance(configs, dict):
        raise LineError("'configs' is not an object")
    return {_text(name, "configs"): _text(value, name) for name, value in configs.items()}
