"""Goes through the records of a batch that a producer sent, as far as Kafka does before it stores them.

Kafka reads uncompressed records whole: each must be as long as it says. Compressed ones it reads as a stream: what a
record says of its length is not looked at, but its offsets must count from 0. Keys and values are skipped in both.
Every record is looked at, so this is written for speed: where records of one size follow one another, as metrics often
do, all of them at once, column by column; other usual ones with one call each; only the rest byte by byte.
Source: Kafka's `DefaultRecord.readFrom`, `readPartiallyFrom`, `DefaultRecordBatch`; what 4.3.0 answered to the batches
of `tests/storage/odd_batches.py`.
"""

import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

from kohort.protocol.errors import DecodeError, ErrorCode
from kohort.protocol.varints import read_varint, read_varlong

_COMPILED: Final = not __file__.endswith(".py")
_WORTH_A_LOOK: Final = 8
"""From this many records on it is looked whether they are of one size."""
_FIRST_RUN: Final = 64
_LEAST_RUN: Final = 16
"""At most this many records are looked at together, at first and after others came; twice as many each time."""
_MOST_HEADERS: Final = 8
"""Records of one size with more headers are not looked at together."""
_ONE_BY_ONE: Final = 64
"""After at most this many records it is looked again whether the next ones are of one size."""
_TWO_BYTES: Final = 64
_THREE_BYTES: Final = 8_192
"""From these numbers on an offset delta has two and three bytes."""
_OFFSETS_OF_ONE: Final[tuple[bytes, ...]] = (bytes(range(0, 128, 2)),)
_OFFSETS_OF_TWO: Final[tuple[bytes, ...]] = (
    bytes(number << 1 & 127 | 128 for number in range(_TWO_BYTES, _THREE_BYTES)),
    bytes(number >> 6 for number in range(_TWO_BYTES, _THREE_BYTES)),
)
"""Offset deltas of one byte, and of two, column by column."""
_BLOCK: Final = 64
"""Only the first byte of the offset delta changes among this many records."""
_SHAPES: Final = tuple(
    tuple(
        tuple(
            (
                struct.Struct("<BB" + "x" * two + "BH"[late] + "BH"[wide] + "BBB").unpack_from,
                two << 7,
                two * 127,
                1 - two * 63,
                5 + two + late + wide,
            )
            for two in (0, 1)
        )
        for late in (0, 1)
    )
    for wide in (0, 1)
)
"""How usual records begin: whose offset delta takes two bytes, whose time does, whose size does.

What reads the beginning: the size, and the attributes or its second byte; time, offset, and three bytes: the size of
the key, and two that are the value's if there is no key. Then the highest bit of the size, what the byte behind it is
at most, what makes a length of both, and where the size of the value is if there is no key.
"""
_TIMES: Final = ((0x80, 0), (0x8080, 0x80))
"""Which bits tell that a time has one byte, or two, and what they are."""
_LAST_BYTES, _OTHER_BYTES = bytes(range(128)), bytes(range(128, 256))
"""What a number may end in, and what may stand before that."""
_NO_HEADERS: Final = 0
_NULL: Final = 1


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
    """What `records_in_short` says of a record. A negative size: there is none."""

    number: int
    time_delta: int
    offset_delta: int
    key_size: int
    value_size: int


_made = partial(tuple.__new__, Survey)
"""As `Survey._make`, without a call in Python: every batch is looked at."""

_Findings = tuple[int, int, int, bool, bool]
"""Where the next record begins; the largest time, and the largest odd one; whether a key is missing; whether offsets
count from 0. Times are as they stand there: even ones are not negative, odd ones are. -1: there was none yet."""


def survey(body: bytes, count: int, *, compressed: bool, at: int = 0) -> Survey:
    """Goes through the `count` records of a batch, which begin `at` some place of `body`. Raises BadRecordsError."""
    try:
        if _COMPILED or count < _WORTH_A_LOOK:
            findings = _one_by_one(body, compressed, 0, count, (at, -1, -1, False, True))
        else:
            findings = _together(body, compressed, count, at)
    except IndexError:
        raise BadRecordsError("the batch ends within a record") from None
    except DecodeError as problem:
        raise BadRecordsError(str(problem)) from None
    at, high, low, keyless, ordered = findings
    if at != len(body):
        raise BadRecordsError(f"{len(body) - at} bytes behind the last record")
    return _made((None if high < 0 else high >> 1, -(low + 1 >> 1), keyless, ordered))


