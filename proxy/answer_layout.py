"""Positions of broker addresses in responses: a walk over the bytes, compiled from kio's classes.

A walk is a generator. It yields when the bytes received so far end before the next field that it reads, and is resumed
when more have arrived. Skipped data, records above all, need not be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import Field, fields, is_dataclass
from functools import cache
from struct import Struct
from types import NoneType, UnionType
from typing import Any, Final, NamedTuple, get_args, get_origin

from kohort.protocol.errors import DecodeError
from kohort.proxy.addressed_apis import ADDRESSED, entity, known_versions

INT: Final = Struct(">i")
NODE_IDS: Final = ("node_id", "broker_id")  # Kafka's names for the node id next to a host and a port

STREAMED: Final = ("fetch", "share_fetch")
LISTING: Final = ("metadata", "describe_cluster")

CORRELATION_ID: Final = 4  # bytes at the start of a response header

_SIZES: Final = {
    "bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "error_code": 2, "int32": 4, "uint32": 4,
    "timedelta_i32": 4, "int64": 8, "uint64": 8, "float64": 8, "datetime_i64": 8, "timedelta_i64": 8, "uuid": 16,
}  # fmt: skip

Steps = Generator[None, None, None]


class Address(NamedTuple):
    """Host and port in a response. Positions count from the start of the response, without its length."""

    node_id: int
    host: str
    port: int
    start: int  # where the length of the host begins
    end: int  # after the port


class TaggedSize(NamedTuple):
    """Size of a tagged field that contains addresses."""

    start: int
    end: int  # where the value of the field begins
    value_end: int


class Walk:
    """Bytes of a response that have arrived and are still kept, and the addresses found in them."""

    __slots__ = (
        "addresses", "array", "at", "base", "data", "endpoint_type", "last_tag", "tagged_size", "tags_at", "tail_at",
    )  # fmt: skip

    def __init__(self) -> None:
        self.data = bytearray()
        self.base = 0  # position of the first byte of `data` in the response
        self.at = 0  # position of the walk; may be beyond the received bytes
        self.addresses: list[Address] = []
        self.array: tuple[int, int] | None = None  # start and end of the list of addresses
        self.tagged_size: TaggedSize | None = None  # of the tagged field that contains the list
        self.tail_at: int | None = None  # where the part with addresses begins; None before the walk reaches it
        # start and end of the count of the response's own tagged fields, and the count
        self.tags_at: tuple[int, int, int] | None = None
        self.endpoint_type = 1  # in DescribeCluster: 1 for addresses of brokers, 2 for those of controllers

    def need(self, size: int) -> Steps:
        """Yield until `size` bytes from `at` on have arrived."""
        while self.base + len(self.data) < self.at + size:
            yield

    def int8(self) -> int:
        value = self.data[self.at - self.base]
        self.at += 1
        return value

    def int32(self) -> int:
        (value,) = INT.unpack_from(self.data, self.at - self.base)
        self.at += 4
        return int(value)

    def text(self, start: int, end: int) -> str:
        return self.data[start - self.base : end - self.base].decode(errors="replace")


Part = Callable[[Walk], Steps]  # walks over one element that begins at `walk.at`


class Layout(NamedTuple):
    """Structure of the responses of one API and version."""

    walk: Part
    """From the header to after the last address, or to the end of a response that `streams`."""
    flexible: bool  # whether strings are compact (KIP-482)
    streams: bool
    """Whether a large response may be passed on during the walk: records come first, addresses last."""
    lists_all: bool  # whether it contains the addresses of all nodes


@cache
def layout_of(key: int, version: int) -> Layout | None:
    """Return the layout of a response, or None if it has no addresses."""
    name = ADDRESSED.get(key)
    if name is None or version not in known_versions(name):
        return None
    whole = entity(name, version)
    if not _has_address(whole):
        return None
    flexible: bool = whole.__flexible__
    body = _whole(whole, flexible, name in STREAMED)
    header = _tags({}) if flexible else None

    def walk(state: Walk) -> Steps:
        state.at = CORRELATION_ID
        if header is not None:
            yield from header(state)
        yield from body(state)

    return Layout(walk, flexible, name in STREAMED, name in LISTING)


def _has_address(cls: Any) -> bool:
    names = {field.name for field in fields(cls)}
    if {"host", "port"} <= names:
        return True
    return any(is_dataclass(inner) and _has_address(inner) for field in fields(cls) if (inner := _inner(field.type)))


def _inner(hint: Any) -> Any:
    """Return the class of a field, or of the elements of its list."""
    hint, _ = _without_none(hint)
    return _without_none(get_args(hint)[0])[0] if get_origin(hint) is tuple else hint


def _without_none(hint: Any) -> tuple[Any, bool]:
    if isinstance(hint, UnionType):
        (kept,) = (member for member in get_args(hint) if member is not NoneType)
        return kept, True
    return hint, False


# Structures


def _whole(cls: Any, flexible: bool, streams: bool) -> Part:
    """Return a walk over a response without its header, to after the last address or to its end."""
    parts: list[Part] = []
    tagged = any(map(_contains_addresses, _tagged(cls).values()))
    has_addresses = False
    for part, contains_addresses in _members(cls, flexible):
        if has_addresses and not (tagged or streams):
            break
        has_addresses = has_addresses or contains_addresses
        parts += [_tail, part] if contains_addresses else [part]
    if tagged or streams:
        parts += [_tail, _tags_of(cls, flexible, outermost=True)]
    return _sequence(_merged(parts))


def _entity(cls: Any, flexible: bool) -> Part:
    parts = [part for part, _ in _members(cls, flexible)]
    if flexible:
        parts.append(_tags_of(cls, flexible))
    return _sequence(_merged(parts))


def _members(cls: Any, flexible: bool) -> Iterator[tuple[Part, bool]]:
    """Yield the untagged fields of a class, each with whether it contains addresses. An address is one field."""
    members = [member for member in fields(cls) if "tag" not in member.metadata]
    names = [member.name for member in members]
    for number, member in enumerate(members):
        if member.name in NODE_IDS and names[number + 1 : number + 3] == ["host", "port"]:
            yield _address(flexible), True
        elif member.name == "endpoint_type":
            yield _endpoint_type, False
        elif member.name not in ("host", "port"):
            yield _field(member, flexible), _contains_addresses(member)


def _tagged(cls: Any) -> dict[int, Field[Any]]:
    return {field.metadata["tag"]: field for field in fields(cls) if "tag" in field.metadata}


def _tags_of(cls: Any, flexible: bool, *, outermost: bool = False) -> Part:
    addressed = {tag: _field(member, flexible) for tag, member in _tagged(cls).items() if _contains_addresses(member)}
    return _tags(addressed, outermost=outermost)


def _contains_addresses(member: Field[Any]) -> bool:
    inner = _inner(member.type)
    return is_dataclass(inner) and _has_address(inner)


def _field(member: Field[Any], flexible: bool) -> Part:
    hint, nullable = _without_none(member.type)
    if get_origin(hint) is tuple:
        inner, _ = _without_none(get_args(hint)[0])
        element = _entity(inner, flexible) if is_dataclass(inner) else _primitive(member, flexible)
        return _array(element, flexible, _contains_addresses(member))
    if is_dataclass(hint):
        part = _entity(hint, flexible)
        return _nullable(part) if nullable else part
    return _primitive(member, flexible)


class _Fixed:
    """Bytes of a fixed size."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, walk: Walk) -> Steps:
        walk.at += self.size
        return
        yield


