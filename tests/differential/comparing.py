"""Two answers side by side. What brokers make up (ids, ports, the time) may differ if it differs consistently."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from typing import Any, NamedTuple
from uuid import UUID

from tests.differential.codec import NO_ID
from tests.talk.values import Value, show

ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
SHORT_ID = re.compile(r"(?<![\w-])[\w-]{22}(?![\w-])")
MADE_UP = {"producer_id", "session_id", "port"}
"""Fields with positive numbers that a broker generates."""

OF_THE_CLUSTER = {"cluster_id", "host"}
RECENT_MS = 1_750_000_000_000
"""Later timestamps are times of the run, which are not compared. Records have earlier ones."""

IDENTIFYING = (
    "resource_type",
    "resource_name",
    "group_id",
    "transactional_id",
    "name",
    "topic",
    "topic_name",
    "topic_id",
    "partition_index",
    "partition",
    "partition_id",
    "index",
    "member_id",
    "node_id",
    "broker_id",
    "api_key",
    "producer_id",
    "subtopology_id",
    "status_code",
    "key",
)
UNTOLD = "(untold)"
IN_ORDER = {"records", "coordinators"}


class Difference(NamedTuple):
    """Where two answers differ. `path` has no numbers in it, but for types of resources."""

    api: str
    path: str
    kafka: Value
    kohort: Value

    @property
    def signature(self) -> str:
        """Key that differences of one origin share; it contains no names, ids or numbers of a run."""
        if isinstance(self.kafka, list) and isinstance(self.kohort, list):
            return f"{self.api} {self.path}: {'fewer' if len(self.kafka) < len(self.kohort) else 'more'} at Kafka"
        return f"{self.api} {self.path}: {_masked(self.kafka)} | {_masked(self.kohort)}"

    def __str__(self) -> str:
        return f"{self.api} {self.path}: Kafka {_shortened(self.kafka)}, kohort {_shortened(self.kohort)}"


def _masked(value: Value) -> str:
    text = ID.sub("ID", show(value))
    text = re.sub(r"(group|topic|txn)(none|new)?2?-\d+-[a-z0-9]+", "NAME", text)
    return re.sub(r"\d{4,}", "N", text)[:300]


def _shortened(value: Value) -> str:
    text = show(value)
    return text if len(text) < 300 else text[:300] + " …"


class Mapping:
    """Which of Kafka's ids is which of kohort's."""

    def __init__(self) -> None:
        self._to_kohort: dict[Value, Value] = {NO_ID: NO_ID}
        self._to_kafka: dict[Value, Value] = {NO_ID: NO_ID}

    def same(self, kafka: Value, kohort: Value) -> bool:
        """Return whether two ids may correspond, and bind them to each other."""
        if kafka not in self._to_kohort and kohort not in self._to_kafka:
            self._to_kohort[kafka] = kohort
            self._to_kafka[kohort] = kafka
        return bool(self._to_kohort.get(kafka) == kohort and self._to_kafka.get(kohort) == kafka)

    def at_kafka(self, field: str, kohort: Value) -> Value:
        """Return Kafka's value of a field with this value at kohort; texts that end in an id are mapped by that id."""
        if field in MADE_UP:
            return self._to_kafka.get((field, kohort), (field, kohort))[1]
        if isinstance(kohort, str):
            return ID.sub(lambda found: str(self._to_kafka.get(found[0], found[0])), _ids_at_length(kohort))
        return kohort


def compare(api: str, kafka: Value, kohort: Value, mapping: Mapping) -> list[Difference]:
    """Return all differences of two responses."""
    return list(_differences(api, "", "", kafka, kohort, mapping))


def _differences(api: str, path: str, name: str, kafka: Value, kohort: Value, ids: Mapping) -> Iterable[Difference]:
    if isinstance(kafka, dict) and isinstance(kohort, dict):
        for key in [*kafka, *(key for key in kohort if key not in kafka)]:
            inner = f"{path}.{key}" if path else key
            yield from _differences(api, inner, key, kafka.get(key, "(no field)"), kohort.get(key, "(no field)"), ids)
    elif isinstance(kafka, list) and isinstance(kohort, list):
        yield from _of_lists(api, path, name, kafka, kohort, ids)
    elif not _same(name, kafka, kohort, ids):
        yield Difference(api, path, kafka, kohort)


