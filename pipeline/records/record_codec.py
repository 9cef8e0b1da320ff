"""Reader and writer of records by the table of layouts: the reference for the fast paths."""

from __future__ import annotations

import base64
import struct as packing
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kohort.pipeline.records.layouts import KEYS, VALUES
from kohort.pipeline.records.schema import Array, Field, Layout, RecordError, Struct
from kohort.protocol.wire import unsigned_varint

Value = dict[str, Any]

_FIXED = {
    name: packing.Struct(code)
    for name, code in {
        "int8": ">b",
        "int16": ">h",
        "uint16": ">H",
        "int32": ">i",
        "int64": ">q",
    }.items()
}


@dataclass(slots=True)
class Decoded:
    """A decoded record.

    Attributes:
        version: Value version, or None for a tombstone, like `value`.
        unknown_tags: Tags that no layout contains, as (path, tag, bytes); the rest of the record is valid.
        dialect: Empty for current Apache Kafka.
    """

    type: int
    key: Value
    version: int | None = None
    value: Value | None = None
    unknown_tags: list[tuple[str, int, bytes]] = field(default_factory=list)
    dialect: str = ""


class _Reader:
    __slots__ = ("at", "data", "end", "flexible", "unknown_tags", "version")

    def __init__(self, data: bytes, at: int = 0, version: int = 0, flexible: bool = False) -> None:
        self.data, self.at, self.end = data, at, len(data)
        self.version, self.flexible = version, flexible
        self.unknown_tags: list[tuple[str, int, bytes]] = []

    def fixed(self, name: str) -> int:
        shape = _FIXED[name]
        if self.at + shape.size > self.end:
            raise RecordError(f"ends inside an {name}")
        value: int = shape.unpack_from(self.data, self.at)[0]
        self.at += shape.size
        return value

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > self.end:
            raise RecordError(f"{size} bytes wanted, {self.end - self.at} left")
        self.at += size
        return self.data[self.at - size : self.at]

    def unsigned_varint(self) -> int:
        result = 0
        for shift in range(0, 35, 7):
            if self.at >= self.end:
                raise RecordError("ends inside a varint")
            byte = self.data[self.at]
            self.at += 1
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result
        raise RecordError("a varint longer than five bytes")

    def length(self, plain: str) -> int:
        return self.unsigned_varint() - 1 if self.flexible else self.fixed(plain)

    def text(self, nullable: bool) -> str | None:
        size = self.length("int16")
        if size < 0:
            if nullable and size == -1:
                return None
            raise RecordError("null where a string must be")
        try:
            return self.take(size).decode()
        except UnicodeDecodeError as error:
            raise RecordError(f"a string that isn't UTF-8: {error.reason}") from None

    def blob(self, nullable: bool) -> bytes | None:
        size = self.length("int32")
        if size < 0:
            if nullable and size == -1:
                return None
            raise RecordError("null where bytes must be")
        return self.take(size)

    def value(self, kind: Any, path: str) -> Any:
        if isinstance(kind, Array):
            return self.array(kind, path)
        if isinstance(kind, Struct):
            if kind.nullable:
                presence = self.fixed("int8")
                if presence == -1:
                    return None
                if presence != 1:
                    raise RecordError(f"{path}: presence byte {presence}")
            return self.struct(kind, path)
        if kind in _FIXED:
            return self.fixed(kind)
        if kind == "uuid":
            return self.take(16)
        if kind in ("string", "string?"):
            return self.text(kind == "string?")
        return self.blob(kind == "bytes?")

    def array(self, kind: Array, path: str) -> list[Any] | None:
        count = self.length("int32")
        if count < 0:
            if kind.nullable and count == -1:
                return None
            raise RecordError(f"{path}: null where an array must be")
        if count > self.end - self.at:  # an element has at least one byte
            raise RecordError(f"{path}: {count} elements in {self.end - self.at} bytes")
        if kind.of == "int32":
            return list(packing.unpack(f">{count}i", self.take(4 * count)))
        return [self.value(kind.of, path) for _ in range(count)]

    def struct(self, kind: Struct, path: str = "") -> Value:
        result: Value = {}
        tagged: dict[int, Field] = {}
        for member in kind.fields:
            present = member.since <= self.version <= member.until
            if present and member.tag is None:
                result[member.name] = self.value(member.type, f"{path}.{member.name}")
                continue
            result[member.name] = member.default
            if present and member.tag is not None:
                tagged[member.tag] = member
        if self.flexible:
            self.tags(tagged, result, path)
        return result

    def tags(self, fields: dict[int, Field], result: Value, path: str) -> None:
        for _ in range(self.unsigned_varint()):
            tag, size = self.unsigned_varint(), self.unsigned_varint()
            member = fields.get(tag)
            if member is None:
                self.unknown_tags.append((path, tag, self.take(size)))
                continue
            stop = self.at + size
            if isinstance(member.type, Struct) and self.data[self.at : stop] == b"\0":
                self.at = stop  # null is one byte zero here, not the -1 of a plain field
            else:
                result[member.name] = self.value(member.type, f"{path}.{member.name}")
            if self.at != stop:
                raise RecordError(f"{path}: tag {tag} is {size} bytes long, not {size + self.at - stop}")


