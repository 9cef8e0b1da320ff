"""Validates a request before kio reads it, and rewrites what kio handles differently from Kafka.

kio's reader is fast but trusts the bytes (observed in 0.6.5):

- it allocates what an array's count announces, and a count in the billions ends the process; so every count is compared
  with the remaining bytes first;
- it accepts null for an array that must not be null;
- it has no limits, neither for strings, which Kafka limits to 32,767 bytes, nor for the cost of a request.

It also rejects what Kafka accepts: unknown tagged fields (KIP-482 skips them), strings that are not UTF-8 (Java
replaces malformed parts by U+FFFD), lengths below -1 (null), and booleans other than 0 and 1 (true). Such requests are
rewritten.
Source: Kafka's MessageDataGenerator (generateVariableLengthReader), ByteBufferAccessor.

A guard is compiled from kio's classes, once per API and version. It must be at the same position as kio for every byte,
because otherwise it would check other counts than kio reads. `tests/fuzz` compares the two.
"""

from collections.abc import Callable
from dataclasses import Field, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Final, NamedTuple, get_args, get_origin

from kohort.protocol.errors import DecodeError, TooManyElementsError
from kohort.protocol.wire import compact_string, read_unsigned_varint, string, unsigned_varint

LONGEST_STRING: Final = 32_767  # maximum bytes of a string, as in Kafka

# A request up to this size cannot contain a string that is too long, or more array elements than bytes.
SHORT_FRAME: Final = 16_384

MAX_ELEMENTS: Final = 50_000  # default limit of array elements and tagged fields in a request


class Walk:
    """State of a walk through a request."""

    __slots__ = ("cuts", "elements_left", "limit")

    def __init__(self, limit: int, cuts: "Cuts | None" = None) -> None:
        self.limit = self.elements_left = limit
        self.cuts = cuts  # ranges to rewrite, or None

    def count(self, elements: int) -> None:
        """Add elements of an array.

        Raises:
            TooManyElementsError: The request exceeds the limit.
        """
        self.elements_left -= elements
        if self.elements_left < 0:
            raise TooManyElementsError(f"more than {self.limit} array elements (kohort.request.max.elements)")


Cuts = list[tuple[int, int, bytes]]  # Ranges of a frame, start and end, and their replacement.

# Returns the position after a field. It may be beyond the end of the frame, which kio detects.
Skip = Callable[[bytes, int, Walk | None], int]

_SIZES: Final = {
    "bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "error_code": 2, "int32": 4, "uint32": 4,
    "timedelta_i32": 4, "int64": 8, "uint64": 8, "float64": 8, "datetime_i64": 8, "uuid": 16,
}  # fmt: skip

# kio's longest duration: 292,277 years. Clients send larger numbers for "unlimited".
_LONGEST_MS: Final = (1 << 63) // 1000


class _Part(NamedTuple):
    """Functions that skip one field, or several consecutive fields of fixed size."""

    skip: Skip
    smallest: int
    fixed: bool = False
    guard: Skip | None = None  # Like `skip`, but only as far as there may be counts; None without counts.


class Guard:
    """Checks for requests of one API and version before kio reads them."""

    __slots__ = ("quick", "skip")

    def __init__(self, entity: type) -> None:
        part = _entity(entity)
        self.skip = part.skip
        # Checks all counts of a frame of at most SHORT_FRAME bytes, or None without counts. Raises DecodeError.
        self.quick = part.guard

    def check(self, frame: bytes, at: int, max_elements: int) -> None:
        """Check all counts, their sum and all lengths in a frame of any size.

        Raises:
            DecodeError: A check failed.
        """
        if self.skip(frame, at, Walk(max_elements)) > len(frame):
            raise DecodeError("it ends too early")

    def mended(self, frame: bytes, at: int) -> bytes:
        """Return a checked frame without what kio rejects and Kafka accepts."""
        cuts: Cuts = []
        self.skip(frame, at, Walk(len(frame), cuts))
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
    tagged_fields = {f.metadata["tag"]: _field(f, flexible, tagged=True) for f in members if "tag" in f.metadata}
    if flexible:
        skips.append(_tags({tag: part.skip for tag, part in tagged_fields.items()}))
    smallest = sum(part.smallest for part in parts) + flexible
    skip = _sequence(skips)
    if any(part.guard for part in tagged_fields.values()):  # of answers only
        return _Part(skip, smallest, guard=skip)
    guard = parts[last].guard if last >= 0 else None
    return _Part(skip, smallest, guard=guard and _sequence([*skips[:last], guard]))


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
    if kafka_type == "bool":
        return _Part(_skip_bool, 1)
    if kafka_type == "timedelta_i64":
        return _Part(_skip_time, 8)
    if kafka_type in _SIZES:
        return _fixed(_SIZES[kafka_type])
    if kafka_type == "string":
        return _Part(_skip_compact_string, 1) if flexible else _Part(_skip_string, 2)
    return _Part(_skip_compact_bytes, 1) if flexible else _Part(_skip_bytes, 4)


