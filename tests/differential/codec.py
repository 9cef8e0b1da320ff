"""Requests to bytes and answers to values, for every API and version, by the fields of kio's classes.

The bytes are written and read here, neither by kio nor by kohort, so that a mistake of theirs shows, and so that odd
numbers fit which their classes refuse. Values are plain: fields have Kafka's names, ids are text, moments and lengths
numbers of milliseconds, errors names, and bytes text as in a conversation (`tests/talk/values.py`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from datetime import timedelta
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints
from uuid import UUID

from kio.static.constants import EntityType

from kohort.protocol.api_keys import API_BY_NAME, ApiSpec
from kohort.protocol.codec import entity_of
from kohort.protocol.errors import ErrorCode
from tests.talk.values import Value, from_bytes, to_bytes, to_text

NO_ID = str(UUID(int=0))
INTEGERS = {
    "int8": ">b",
    "int16": ">h",
    "int32": ">i",
    "int64": ">q",
    "uint16": ">H",
    "uint32": ">I",
    "error_code": ">h",
    "timedelta_i32": ">i",
    "timedelta_i64": ">q",
    "datetime_i64": ">q",
    "bool": ">b",
    "float64": ">d",
}
IN_MS = {"timedelta_i32", "timedelta_i64", "datetime_i64"}
"""kio's names of these fields lack the `_ms` that Kafka's have."""


class Unreadable(Exception):
    """An answer that is not what it should be."""


class Field(NamedTuple):
    """One field of a structure. `kind` is kio's name of the type; None: a structure."""

    name: str
    kind: str | None
    structure: type | None
    is_array: bool
    nullable: bool
    tag: int | None
    default: Any
    """Default value in Kafka's schema, or MISSING."""


class Shape(NamedTuple):
    """The fields of one structure."""

    flexible: bool
    fields: tuple[Field, ...]


def spec_of(api: str) -> ApiSpec:
    return API_BY_NAME[_snake(api)]


@cache
def request_of(api: str, version: int) -> type:
    return _entity(api, version, "request")


@cache
def response_of(api: str, version: int) -> type:
    return _entity(api, version, "response")


def _entity(api: str, version: int, direction: str) -> type:
    entity: type = entity_of(_snake(api), version, EntityType[direction])
    return entity


@cache
def _snake(api: str) -> str:
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in api).lstrip("_")


@cache
def shape_of(entity: type) -> Shape:
    hints = get_type_hints(entity)
    found = []
    for member in fields(entity):
        hint, nullable = _without_none(hints[member.name])
        is_array = get_origin(hint) is tuple
        inner = get_args(hint)[0] if is_array else hint
        inner, _ = _without_none(inner)
        kind = member.metadata.get("kafka_type")
        name = f"{member.name}_ms" if kind in IN_MS else member.name
        structure = inner if is_dataclass(inner) else None
        tag = member.metadata.get("tag")
        nullable = nullable and kind not in ("uuid", *IN_MS)
        found.append(Field(name, kind, structure, is_array, nullable, tag, member.default))  # type: ignore[arg-type]
    return Shape(entity.__flexible__, tuple(found))  # type: ignore[attr-defined]


def _without_none(hint: Any) -> tuple[Any, bool]:
    if isinstance(hint, UnionType):
        return next(arg for arg in get_args(hint) if arg is not NoneType), True
    return hint, False


# Requests


def write_request(api: str, version: int, correlation_id: int, client_id: str, values: Value) -> bytes:
    """Encode a whole frame. Raises ValueError or struct.error for values that cannot be encoded."""
    shape = shape_of(request_of(api, version))
    header = struct.pack(">hhi", spec_of(api).key, version, correlation_id) + _short(client_id)
    frame = header + (b"\0" if shape.flexible else b"") + _write_structure(shape, values)
    return struct.pack(">i", len(frame)) + frame


def _write_structure(shape: Shape, values: Value) -> bytes:
    unknown = values.keys() - {field.name for field in shape.fields}
    if unknown:
        raise ValueError(f"unknown field {', '.join(sorted(unknown))}")
    parts, tagged = [], []
    for field in shape.fields:
        if field.tag is None:
            parts.append(_write_field(field, values.get(field.name, MISSING), shape.flexible))
        elif field.name in values:
            tagged.append((field.tag, _write_field(field, values[field.name], shape.flexible)))
    if shape.flexible:
        parts.append(_varint(len(tagged)))
        parts += [_varint(tag) + _varint(len(data)) + data for tag, data in sorted(tagged)]
    return b"".join(parts)


def _write_field(field: Field, value: Value, flexible: bool) -> bytes:
    if value is MISSING:
        value = default_of(field)
    if not field.is_array:
        return _write_value(field, value, flexible)
    if value is None:
        return _length(None, ">i", flexible)
    return _length(len(value), ">i", flexible) + b"".join(_write_value(field, item, flexible) for item in value)


def _write_value(field: Field, value: Value, flexible: bool) -> bytes:
    if field.structure is not None:
        present = b"" if field.is_array or not field.nullable else (b"\xff" if value is None else b"\x01")
        return present if value is None else present + _write_structure(shape_of(field.structure), value)
    if field.kind == "uuid":
        return UUID(value or NO_ID).bytes
    if field.kind == "string":
        data = None if value is None else to_text(value).encode()
        return _length(None if data is None else len(data), ">h", flexible) + (data or b"")
    if field.kind in ("bytes", "records"):
        data = None if value is None else to_bytes(value)
        return _length(None if data is None else len(data), ">i", flexible) + (data or b"")
    return struct.pack(INTEGERS[str(field.kind)], value)