def _together(body: bytes, compressed: bool, count: int, at: int) -> _Findings:
    """All records: those of one size together, others one by one."""
    findings: _Findings = at, -1, -1, False, True
    number, most, pause = 0, _FIRST_RUN, _WORTH_A_LOOK
    while number < count:
        run = None
        if count - number >= _WORTH_A_LOOK:
            with suppress(IndexError, DecodeError):  # looked at one by one the records show what is wrong
                run = _run(body, findings[0], number, min(most, count - number))
            run = run or _usual(body, findings[0], number, count)
        if run is None:
            end = min(number + pause, count)
            findings = _one_by_one(body, compressed, number, end, findings)
            number, most, pause = end, _LEAST_RUN, min(2 * pause, _ONE_BY_ONE)
        else:
            _, high, low, keyless, ordered = findings
            size, at, its_high, its_low, has_key = run
            findings = at, max(high, its_high), max(low, its_low), keyless or not has_key, ordered
            number, most, pause = number + size, max(2 * size, _LEAST_RUN), _WORTH_A_LOOK
    return findings


def _run(body: bytes, start: int, number: int, most: int) -> tuple[int, int, int, int, bool] | None:
    """How many records from `number` on are laid out as the first of them, `most` at most, and what they have.

    Then: where the next one begins, the two times of `_Findings`, and whether they have a key. None: there are too few.
    Only records with few headers are seen here, whose time takes one byte or two. Raises IndexError, DecodeError.
    """
    size, attributes_at = read_varint(body, start)
    stride = attributes_at - start + size
    if size <= 0 or body[start:attributes_at] != body[start + stride : attributes_at + stride]:
        return None
    if number < _TWO_BYTES:
        offsets, first, limit = _OFFSETS_OF_ONE, number, _TWO_BYTES - number
    else:
        offsets, first, limit = _OFFSETS_OF_TWO, number - _TWO_BYTES, _THREE_BYTES - number
    time_at = attributes_at + 1
    offset_at = time_at + 1 if body[time_at] < 0x80 else time_at + 2
    key_at = offset_at + len(offsets)
    key_size, value_at = read_varint(body, key_at)
    key_end = value_at + key_size if key_size > 0 else value_at
    value_size, after = read_varint(body, key_end)
    numbers = _numbers_of_headers(body, after + max(value_size, 0), start + stride)
    size = min(most, limit, (len(body) - start) // stride)
    if size < _WORTH_A_LOOK or not numbers:
        return None
    stop = start + stride * size
    for at in (*range(start, attributes_at), *range(key_at, value_at), *range(key_end, after), *numbers):
        column = body[at:stop:stride]
        if column != column[:1] * size:
            size -= len(column.lstrip(column[:1]))
            stop = start + stride * size
    times = body[time_at:stop:stride]
    time = times[0]
    if time < 0x80 and times == times[:1] * size:  # all the same, as in a batch that was made at once
        high, low = (-1, time) if time & 1 else (time, -1)
    else:
        size, high, low = _times(times, body[time_at + 1 : stop : stride])
        stop = start + stride * size
    if size < _WORTH_A_LOOK:
        return None
    for at, column in enumerate(offsets, offset_at):
        if body[at:stop:stride] != column[first : first + size]:
            return None
    return size, stop, high, low, key_size >= 0


def _numbers_of_headers(body: bytes, start: int, end: int) -> Sequence[int]:
    """Where the numbers in the headers of a record stand that ends at `end`. None at all: they are many, or wrong.

    Raises IndexError, DecodeError.
    """
    if body[start] == _NO_HEADERS:
        return (start,) if start == end - 1 else ()
    count, at = read_varint(body, start)
    if not 0 < count <= _MOST_HEADERS:
        return ()
    numbers = [*range(start, at)]
    for part in range(2 * count):
        size, behind = read_varint(body, at)
        if size < 0 and part % 2 == 0:
            return ()  # a name must be there
        numbers += range(at, behind)
        at = behind + max(size, 0)
    return numbers if at == end else ()


def _usual(body: bytes, start: int, number: int, count: int) -> tuple[int, int, int, int, bool] | None:
    """What `_run` says, of records of any size, the next ones of their block, as far as they are usual.

    Their sizes take one byte or two, their times as many as the first one's, the sizes of their keys one. None: there
    are too few.
    """
    try:
        late = body[start + 2 + (body[start] >> 7)] >> 7
    except IndexError:
        return None
    if number >= _THREE_BYTES:
        return None
    wide, code = (0, number << 1) if number < _TWO_BYTES else (1, number >> 6 << 8 | 128 | number << 1 & 127)
    shapes, (time_bits, time_mark) = _SHAPES[wide][late], _TIMES[late]
    unpack, size_mark, most, rest, to_value = shapes[0]
    at, high, low, keyless = start, -1, -1, False
    last = seen = code + 2 * min(count - number, _BLOCK - number % _BLOCK)
    with suppress(IndexError, struct.error, DecodeError, BadRecordsError):
        for seen in range(code, last, 2):
            size, more, time, offset, key, value, next_byte = unpack(body, at)
            if size & 129 != size_mark:
                unpack, size_mark, most, rest, to_value = shapes[size >> 7]
                size, more, time, offset, key, value, next_byte = unpack(body, at)
            if size & 1 or more > most or time & time_bits != time_mark or offset != seen:
                break
            end = at + (more << 6) + (size >> 1) + rest
            value_at = at + to_value
            if key != _NULL:
                if key & 129:
                    break
                value_at += key >> 1
                value, next_byte = body[value_at], body[value_at + 1]
            if value < 128:
                headers_at = value_at + 1 + (value >> 1)
            else:
                headers_at = value_at + (next_byte << 6) + (value >> 1) - 62
                if next_byte > 127:
                    break
            if value & 1 and value != _NULL:
                break
            if (headers_at != end - 1 or body[headers_at] != _NO_HEADERS) and _skip_headers(body, headers_at) != end:
                break
            at = end
            if time & 1:
                if time > low:
                    low = time
            elif time > high:
                high = time
            if key == _NULL:
                keyless = True
        else:
            seen = last
    done = seen - code >> 1
    if done < _WORTH_A_LOOK and seen != last:
        return None
    if late:
        high, low = (time & 127 | time >> 8 << 7 for time in (high, low))  # -1 stays
    return done, at, high, low, not keyless


def _times(column: bytes, second: bytes) -> tuple[int, int, int]:
    """How many time deltas have as many bytes as the first; of those the largest one, and the largest odd one.

    `column`: the first byte of each, `second`: the one behind it.
    """
    if column[0] < 0x80:
        times: Sequence[int] = column if column.isascii() else _beginning(column, _LAST_BYTES)
    else:
        several = zip(_beginning(column, _OTHER_BYTES), _beginning(second, _LAST_BYTES), strict=False)
        times = [low & 127 | high << 7 for low, high in several]
    even, odd = [time for time in times if not time & 1], [time for time in times if time & 1]
    return len(times), max(even, default=-1), max(odd, default=-1)


def _beginning(column: bytes, of: bytes) -> bytes:
    return column[: len(column) - len(column.lstrip(of))]


def _one_by_one(body: bytes, compressed: bool, start: int, end: int, findings: _Findings) -> _Findings:
    """Records from number `start` to before `end`: the usual way."""
    at, high, low, keyless, ordered = findings
    for number in range(start, end):
        size = body[at]
        at += 1
        if size > 127:
            more = body[at]
            at += 1
            if more < 128:
                size = size & 127 | more << 7
            else:
                size, at = _size(body, at - 2, compressed)
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
    return at, high, low, keyless, ordered


def _size(body: bytes, at: int, compressed: bool) -> tuple[int, int]:
    """What a record of some length says of it."""
    try:
        return _zigzag(*read_varint(body, at))
    except DecodeError as problem:
        # Kafka does not foresee this one.
        code = ErrorCode.invalid_record if compressed else ErrorCode.unknown_server_error
        raise BadRecordsError(str(problem), code) from None


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
    count = body[at]
    if count & 129:
        count, at = read_varint(body, at)
        if count < 0:
            raise BadRecordsError(f"a record with {count} headers")
    else:
        count >>= 1
        at += 1
    for _ in range(count):
        size = body[at]
        if size & 129:
            size, at = read_varint(body, at)
            if size < 0:
                raise BadRecordsError("a header without a name")
            at += size
        else:
            at += 1 + (size >> 1)
        size = body[at]
        if size & 129:
            size, at = read_varint(body, at)
            if size > 0:
                at += size
        else:
            at += 1 + (size >> 1)
    return at


def _zigzag(value: int, at: int) -> tuple[int, int]:
    return (value << 1 if value >= 0 else ~(value << 1)), at
