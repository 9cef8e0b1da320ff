"""Looks over a request before kio reads it, and takes out what kio does not know.

kio's reader is fast, but trusts the bytes in three ways (seen in 0.6.5):

- it allocates what an array announces, and a count in the thousands of millions ends the whole process; so every count
  is compared with the bytes that are left first;
- it takes a null for an array that must not be null;
- it refuses tagged fields it does not know, which KIP-482 wants skipped; they are cut out.

A guard is compiled from kio's classes, once per API and version, and follows the bytes only as far as counts may come:
of the last array it looks at the count and, when its elements hold arrays themselves, at the last element.
"""

from collections.abc import Callable
from dataclasses import Field, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, NamedTuple, get_args, get_origin

from kohort.protocol.errors import DecodeError
from kohort.protocol.wire import read_unsigned_varint, unsigned_varint

Cuts = list[tuple[int, int, bytes]]
"""Stretches of a frame, from and to, and what stands there instead."""

Skip = Callable[[bytes, int, Cuts | None], int]
"""Goes from a position to the one after it. Beyond the end of the frame anything may come back: kio notices."""

_SIZES = {
    "bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "error_code": 2, "int32": 4, "uint32": 4,
    "timedelta_i32": 4, "int64": 8, "uint64": 8, "float64": 8, "timedelta_i64": 8, "datetime_i64": 8, "uuid": 16,
}  # fmt: skip


class _Part(NamedTuple):
    """How to go over one field, or several of fixed size in a row."""

    skip: Skip
    smallest: int
    fixed: bool = False
    guard: Skip | None = None
    """Like `skip`, but no further than counts may come; None when there are none."""


def compile_guard(entity: type) -> Skip | None:
    """What to call before kio reads an `entity`; None when there is nothing to fear. Raises DecodeError."""
    return _entity(entity).guard


def without_unknown_tags(entity: type, frame: bytes, at: int) -> bytes:
    """The frame as a client would have sent it that knows no more tagged fields of `entity` than kio does."""
    cuts: Cuts = []
    _entity(entity).skip(frame, at, cuts)
    return _cut(frame, 0, len(frame), cuts)


def _cut(frame: bytes, start: int, end: int, cuts: Cuts) -> bytes:
    pieces: list[bytes] = []
    for cut_start, cut_end, instead in cuts:
        pieces += frame[start:cut_start], instead
        start = cut_end
    return b"".join((*pieces, frame[start:end]))


def _entity(entity: Any) -> _Part:
    flexible: bool = entity.__flexible__
    members = fields(entity)
    parts = _merge([_field(f, flexible) for f in members if "tag" not in f.metadata])
    last = max((i for i, part in enumerate(parts) if part.guard), default=-1)
    skips = [part.skip for part in parts]
    if flexible:
        known = {f.metadata["tag"]: _field(f, flexible, tagged=True) for f in members if "tag" in f.metadata}
        assert not any(part.guard for part in known.values()), "a tagged field of a request that holds an array"
        skips.append(_tags({tag: part.skip for tag, part in known.items()}))
    smallest = sum(part.smallest for part in parts) + flexible
    guard = parts[last].guard if last >= 0 else None
    return _Part(_sequence(skips), smallest, guard=guard and _sequence([*skips[:last], guard]))


def _merge(parts: list[_Part]) -> list[_Part]:
    merged: list[_Part] = []
    for part in parts:
        if part.fixed and merged and merged[-1].fixed:
            merged[-1] = _fixed(merged[-1].smallest + part.smallest)
        else:
            merged.append(part)
    return merged


def _field(member: Field[Any], flexible: bool, tagged: bool = False) -> _Part:
    hint, nullable = _without_none(member.type)
    if get_origin(hint) is tuple:
        inner, _ = _without_none(get_args(hint)[0])
        element = _entity(inner) if is_dataclass(inner) else _primitive(member.metadata["kafka_type"], flexible)
        return _array(element, flexible, nullable, member.name)
    if is_dataclass(hint):
        part = _entity(hint)
        return _nullable(part) if nullable and not tagged else part
    return _primitive(member.metadata["kafka_type"], flexible)


