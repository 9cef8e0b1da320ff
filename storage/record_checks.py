"""Goes through the records of a batch that a producer sent, as far as Kafka does before it stores them.

Kafka reads uncompressed records whole: each must be as long as it says. Compressed ones it reads as a stream: what a
record says of its length is not looked at, but its offsets must count from 0. Keys and values are skipped in both.
Every record is looked at, so this is written for speed: one loop without a call for a usual record; and where records
are of one size, as metrics often are, all of them at once, column by column.
Source: Kafka's `DefaultRecord.readFrom`, `readPartiallyFrom`, `DefaultRecordBatch`; what 4.3.0 answered to the batches
of `tests/storage/odd_batches.py`.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kohort.protocol.errors import DecodeError, ErrorCode
from kohort.protocol.varints import read_varint, read_varlong

_SIZES_OF_OFFSETS = (0, 64, 8_192, 1 << 20, 1 << 27, 1 << 31)
"""Between these, offset deltas have the same number of bytes."""
_WORTH_A_LOOK = 8
"""From so many records on it is looked whether they are of one size."""
_OFFSETS = (
    (bytes(range(0, 128, 2)),),
    (bytes(number << 1 & 127 | 128 for number in range(64, 8_192)), bytes(number >> 6 for number in range(64, 8_192))),
)
"""Offset deltas of one byte, and of two, column by column."""
_EVEN, _ODD = bytes(range(0, 256, 2)), bytes(range(1, 256, 2))
_NO_HEADERS = 0


class BadRecordsError(Exception):
    """Records that cannot be read, and what a producer hears of that."""

    def __init__(self, problem: str, error_code: ErrorCode = ErrorCode.invalid_record) -> None:
        super().__init__(problem)
        self.error_code = error_code


class Survey(NamedTuple):
    """What there is to know of the records of a batch."""

    latest_delta: int | None
    """The largest difference to the batch's first time, unless all are negative."""
    earliest_delta: int
    """The smallest one, or 0."""
    keyless: bool
    """Whether a record has no key."""
    ordered: bool
    """Whether their offsets count from 0."""


class RecordInShort(NamedTuple):
    """What `records_in_short` tells of a record. A negative size: there is none."""

    number: int
    time_delta: int
    offset_delta: int
    key_size: int
    value_size: int


def survey(body: bytes, count: int, *, compressed: bool, at: int = 0) -> Survey:
    """Goes through the `count` records of a batch, which begin `at` some place of `body`. Raises BadRecordsError."""
    look = _Survey(body, at, compressed)
    try:
        if count < _WORTH_A_LOOK:
            look.one_by_one(0, count)
        else:
            look.parts(count)
    except IndexError:
        raise BadRecordsError("the batch ends within a record") from None
    except DecodeError as problem:
        raise BadRecordsError(str(problem)) from None
    if look.at != len(body):
        raise BadRecordsError(f"{len(body) - look.at} bytes behind the last record")
    return Survey(None if look.high < 0 else look.high >> 1, -(look.low + 1 >> 1), look.keyless, look.ordered)