def decode(
    key: bytes | None,
    value: bytes | None,
    keys: Mapping[int, Struct] = KEYS,
    values: Mapping[int, tuple[Layout, ...]] = VALUES,
) -> Decoded:
    """Decode a record of `__consumer_offsets`, or of the topic with the given layouts.

    Raises:
        RecordError: No layout matches.
    """
    if key is None:
        raise RecordError("no key")
    decoded = decode_key(key, keys)
    if value is None:
        return decoded
    if len(value) < 2:
        raise RecordError("a value without a version")
    decoded.version = version = packing.unpack_from(">h", value)[0]
    layouts = [layout for layout in values.get(decoded.type, ()) if layout.versions[0] <= version <= layout.versions[1]]
    if not layouts:
        raise RecordError(f"type {decoded.type} has no value version {version} that we know")
    first_error: RecordError | None = None
    for layout in layouts:
        try:
            decoded.value, decoded.unknown_tags = _read_layout(layout, version, value)
        except RecordError as error:
            first_error = first_error or error
            continue
        decoded.dialect = layout.dialect
        return decoded
    assert first_error is not None
    raise first_error


def decode_key(key: bytes, keys: Mapping[int, Struct] = KEYS) -> Decoded:
    """Decode the type and key of a record.

    Raises:
        RecordError: No layout matches.
    """
    if len(key) < 2:
        raise RecordError("a key without a type")
    kind = packing.unpack_from(">h", key)[0]
    if kind not in keys:
        raise RecordError(f"record type {kind} is not known")
    reader = _Reader(key, 2)
    result = reader.struct(keys[kind])
    if reader.at != reader.end:
        raise RecordError(f"{reader.end - reader.at} bytes after the key")
    return Decoded(kind, result)


def read_fields(fields: Struct, version: int, data: bytes, at: int) -> tuple[Value, int]:
    """Return a part of a value without compact lengths, and its end.

    Raises:
        RecordError: The layout does not match.
    """
    reader = _Reader(data, at, version)
    return reader.struct(fields), reader.at


def _read_layout(layout: Layout, version: int, value: bytes) -> tuple[Value, list[tuple[str, int, bytes]]]:
    reader = _Reader(value, 2, version, version >= layout.flexible_from)
    result = reader.struct(layout.body)
    if reader.at != reader.end:
        raise RecordError(f"{reader.end - reader.at} bytes after the value")
    return result, reader.unknown_tags


# --- the other direction: tests, the generator of synthetic logs, and decoded exports need bytes again


class _Writer:
    __slots__ = ("flexible", "parts", "version")

    def __init__(self, version: int = 0, flexible: bool = False) -> None:
        self.parts: list[bytes] = []
        self.version, self.flexible = version, flexible

    def length(self, size: int, plain: str) -> None:
        self.parts.append(unsigned_varint(size + 1) if self.flexible else _FIXED[plain].pack(size))

    def value(self, kind: Any, value: Any) -> None:
        if isinstance(kind, Array):
            self.length(-1 if value is None else len(value), "int32")
            for element in value or ():
                self.value(kind.of, element)
        elif isinstance(kind, Struct):
            if kind.nullable:
                self.parts.append(b"\xff" if value is None else b"\1")
            if value is not None:
                self.struct(kind, value)
        elif kind in _FIXED:
            self.parts.append(_FIXED[kind].pack(value))
        elif kind == "uuid":
            self.parts.append(value)
        else:
            blob = value.encode() if isinstance(value, str) else value
            self.length(-1 if blob is None else len(blob), "int16" if kind.startswith("string") else "int32")
            self.parts.append(blob or b"")

    def struct(self, kind: Struct, values: Value) -> None:
        tags: list[tuple[int, bytes]] = []
        for member in kind.fields:
            if not member.since <= self.version <= member.until:
                continue
            value = values.get(member.name, member.default)
            if member.tag is None:
                self.value(member.type, value)
            elif value is None and isinstance(member.type, Struct):
                tags.append((member.tag, b"\0"))  # 4.3 writes the null out: the schema's default is an empty struct
            elif value != member.default:
                inner = _Writer(self.version, self.flexible)
                inner.value(member.type, value)
                tags.append((member.tag, b"".join(inner.parts)))
        if self.flexible:
            self.parts.append(unsigned_varint(len(tags)))
            for tag, payload in tags:
                self.parts += (unsigned_varint(tag), unsigned_varint(len(payload)), payload)


def encode_key(kind: int, key: Value) -> bytes:
    writer = _Writer()
    writer.struct(KEYS[kind], key)
    return packing.pack(">h", kind) + b"".join(writer.parts)


def encode_value(kind: int, version: int, value: Value, dialect: str = "") -> bytes:
    layout = next(layout for layout in VALUES[kind] if layout.dialect == dialect)
    writer = _Writer(version, version >= layout.flexible_from)
    writer.struct(layout.body, value)
    return packing.pack(">h", version) + b"".join(writer.parts)


def kafka_uuid(raw: bytes) -> str:
    """Return a topic id as Kafka prints it: base64 for URLs, without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def uuid_bytes(text: str) -> bytes:
    """Parse a topic id, in Kafka's 22 letters or in hexadecimal with dashes."""
    return base64.urlsafe_b64decode(text + "==") if len(text) == 22 else uuid.UUID(text).bytes
