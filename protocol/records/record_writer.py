"""Writer of records that follow the table of layouts, from dicts by field names or tuples in their order."""

import struct as packing
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from kohort.protocol.records.layouts import CONSUMER_OFFSETS
from kohort.protocol.records.schema import FIXED, Array, Struct, TopicLayouts
from kohort.protocol.wire import (
    SHORT,
    compact_bytes,
    compact_length,
    compact_string,
    four_bytes,
    string,
    tag,
    unsigned_varint,
)


class _Writer:
    __slots__ = ("_flexible", "_version", "parts")

    def __init__(self, version: int, flexible: bool) -> None:
        self.parts: list[bytes] = []
        self._version = version
        self._flexible = flexible

    def value(self, kind: Any, value: Any) -> None:
        if isinstance(kind, str):
            self.parts.append(self._primitive(kind, value))
        elif isinstance(kind, Array):
            count = -1 if value is None else len(value)
            self.parts.append(compact_length(count) if self._flexible else FIXED["int32"].pack(count))
            if kind.of == "int32" and count > 0:
                self.parts.append(packing.pack(f">{count}i", *value))
            elif count > 0:
                for element in value:
                    self.value(kind.of, element)
        else:
            if kind.nullable:
                self.parts.append(b"\xff" if value is None else b"\1")
            if value is not None:
                self.struct(kind, value)

    def _primitive(self, kind: str, value: Any) -> bytes:
        if kind in FIXED:
            return FIXED[kind].pack(value)
        if kind == "uuid":
            raw: bytes = value
            return raw
        if kind in ("string", "string?"):
            return compact_string(value) if self._flexible else string(value)
        return compact_bytes(value) if self._flexible else four_bytes(value)

    def struct(self, kind: Struct, values: Any) -> None:
        row = values
        if isinstance(values, dict):
            row = [values.get(field.name, field.default) for field in kind.fields]
        elif len(values) < len(kind.fields):
            row = [*values, *[field.default for field in kind.fields[len(values) :]]]
        position = 0
        for numbers, types, type_, _, _ in kind.steps(self._version):
            if numbers is not None:
                self.parts.append(numbers.pack(*row[position : position + len(types)]))
                position += len(types)
                continue
            if isinstance(type_, str):
                self.parts.append(self._primitive(type_, row[position]))
            elif type_ is not None:
                self.value(type_, row[position])
            position += 1
        if self._flexible:
            self._tags(kind, row)

    def _tags(self, kind: Struct, row: Sequence[Any]) -> None:
        tags: list[bytes] = []
        for number, (position, field) in kind.tagged.items():
            value = row[position]
            if value is None and isinstance(field.type, Struct):
                tags.append(tag(number, b"\0"))  # 4.3 writes the null out: the schema's default is an empty struct
            elif value != field.default:
                inner = _Writer(self._version, self._flexible)
                inner.value(field.type, value)
                tags.append(tag(number, b"".join(inner.parts)))
        self.parts.append(unsigned_varint(len(tags)))
        self.parts += tags


def encode_key(kind: int, key: Mapping[str, Any] | Sequence[Any], topic: TopicLayouts = CONSUMER_OFFSETS) -> bytes:
    return SHORT.pack(kind) + encode_fields(topic.keys[kind], key)


def encode_value(
    kind: int,
    version: int,
    value: Mapping[str, Any] | Sequence[Any],
    dialect: str = "",
    topic: TopicLayouts = CONSUMER_OFFSETS,
) -> bytes:
    """Encode a value. Fields that a tuple lacks at its end have their defaults."""
    layout = next(layout for layout in topic.values[kind] if layout.dialect == dialect)
    return SHORT.pack(version) + encode_fields(layout.body, value, version, flexible=version >= layout.flexible_from)


def encode_fields(
    fields: Struct, values: Mapping[str, Any] | Sequence[Any], version: int = 0, *, flexible: bool = False
) -> bytes:
    writer = _Writer(version, flexible)
    writer.struct(fields, values)
    return b"".join(writer.parts)


def encode_fields_in_steps(
    fields: Struct, values: Sequence[Any], elements_at_once: int
) -> Generator[None, None, bytes]:
    """Encode a struct of a flexible version that has no tagged fields. Yield after `elements_at_once` of an array."""
    writer = _Writer(0, flexible=True)
    for field, value in zip(fields.fields, values, strict=True):
        if not isinstance(field.type, Array):
            writer.value(field.type, value)
            continue
        writer.parts.append(compact_length(len(value)))
        for begin in range(0, len(value), elements_at_once):
            for element in value[begin : begin + elements_at_once]:
                writer.value(field.type.of, element)
            yield
    writer.parts.append(unsigned_varint(0))
    return b"".join(writer.parts)