class _Survey:
    """How far a survey has come. Times are as they stand there: even ones are not negative, odd ones are."""

    __slots__ = ("at", "body", "compressed", "high", "keyless", "low", "ordered")

    def __init__(self, body: bytes, at: int, compressed: bool) -> None:
        self.body = body
        self.compressed = compressed
        self.at = at
        self.high = self.low = -1
        self.keyless = False
        self.ordered = True

    def parts(self, count: int) -> None:
        """All records, by the size of their offset deltas."""
        for part, start in enumerate(_SIZES_OF_OFFSETS):
            if start >= count:
                break
            self.part(part, start, min(count, _SIZES_OF_OFFSETS[part + 1]))

    def part(self, part: int, start: int, end: int) -> None:
        """Records from number `start` to before `end`, whose offset deltas are of the same size."""
        if part < len(_OFFSETS) and end - start >= _WORTH_A_LOOK:
            try:
                if self.all_at_once(part, start, end):
                    return
            except (IndexError, DecodeError):
                pass  # looked at one by one it is told what is wrong
        self.one_by_one(start, end)

    def one_by_one(self, start: int, end: int) -> None:
        """The usual way."""
        body, at, compressed = self.body, self.at, self.compressed
        high, low, keyless, ordered = self.high, self.low, self.keyless, self.ordered
        for number in range(start, end):
            size = body[at]
            at += 1
            if size > 127:
                more = body[at]
                at += 1
                if more < 128:
                    size = size & 127 | more << 7
                else:
                    size, at = self._size(at - 2)
            record_end = at + (size >> 1)
            time = body[at + 1]
            at += 2
            if time > 127:
                more = body[at]
                at += 1
                if more < 128:
                    time = time & 127 | more << 7
                else:
                    time, at = _zigzag(*read_varlong(body, at - 2))
            if time & 1:
                if time > low:
                    low = time
            elif time > high:
                high = time
            offset = body[at]
            at += 1
            if offset > 127:
                more = body[at]
                at += 1
                if more < 128:
                    offset = offset & 127 | more << 7
                else:
                    offset, at = _zigzag(*read_varint(body, at - 2))
            if offset != number << 1:
                ordered = False
            size_of = body[at]
            at += 1
            if size_of > 127:
                size_of, at = _zigzag(*read_varint(body, at - 1))
            if size_of & 1:
                keyless = True
            else:
                at += size_of >> 1
            size_of = body[at]
            at += 1
            if size_of > 127:
                more = body[at]
                at += 1
                if more < 128:
                    size_of = size_of & 127 | more << 7
                else:
                    size_of, at = _zigzag(*read_varint(body, at - 2))
            if not size_of & 1:
                at += size_of >> 1
            at = at + 1 if body[at] == _NO_HEADERS else _skip_headers(body, at)
            if not compressed and (at != record_end or size & 1):
                raise BadRecordsError(f"record {number} is not as long as it says")
        self.at, self.high, self.low, self.keyless, self.ordered = at, high, low, keyless, ordered

    def _size(self, at: int) -> tuple[int, int]:
        """What a record of some length says of it."""
        try:
            return _zigzag(*read_varint(self.body, at))
        except DecodeError as problem:
            # Kafka does not foresee this one.
            code = ErrorCode.invalid_record if self.compressed else ErrorCode.unknown_server_error
            raise BadRecordsError(str(problem), code) from None

    def all_at_once(self, part: int, start: int, end: int) -> bool:
        """Whether these records are all laid out like the first of them; if so, takes them in.

        Only records without headers can be, whose time takes one byte. If they are not, nothing changes.
        """
        body, first_at, count = self.body, self.at, end - start
        size, attributes_at = read_varint(body, first_at)
        stride = attributes_at - first_at + size
        stop = first_at + stride * count
        if size <= 0 or stop > len(body):
            return False
        time_at = attributes_at + 1
        times = body[time_at:stop:stride]
        if not times.isascii():
            return False
        first, place = start - _SIZES_OF_OFFSETS[part], time_at + 1
        for right in _OFFSETS[part]:
            if body[place:stop:stride] != right[first : first + count]:
                return False
            place += 1
        key_size, value_at = read_varint(body, place)
        key_end = value_at + key_size if key_size > 0 else value_at
        value_size, after = read_varint(body, key_end)
        last_at = first_at + stride - 1
        if body[last_at] != _NO_HEADERS or after + max(value_size, 0) != last_at:
            return False  # it has headers
        for at in (*range(first_at, attributes_at), *range(place, value_at), *range(key_end, after), last_at):
            if body[at:stop:stride] != body[at : at + 1] * count:
                return False
        if key_size < 0:
            self.keyless = True
        self.high = max(self.high, max(times.translate(None, _ODD), default=-1))
        self.low = max(self.low, max(times.translate(None, _EVEN), default=-1))
        self.at = stop
        return True


def records_in_short(body: bytes, count: int, at: int = 0) -> Iterator[RecordInShort]:
    """Each record without its contents.

    For records that `survey` has gone through: there is something to say of some of them.
    """
    for number in range(count):
        _, at = read_varint(body, at)
        time, at = read_varlong(body, at + 1)
        offset, at = read_varint(body, at)
        key_size, at = read_varint(body, at)
        at += max(key_size, 0)
        value_size, at = read_varint(body, at)
        at = _skip_headers(body, at + max(value_size, 0))
        yield RecordInShort(number, time, offset, key_size, value_size)


def _skip_headers(body: bytes, at: int) -> int:
    count, at = read_varint(body, at)
    if count < 0:
        raise BadRecordsError(f"a record with {count} headers")
    for _ in range(count):
        size, at = read_varint(body, at)
        if size < 0:
            raise BadRecordsError("a header without a name")
        size, at = read_varint(body, at + size)
        at += max(size, 0)
    return at


def _zigzag(value: int, at: int) -> tuple[int, int]:
    return (value << 1 if value >= 0 else ~(value << 1)), at