def _merged(parts: list[Part]) -> list[Part]:
    """Merge adjacent elements of fixed size."""
    merged: list[Part] = []
    for part in parts:
        if isinstance(part, _Fixed) and merged and isinstance(merged[-1], _Fixed):
            merged[-1] = _Fixed(merged[-1].size + part.size)
        else:
            merged.append(part)
    return merged


def _sequence(parts: list[Part]) -> Part:
    if len(parts) == 1:
        return parts[0]

    def walk_over(walk: Walk) -> Steps:
        for part in parts:
            if isinstance(part, _Fixed):
                walk.at += part.size
            else:
                yield from part(walk)

    return walk_over


def _tail(walk: Walk) -> Steps:
    """Note that the part with addresses begins here."""
    if walk.tail_at is None:
        walk.tail_at = walk.at
    return
    yield


def _endpoint_type(walk: Walk) -> Steps:
    yield from walk.need(1)
    walk.endpoint_type = walk.int8()


def _address(flexible: bool) -> Part:
    length = _compact_length if flexible else _short_length

    def address(walk: Walk) -> Steps:
        yield from walk.need(4)
        node_id = walk.int32()
        start = walk.at
        size = yield from length(walk)
        host_at = walk.at
        yield from walk.need(max(size, 0) + 4)
        host = walk.text(host_at, host_at + max(size, 0))
        walk.at += max(size, 0)
        port = walk.int32()
        walk.addresses.append(Address(node_id, host, port, start, walk.at))

    return address