def default_of(field: Field) -> Value:
    """Return a field's default in the schema, or the empty value of its type."""
    if field.nullable and not isinstance(field.default, str | int | tuple):
        return None
    if field.is_array:
        return []
    if field.structure is not None:
        return {}
    if isinstance(field.default, str | int):
        return field.default
    if field.kind in IN_MS:
        return field.default // timedelta(milliseconds=1) if isinstance(field.default, timedelta) else 0
    return {"string": "", "bytes": "", "records": "", "uuid": None}.get(str(field.kind), 0)


def _length(length: int | None, form: str, flexible: bool) -> bytes:
    if flexible:
        return _varint(0 if length is None else length + 1)
    return struct.pack(form, -1 if length is None else length)


def _varint(number: int) -> bytes:
    data = b""
    while number > 0x7F:
        data += bytes([number & 0x7F | 0x80])
        number >>= 7
    return data + bytes([number])


def _short(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()


# Answers


def read_answer(api: str, version: int, frame: bytes) -> Value:
    """Decode a response given without its length. Raises Unreadable, also for trailing bytes."""
    if api == "ApiVersions" and frame[4:6] == b"\0\x23":
        version = 0  # the refusal of a version has the form of the oldest (KIP-511)
    shape = shape_of(response_of(api, version))
    reader = _Reader(frame, 4)
    try:
        if shape.flexible and api != "ApiVersions":
            reader.skip_tags()
        values = reader.structure(shape)
    except (struct.error, IndexError, UnicodeDecodeError) as problem:
        raise Unreadable(f"{api} v{version} cannot be read, {problem!r}: {frame.hex()}") from problem
    if reader.at != len(frame):
        raise Unreadable(f"{api} v{version} has {len(frame) - reader.at} bytes too many: {frame.hex()}")
    return values


class _Reader:
    def __init__(self, data: bytes, at: int) -> None:
        self.data = data
        self.at = at

    def structure(self, shape: Shape) -> Value:
        values = {field.name: self._field(field, shape.flexible) for field in shape.fields if field.tag is None}
        if shape.flexible:
            tagged = {field.tag: field for field in shape.fields if field.tag is not None}
            for _ in range(self._varint()):
                tag, length = self._varint(), self._varint()
                if tag in tagged:
                    values[tagged[tag].name] = self._field(tagged[tag], True)
                else:
                    values[f"tag_{tag}"] = from_bytes(self._take(length))
        return values

    def skip_tags(self) -> None:
        for _ in range(self._varint()):
            self._varint()
            self._take(self._varint())

    def _field(self, field: Field, flexible: bool) -> Value:
        if not field.is_array:
            return self._value(field, flexible)
        count = self._length(">i", flexible)
        return None if count is None else [self._value(field, flexible) for _ in range(count)]

    def _value(self, field: Field, flexible: bool) -> Value:
        if field.structure is not None:
            if field.nullable and not field.is_array and self._number(">b") < 0:
                return None
            return self.structure(shape_of(field.structure))
        if field.kind == "uuid":
            return str(UUID(bytes=self._take(16)))
        if field.kind in ("string", "bytes", "records"):
            length = self._length(">h" if field.kind == "string" else ">i", flexible)
            return None if length is None else READ_BYTES[field.kind](self._take(length))
        number = self._number(INTEGERS[str(field.kind)])
        if field.kind == "error_code":
            return error_name(int(number))
        return bool(number) if field.kind == "bool" else number

    def _length(self, form: str, flexible: bool) -> int | None:
        length = self._varint() - 1 if flexible else int(self._number(form))
        return None if length < 0 else length

    def _number(self, form: str) -> float:
        number: float = struct.unpack_from(form, self.data, self.at)[0]
        self.at += struct.calcsize(form)
        return number

    def _varint(self) -> int:
        number = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return number

    def _take(self, length: int) -> bytes:
        if self.at + length > len(self.data):
            raise IndexError(f"{length} bytes wanted at {self.at}")
        self.at += length
        return self.data[self.at - length : self.at]


def error_name(number: int) -> str:
    try:
        return ErrorCode(number).name.upper()
    except ValueError:
        return str(number)


BATCH_HEADER = struct.Struct(">qiibIhiqqqhii")


def read_batches(data: bytes) -> list[Value]:
    """Return the header fields of record batches without sums and sizes, and their records as text."""
    found: list[Value] = []
    at = 0
    while at + BATCH_HEADER.size <= len(data):
        header = BATCH_HEADER.unpack_from(data, at)
        base_offset, length, epoch, magic, _, attributes, last, first_at, last_at, producer_id, producer_epoch = header[
            :11
        ]
        batch = {"base_offset": base_offset, "partition_leader_epoch": epoch, "magic": magic, "attributes": attributes}
        batch |= {"last_offset_delta": last, "base_timestamp": first_at, "max_timestamp": last_at}
        batch |= {"producer_id": producer_id, "producer_epoch": producer_epoch, "base_sequence": header[11]}
        whole = at + 12 + length <= len(data)
        batch["count"] = header[12]
        batch["payload"] = data[at + BATCH_HEADER.size : at + 12 + length].hex() if whole else "cut off"
        found.append(batch)
        at += 12 + length
    return found


READ_BYTES: dict[str, Callable[[bytes], Value]] = {
    "string": lambda data: data.decode(),
    "bytes": from_bytes,
    "records": read_batches,
}