def _fixed(size: int) -> _Part:
    return _Part(lambda frame, at, walk: at + size, size, fixed=True)


def _skip_bool(frame: bytes, at: int, walk: Walk | None) -> int:
    if walk and walk.cuts is not None and frame[at] > 1:
        walk.cuts.append((at, at + 1, b"\x01"))
    return at + 1


def _skip_time(frame: bytes, at: int, walk: Walk | None) -> int:
    if walk and walk.cuts is not None:
        ms = int.from_bytes(frame[at : at + 8], "big", signed=True)
        if abs(ms) > _LONGEST_MS:
            walk.cuts.append((at, at + 8, (_LONGEST_MS if ms > 0 else -_LONGEST_MS).to_bytes(8, "big", signed=True)))
    return at + 8


def _skip_compact_string(frame: bytes, at: int, walk: Walk | None) -> int:
    start, size = at, frame[at]
    if size < 0x80:
        if walk is None or walk.cuts is None:
            return at + (size or 1)
        at += 1
    else:
        size, at = read_unsigned_varint(frame, at)
        if size - 1 > LONGEST_STRING:
            raise DecodeError(f"a text of {size - 1} bytes")
    if not size:
        return at  # null, in as many bytes as it was written with
    end = at + size - 1
    if walk and walk.cuts is not None:
        _mend_text(frame, start, at, end, walk.cuts, compact_string)
    return end


def _skip_string(frame: bytes, at: int, walk: Walk | None) -> int:
    size = frame[at] << 8 | frame[at + 1]
    if size >= 0x8000:
        if walk and walk.cuts is not None:
            walk.cuts.append((at, at + 2, b"\xff\xff"))
        return at + 2
    if walk and walk.cuts is not None:
        _mend_text(frame, at, at + 2, at + 2 + size, walk.cuts, string)
    return at + 2 + size


def _mend_text(frame: bytes, start: int, at: int, end: int, cuts: Cuts, encode: Callable[[str], bytes]) -> None:
    raw = frame[at:end]
    try:
        raw.decode()
    except UnicodeDecodeError:
        cuts.append((start, end, encode(raw.decode(errors="replace"))))


def _skip_compact_bytes(frame: bytes, at: int, walk: Walk | None) -> int:
    size = frame[at]
    if size < 0x80:
        return at + (size or 1)
    size, at = read_unsigned_varint(frame, at)
    return at + size - 1 if size else at


def _skip_bytes(frame: bytes, at: int, walk: Walk | None) -> int:
    size = int.from_bytes(frame[at : at + 4], "big")
    if size < 0x80000000:
        return at + 4 + size
    if walk and walk.cuts is not None:
        walk.cuts.append((at, at + 4, b"\xff\xff\xff\xff"))
    return at + 4


def _sequence(skips: list[Skip]) -> Skip:
    if len(skips) == 1:
        return skips[0]

    def skip(frame: bytes, at: int, walk: Walk | None) -> int:
        for skip_field in skips:
            at = skip_field(frame, at, walk)
        return at

    return skip


