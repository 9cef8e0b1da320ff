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
}  # fields whose elements have a key and one other value: possible names of these


def shortened(values: Value, field: str = "") -> Value:
    """Return the values with mappings in place of lists whose elements only have distinct keys and values."""
    if isinstance(values, dict):
        return {name: shortened(value, name) for name, value in values.items()}
    if not isinstance(values, list):
        return values
    inner = [shortened(item) for item in values]
    names = _names(field, inner)
    if names is None:
        return inner
    pair = {item[names[0]]: item[names[1]] for item in inner}
    return pair if len(pair) == len(inner) else inner


def _names(field: str, elements: list[Value]) -> tuple[str, str] | None:
    """Return the common names of key and value of all elements, or None."""
    if field not in SHORT or not elements or not isinstance(elements[0], dict):
        return None
    keys, values = SHORT[field]
    names_ = set(elements[0])
    key, value = next(iter(names_ & set(keys)), ""), next(iter(names_ & set(values)), "")
    if names_ != {key, value} or not all(
        set(element) == names_ and isinstance(element[key], int | str) for element in elements
    ):
        return None
    return key, value


def lengthened(shape: type, values: Value) -> Value:
    """Return the values with lists again. Values of other shapes stay."""
    if not isinstance(values, dict):
        return values
    fields = {field.name: field for field in fields_of(shape)}
    return {name: _long(fields[name], value) if name in fields else value for name, value in values.items()}


def _long(field: Field, value: Value) -> Value:
    if not is_dataclass(field.kind):
        return value
    shape: type = field.kind  # type: ignore[assignment]
    if not field.several:
        return lengthened(shape, value)
    if isinstance(value, dict):
        value = _elements(field.name, shape, value)
    return [lengthened(shape, item) for item in value] if isinstance(value, list) else value


def _elements(name: str, shape: type, mapping: dict[Value, Value]) -> Value:
    """Return the list for a mapping, or the mapping itself if no list has this short form."""
    fields = {field.name for field in fields_of(shape)}
    keys, values = ([member for member in names if member in fields] for names in SHORT.get(name, ((), ())))
    if not keys or not values:
        return mapping
    return [{_key(keys, key): key, values[0]: content} for key, content in mapping.items()]


def _key(keys: list[str], key: Value) -> str:
    """Return the field of a key: an id begins with `$`, a topic's name does not."""
    return keys[0] if str(key).startswith("$") else keys[-1]
