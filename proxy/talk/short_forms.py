"""Lists of small structures as mappings: `topics: {orders: {0: 5}}` is a topic, its partition 0, and the offset."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Final

from kohort.proxy.talk.talk_fields import Field, fields_of
from kohort.proxy.talk.talk_values import Value

SHORT: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "protocols": (("name",), ("metadata",)),
    "assignments": (("member_id",), ("assignment",)),
    "members": (("member_id",), ("metadata", "error_code")),
    "coordinators": (("key",), ("error_code",)),
    "topics": (("topic_id", "name"), ("partitions", "partition_indexes")),
    "topic_partitions": (("topic_id",), ("partitions",)),
    "partitions": (("partition_index",), ("committed_offset", "error_code")),
    "active_tasks": (("subtopology_id",), ("partitions",)),
    "standby_tasks": (("subtopology_id",), ("partitions",)),
    "warmup_tasks": (("subtopology_id",), ("partitions",)),
    "client_tags": (("key",), ("value",)),
    "topic_configs": (("key",), ("value",)),
}
"""Fields whose elements have a key and one value more: what those may be called."""


def shortened(values: Value, field: str = "") -> Value:
    """The values with mappings where a list has nothing but keys, each once, and values."""
    if isinstance(values, dict):
        return {name: shortened(value, name) for name, value in values.items()}
    if not isinstance(values, list):
        return values
    inner = [shortened(each) for each in values]
    names = _names(field, inner)
    if names is None:
        return inner
    found = {each[names[0]]: each[names[1]] for each in inner}
    return found if len(found) == len(inner) else inner


def _names(field: str, elements: list[Value]) -> tuple[str, str] | None:
    """What key and value are called in all of them."""
    if field not in SHORT or not elements or not isinstance(elements[0], dict):
        return None
    keys, values = SHORT[field]
    found = set(elements[0])
    key, value = next(iter(found & set(keys)), ""), next(iter(found & set(values)), "")
    if found != {key, value} or not all(set(each) == found and isinstance(each[key], int | str) for each in elements):
        return None
    return key, value


def lengthened(shape: type, values: Value) -> Value:
    """The values with lists again. What is no value of this shape stays as it is."""
    if not isinstance(values, dict):
        return values
    known = {field.name: field for field in fields_of(shape)}
    return {name: _long(known[name], value) if name in known else value for name, value in values.items()}


def _long(field: Field, value: Value) -> Value:
    if not is_dataclass(field.kind):
        return value
    shape: type = field.kind  # type: ignore[assignment]
    if not field.several:
        return lengthened(shape, value)
    if isinstance(value, dict):
        value = _elements(field.name, shape, value)
    return [lengthened(shape, each) for each in value] if isinstance(value, list) else value


def _elements(name: str, shape: type, mapping: dict[Value, Value]) -> Value:
    """The list that a mapping stands for; the mapping itself where it stands for none."""
    known = {field.name for field in fields_of(shape)}
    keys, values = ([each for each in names if each in known] for names in SHORT.get(name, ((), ())))
    if not keys or not values:
        return mapping
    return [{_key(keys, key): key, values[0]: content} for key, content in mapping.items()]


def _key(keys: list[str], key: Value) -> str:
    """An id begins with `$`, which no topic's name does."""
    return keys[0] if str(key).startswith("$") else keys[-1]