def _of_lists(
    api: str, path: str, name: str, kafka: list[Any], kohort: list[Any], ids: Mapping
) -> Iterable[Difference]:
    if (api, name) == ("DescribeConfigs", "configs"):
        yield from _of_settings(api, path, kafka, kohort, ids)
        return
    if name not in IN_ORDER and (api, name) != ("LeaveGroup", "members"):
        kafka, kohort = (
            _ordered(kafka, lambda _, value: _ids_at_length(value) if isinstance(value, str) else value),
            _ordered(kohort, ids.at_kafka),
        )
    if len(kafka) != len(kohort):
        yield Difference(api, f"{path}[]", kafka, kohort)
        return
    for mine, yours in zip(kafka, kohort, strict=True):
        yield from _differences(api, f"{path}[{_resource(mine)}]", name, mine, yours, ids)


def _resource(element: Any) -> str:
    """Return the resource of settings for the path, so that rules for brokers apply to no topics."""
    return f"type {element['resource_type']}" if isinstance(element, dict) and "resource_type" in element else ""


def _of_settings(api: str, path: str, kafka: list[Any], kohort: list[Any], ids: Mapping) -> Iterable[Difference]:
    """Map settings by name, so that a setting that only one side returns is one difference."""
    mine, yours = ({setting["name"]: setting for setting in settings} for settings in (kafka, kohort))
    if len(mine) < len(kafka) or len(yours) < len(kohort):
        yield Difference(api, f"{path}[]", kafka, kohort)
    for name in [*mine, *(name for name in yours if name not in mine)]:
        yield from _differences(api, f"{path}[{name}]", "", mine.get(name, UNTOLD), yours.get(name, UNTOLD), ids)


def _ordered(values: list[Any], at_kafka: Any) -> list[Any]:
    def key(value: Any) -> list[str]:
        if isinstance(value, dict):
            named = [repr(at_kafka(field, value[field])) for field in (*IDENTIFYING, "error_code") if field in value]
            partitions = value.get("partitions")
            # A topic that two subtopologies read is returned twice, in an order that each start of Kafka changes.
            is_plain = isinstance(partitions, list) and all(type(partition) is int for partition in partitions)
            return [*named, repr(partitions)] if is_plain else named
        return [repr(value)]

    return sorted(values, key=key)


def _same(name: str, kafka: Value, kohort: Value, ids: Mapping) -> bool:
    if isinstance(kafka, str) and isinstance(kohort, str) and name not in OF_THE_CLUSTER:
        return _same_texts(kafka, kohort, ids)
    if name in OF_THE_CLUSTER:
        return (kafka is None) == (kohort is None)
    if type(kafka) is int and type(kohort) is int:
        if kafka > RECENT_MS and kohort > RECENT_MS and kafka < 2**62 and kohort < 2**62:
            return True
        lowest = 0 if name == "producer_id" else 1
        if name in MADE_UP and kafka >= lowest and kohort >= lowest:
            return ids.same((name, kafka), (name, kohort))
    return type(kafka) is type(kohort) and bool(kafka == kohort)


def _same_texts(kafka: str, kohort: str, ids: Mapping) -> bool:
    kafka, kohort = _ids_at_length(kafka), _ids_at_length(kohort)
    if ID.sub("ID", kafka) != ID.sub("ID", kohort):
        return False
    pairs = zip(ID.findall(kafka), ID.findall(kohort), strict=True)
    return all(ids.same(mine, yours) for mine, yours in pairs)


def _ids_at_length(text: str) -> str:
    """Replace the 22-letter topic ids of Kafka's messages by full ones."""

    def long(found: re.Match[str]) -> str:
        return str(UUID(bytes=base64.urlsafe_b64decode(found[0] + "==")))

    return SHORT_ID.sub(long, text) if len(text) < 2_000 else text