def _nullable(part: _Part) -> _Part:
    """Skip a structure after a byte that determines whether it is present (KIP-893)."""
    inner = part.guard

    def skip(frame: bytes, at: int, walk: Walk | None) -> int:
        return at + 1 if frame[at] == 0xFF else part.skip(frame, at + 1, walk)

    def guard(frame: bytes, at: int, walk: Walk | None) -> int:
        return at + 1 if frame[at] == 0xFF or inner is None else inner(frame, at + 1, walk)

    return _Part(skip, 1, guard=guard if inner else None)


def _array(element: _Part, flexible: bool, nullable: bool, name: str) -> _Part:
    assert element.smallest, "elements without bytes, of which any number fits into a frame"
    smallest, skip_element, guard_element = element.smallest, element.skip, element.guard

    def count_at(frame: bytes, at: int, walk: Walk | None) -> tuple[int, int]:
        if flexible:
            count = frame[at]
            if count < 0x80:
                at += 1
            else:
                count, at = read_unsigned_varint(frame, at)
            count -= 1
        else:
            count, at = int.from_bytes(frame[at : at + 4], "big", signed=True), at + 4
        if count < 0:
            if not nullable:
                raise DecodeError(f"{name}: an array that is null")
            if walk and walk.cuts is not None and not flexible:
                walk.cuts.append((at - 4, at, b"\xff\xff\xff\xff"))
            return -1, at
        if count * smallest > len(frame) - at:
            raise _too_many(name, count, len(frame) - at)
        if walk:
            walk.count(count)
        return count, at

    def skip(frame: bytes, at: int, walk: Walk | None) -> int:
        if flexible and 0 < frame[at] < 0x80:
            count, at = frame[at] - 1, at + 1
            if count * smallest > len(frame) - at:
                raise _too_many(name, count, len(frame) - at)
            if walk is not None:
                walk.count(count)
        else:
            count, at = count_at(frame, at, walk)
        if element.fixed:
            return at + max(count, 0) * smallest
        for _ in range(count):
            at = skip_element(frame, at, walk)
        return at

    def guard(frame: bytes, at: int, walk: Walk | None) -> int:
        if flexible and 0 < frame[at] < 0x80:
            count, at = frame[at] - 1, at + 1
            if count * smallest > len(frame) - at:
                raise _too_many(name, count, len(frame) - at)
            if walk is not None:
                walk.count(count)
        else:
            count, at = count_at(frame, at, walk)
        if guard_element is None or count < 1:
            return at
        for _ in range(count - 1):
            at = skip_element(frame, at, walk)
        return guard_element(frame, at, walk)

    return _Part(skip, 1 if flexible else 4, guard=guard)


def _too_many(name: str, count: int, size: int) -> DecodeError:
    return DecodeError(f"{name}: an array of {count} in {size} bytes")


def _tags(tagged_fields: dict[int, Skip]) -> Skip:
    def skip(frame: bytes, at: int, walk: Walk | None) -> int:
        if frame[at] == 0:
            return at + 1
        start = at
        count, at = read_unsigned_varint(frame, at)
        if count > len(frame) - at:
            raise DecodeError(f"{count} tagged fields in {len(frame) - at} bytes")
        if walk:
            walk.count(count)
        cuts = None if walk is None else walk.cuts
        kept: list[bytes] = []
        for _ in range(count):
            tag, at = read_unsigned_varint(frame, at)
            size, value_at = read_unsigned_varint(frame, at)
            field = tagged_fields.get(tag)
            if field is None:
                at = value_at + size
            elif walk is None or cuts is None:
                at = field(frame, value_at, walk)  # its size is not looked at, neither by kio nor by Kafka
            else:
                inner: Cuts = []
                walk.cuts = inner
                at = field(frame, value_at, walk)
                value = _cut(frame, value_at, at, inner)
                kept += unsigned_varint(tag), unsigned_varint(len(value)), value
            if at > len(frame):
                raise DecodeError("a tagged field that ends too late")
        if walk is not None and cuts is not None:
            walk.cuts = cuts
            cuts.append((start, at, unsigned_varint(len(kept) // 3) + b"".join(kept)))
        return at

    return skip