def _nullable(part: Part) -> Part:
    """Return a walk over a structure after a byte that shows whether it is null (KIP-893)."""

    def nullable(walk: Walk) -> Steps:
        yield from walk.need(1)
        if walk.int8() != 0xFF:
            yield from part(walk)

    return nullable


def _array(element: Part, flexible: bool, contains_addresses: bool) -> Part:
    def array(walk: Walk) -> Steps:
        start = walk.at
        if flexible:
            count = (yield from _varint(walk)) - 1
        else:
            yield from walk.need(4)
            count = walk.int32()
        if isinstance(element, _Fixed):
            walk.at += max(count, 0) * element.size
        else:
            for _ in range(count):
                yield from element(walk)
        if contains_addresses:
            walk.array = start, walk.at

    return array


def _tags(addressed: dict[int, Part], *, outermost: bool = False) -> Part:
    def tags(walk: Walk) -> Steps:
        start = walk.at
        count = yield from _varint(walk)
        if outermost:
            walk.tags_at = start, walk.at, count
        for _ in range(count):
            tag = yield from _varint(walk)
            size_at = walk.at
            size = yield from _varint(walk)
            value_at = walk.at
            if tag in addressed:
                yield from addressed[tag](walk)
                walk.tagged_size = TaggedSize(size_at, value_at, value_at + size)
            walk.at = value_at + size

    return tags


# Primitives


def _primitive(member: Field[Any], flexible: bool) -> Part:
    kafka_type = member.metadata["kafka_type"]
    if kafka_type in _SIZES:
        return _Fixed(_SIZES[kafka_type])
    if flexible:
        return _skip_by(_compact_length)
    return _skip_by(_short_length if kafka_type == "string" else _int_length)


def _skip_by(length: Callable[[Walk], Generator[None, None, int]]) -> Part:
    def skip(walk: Walk) -> Steps:
        size = yield from length(walk)
        walk.at += max(size, 0)

    return skip


def _compact_length(walk: Walk) -> Generator[None, None, int]:
    return (yield from _varint(walk)) - 1


def _short_length(walk: Walk) -> Generator[None, None, int]:
    yield from walk.need(2)
    size = walk.int8() << 8 | walk.int8()
    return -1 if size >= 0x8000 else size


def _int_length(walk: Walk) -> Generator[None, None, int]:
    yield from walk.need(4)
    return walk.int32()


def _varint(walk: Walk) -> Generator[None, None, int]:
    value = 0
    for shift in (0, 7, 14, 21, 28):
        if walk.base + len(walk.data) <= walk.at:
            yield from walk.need(1)
        byte = walk.int8()
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value
    raise DecodeError("a varint longer than five bytes")
