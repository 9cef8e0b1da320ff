"""Reader of records that follow the table of layouts.

A structure is a dict by Kafka's field names, or a tuple in the order of the layout, whose values are then tuples, too.
"""

import struct as packing
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, Protocol

from kohort.protocol.records.layouts import CONSUMER_OFFSETS
from kohort.protocol.records.schema import FIXED, Array, Layout, RecordError, Step, Struct, TopicLayouts
from kohort.protocol.wire import SHORT

Value = dict[str, Any]


class Decoded(NamedTuple):
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
    unknown_tags: Sequence[tuple[str, int, bytes]] = ()
    dialect: str = ""


class Elements(Protocol):
    """Container of the elements of a long array."""

    def append(self, fields: tuple[Any, ...], /) -> None: ...


class RecordReader:
    """Reads values from the front of a record. Each method raises RecordError for bytes that do not match."""

    __slots__ = ("_data", "_end", "_flexible", "_named", "_version", "at", "unknown_tags")

    def __init__(self, data: bytes, at: int = 0, version: int = 0, flexible: bool = False, named: bool = False) -> None:
        """Begin to read at `at`.

        Args:
            named: Return structures as dicts and arrays as lists, instead of tuples.
        """
        self.at = at
        self.unknown_tags: list[tuple[str, int, bytes]] = []
        self._data = data
        self._end = len(data)
        self._version = version
        self._flexible = flexible
        self._named = named

    def remaining(self) -> int:
        return self._end - self.at

    def take(self, size: int) -> bytes:
        at = self.at
        if size < 0 or at + size > self._end:
            raise RecordError(f"{size} bytes wanted, {self._end - at} left")
        self.at = at + size
        return self._data[at : at + size]

    def int8(self) -> int:
        return self._fixed("int8")

    def int16(self) -> int:
        return self._fixed("int16")

    def int32(self) -> int:
        return self._fixed("int32")

    def int64(self) -> int:
        return self._fixed("int64")

    def _fixed(self, name: str) -> int:
        shape = FIXED[name]
        try:
            value: int = shape.unpack_from(self._data, self.at)[0]
        except packing.error:
            raise RecordError(f"ends inside an {name}") from None
        self.at += shape.size
        return value

    def unsigned_varint(self) -> int:
        at = self.at
        if at < self._end and self._data[at] < 0x80:  # most lengths
            self.at = at + 1
            return self._data[at]
        result = 0
        for shift in range(0, 35, 7):
            if self.at >= self._end:
                raise RecordError("ends inside a varint")
            byte = self._data[self.at]
            self.at += 1
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result
        raise RecordError("a varint longer than five bytes")

    def string(self) -> str:
        value = self._text(nullable=False)
        assert value is not None
        return value

    def _length(self, plain: str) -> int:
        return self.unsigned_varint() - 1 if self._flexible else self._fixed(plain)

    def _text(self, nullable: bool) -> str | None:
        size = self._length("int16")
        if size < 0:
            if nullable and size == -1:
                return None
            raise RecordError("null where a string must be")
        try:
            return self.take(size).decode()
        except UnicodeDecodeError as error:
            raise RecordError(f"a string that isn't UTF-8: {error.reason}") from None

    def _blob(self, nullable: bool) -> bytes | None:
        size = self._length("int32")
        if size < 0:
            if nullable and size == -1:
                return None
            raise RecordError("null where bytes must be")
        return self.take(size)

    def value(self, kind: Any, path: str = "") -> Any:
        """Read a primitive by its name, an `Array` or a `Struct`.

        Args:
            path: Names of the surrounding fields, for errors and unknown tags.
        """
        if isinstance(kind, str):
            return self._primitive(kind)
        if isinstance(kind, Array):
            return self._array(kind, path)
        if kind.nullable:
            presence = self.int8()
            if presence == -1:
                return None
            if presence != 1:
                raise RecordError(f"{path}: presence byte {presence}")
        return self.struct(kind, path)

    def _primitive(self, kind: str) -> Any:
        if kind == "string":
            return self._text(False)
        if kind == "string?":
            return self._text(True)
        if kind in FIXED:
            return self._fixed(kind)
        return self.take(16) if kind == "uuid" else self._blob(kind == "bytes?")

    def count(self, path: str = "") -> int:
        """Read the length of an array, which is -1 for null. It is bounded: each element has at least one byte."""
        count = self._length("int32")
        if count > self._end - self.at:
            raise RecordError(f"{path}: {count} elements in {self._end - self.at} bytes")
        return count

    def _array(self, kind: Array, path: str) -> Any:
        count = self.count(path)
        if count < 0:
            if kind.nullable and count == -1:
                return None
            raise RecordError(f"{path}: null where an array must be")
        values: Sequence[Any]
        if kind.of == "int32":
            values = packing.unpack(f">{count}i", self.take(4 * count))
        else:
            values = [self.value(kind.of, path) for _ in range(count)]
        return list(values) if self._named else tuple(values)

    def struct(self, kind: Struct, path: str = "") -> Any:
        values = self._untagged(kind.steps(self._version), path)
        if self._flexible:
            self._tags(kind, values, path)
        return dict(zip(kind.names, values, strict=True)) if self._named else tuple(values)

    def struct_in_steps(
        self, kind: Struct, elements: Elements, pause: Callable[[], bool]
    ) -> Generator[None, None, tuple[Any, ...]]:
        """Read a structure that ends with a long array.

        Args:
            elements: Receives the fields of each element, and is returned for the array.
            pause: Called after each element; if it returns True, this generator yields.
        """
        *steps, last = kind.steps(self._version)
        values = self._untagged(steps, "")
        for _ in range(self.count()):
            elements.append(self.struct(last.type.of))
            if pause():
                yield
        values.append(elements)
        self._tags(kind, values, "")
        return tuple(values)

    def _untagged(self, steps: list[Step], path: str) -> list[Any]:
        values: list[Any] = []
        for numbers, types, type_, name, default in steps:
            if numbers is not None:
                try:
                    values += numbers.unpack_from(self._data, self.at)
                except packing.error:
                    values += [self._fixed(number) for number in types]  # raises the error of the number that is cut
                self.at += numbers.size
            elif type_ is None:
                values.append(default)
            elif isinstance(type_, str):
                values.append(self._primitive(type_))
            else:
                values.append(self.value(type_, f"{path}.{name}"))
        return values

    def _tags(self, kind: Struct, values: list[Any], path: str) -> None:
        for _ in range(self.unsigned_varint()):
            number, size = self.unsigned_varint(), self.unsigned_varint()
            if number not in kind.tagged:
                self.unknown_tags.append((path, number, self.take(size)))
                continue
            position, field = kind.tagged[number]
            stop = self.at + size
            if isinstance(field.type, Struct) and self._data[self.at : stop] == b"\0":
                self.at = stop  # null is one byte zero here, not the -1 of a plain field
            else:
                values[position] = self.value(field.type, f"{path}.{field.name}")
            if self.at != stop:
                raise RecordError(f"{path}: tag {number} is {size} bytes long, not {size + self.at - stop}")