def _without_none(hint: Any) -> tuple[Any, bool]:
    if isinstance(hint, UnionType):
        (kept,) = (a for a in get_args(hint) if a is not NoneType)
        return kept, True
    return hint, False


def _primitive(kafka_type: str, flexible: bool) -> _Part:
    if kafka_type in _SIZES:
        return _fixed(_SIZES[kafka_type])
    if flexible:
        return _Part(_skip_compact, 1)
    return _Part(_skip_string, 2) if kafka_type == "string" else _Part(_skip_bytes, 4)


def _fixed(size: int) -> _Part:
    return _Part(lambda frame, at, cuts: at + size, size, fixed=True)


def _skip_compact(frame: bytes, at: int, cuts: Cuts | None) -> int:
    size = frame[at]
    if size >= 0x80:
        size, at = read_unsigned_varint(frame, at)
        return at + size - 1
    return at + (size or 1)


def _skip_string(frame: bytes, at: int, cuts: Cuts | None) -> int:
    size = frame[at] << 8 | frame[at + 1]
    return at + 2 + (size if size < 0x8000 else 0)


def _skip_bytes(frame: bytes, at: int, cuts: Cuts | None) -> int:
    size = int.from_bytes(frame[at : at + 4], "big")
    return at + 4 + (size if size < 0x80000000 else 0)


def _sequence(skips: list[Skip]) -> Skip:
    if len(skips) == 1:
        return skips[0]

    def skip(frame: bytes, at: int, cuts: Cuts | None) -> int:
        for each in skips:
            at = each(frame, at, cuts)
        return at

    return skip


def _nullable(part: _Part) -> _Part:
    """A structure behind a byte that says whether it is there (KIP-893)."""
    assert not part.guard, "a nullable structure of a request that holds an array"

    def skip(frame: bytes, at: int, cuts: Cuts | None) -> int:
        return at + 1 if frame[at] >= 0x80 else part.skip(frame, at + 1, cuts)

    return _Part(skip, 1)


def _array(element: _Part, flexible: bool, nullable: bool, name: str) -> _Part:
    def count_at(frame: bytes, at: int) -> tuple[int, int]:
        if flexible:
            count = frame[at]
            if count < 0x80:
                at += 1
            else:
                count, at = read_unsigned_varint(frame, at)
            count -= 1
        else:
            count, at = int.from_bytes(frame[at : at + 4], "big", signed=True), at + 4
        if count < 0 and not (nullable and count == -1):
            raise DecodeError(f"{name}: an array of {count}")
        if count * element.smallest > len(frame) - at:
            raise DecodeError(f"{name}: an array of {count} in {len(frame) - at} bytes")
        return count, at

    def skip(frame: bytes, at: int, cuts: Cuts | None) -> int:
        count, at = count_at(frame, at)
        if element.fixed:
            return at + max(count, 0) * element.smallest
        for _ in range(count):
            at = element.skip(frame, at, cuts)
        return at

    def guard(frame: bytes, at: int, cuts: Cuts | None) -> int:
        count, at = count_at(frame, at)
        if element.guard is None or count < 1:
            return at
        for _ in range(count - 1):
            at = element.skip(frame, at, cuts)
        return element.guard(frame, at, cuts)

    return _Part(skip, 1 if flexible else 4, guard=guard)


def _tags(known: dict[int, Skip]) -> Skip:
    def skip(frame: bytes, at: int, cuts: Cuts | None) -> int:
        if frame[at] == 0:
            return at + 1
        start = at
        kept: list[bytes] = []
        count, at = read_unsigned_varint(frame, at)
        for _ in range(count):
            tag, at = read_unsigned_varint(frame, at)
            size, at = read_unsigned_varint(frame, at)
            end = at + size
            field = known.get(tag)
            inner: Cuts = []
            if end > len(frame) or (field and field(frame, at, inner) != end):
                raise DecodeError(f"a tagged field of {size} bytes that has another size")
            if field:
                value = _cut(frame, at, end, inner)
                kept += unsigned_varint(tag), unsigned_varint(len(value)), value
            at = end
        if cuts is not None:
            cuts.append((start, at, unsigned_varint(len(kept) // 3) + b"".join(kept)))
        return at

    return skip