def decode(key: bytes | None, value: bytes | None, topic: TopicLayouts = CONSUMER_OFFSETS) -> Decoded:
    """Decode a record completely, with dicts. The dialects are tried in their order.

    Raises:
        RecordError: No layout matches.
    """
    if key is None:
        raise RecordError("no key")
    kind, key_fields = _read_key(key, topic)
    if value is None:
        return Decoded(kind, key_fields)
    version = _version_of(value)
    first_error: RecordError | None = None
    for layout in topic.values.get(kind, ()):
        if not layout.versions[0] <= version <= layout.versions[1]:
            continue
        reader = RecordReader(value, 2, version, version >= layout.flexible_from, True)
        try:
            fields = reader.struct(layout.body)
            if reader.remaining():
                raise RecordError(f"{reader.remaining()} bytes after the value")
        except RecordError as error:
            first_error = first_error or error
            continue
        return Decoded(kind, key_fields, version, fields, reader.unknown_tags, layout.dialect)
    raise first_error or RecordError(f"type {kind} has no value version {version} that we know")


def decode_key(key: bytes) -> Decoded:
    """Decode the type and key of a record of `__consumer_offsets`.

    Raises:
        RecordError: No layout matches.
    """
    return Decoded(*_read_key(key, CONSUMER_OFFSETS))


def _read_key(key: bytes, topic: TopicLayouts) -> tuple[int, Value]:
    if len(key) < 2:
        raise RecordError("a key without a type")
    kind = SHORT.unpack_from(key)[0]
    if kind not in topic.keys:
        raise RecordError(f"record type {kind} is not known")
    reader = RecordReader(key, 2, named=True)
    fields = reader.struct(topic.keys[kind])
    if reader.remaining():
        raise RecordError(f"{reader.remaining()} bytes after the key")
    return kind, fields


def read_value(layout: Layout, value: bytes) -> tuple[Any, ...]:
    """Return the fields of a value as a tuple. Bytes after the value are ignored, as in Kafka.

    Raises:
        RecordError: The version is unknown, or the layout does not match.
    """
    version = _version_of(value)
    first, last = layout.versions
    if not first <= version <= last:
        raise RecordError(f"unsupported version {version} of a value; expected {first} to {last}")
    reader = RecordReader(value, 2, version, version >= layout.flexible_from)
    fields: tuple[Any, ...] = reader.struct(layout.body)
    return fields


def read_fields(fields: Struct, version: int, data: bytes, at: int) -> tuple[Value, int]:
    """Return a part of a value without compact lengths as a dict, and its end.

    Raises:
        RecordError: The layout does not match.
    """
    reader = RecordReader(data, at, version, named=True)
    return reader.struct(fields), reader.at


def _version_of(value: bytes) -> int:
    if len(value) < 2:
        raise RecordError("a value without a version")
    version: int = SHORT.unpack_from(value)[0]
    return version
