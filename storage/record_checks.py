"""Validates the records of a produced batch, to the same extent as Kafka before it stores them.

Kafka decodes uncompressed records completely: each must have its declared length. It reads compressed ones as a stream:
the declared length of a record is ignored, but offset deltas must count from 0. Keys and values are skipped in both
cases. Every record is checked, so this module is optimized: consecutive records of the same size, as metrics often
have, are checked together, column by column; other common records with one call each; only the rest byte by byte.
Source: Kafka's `DefaultRecord.readFrom`, `readPartiallyFrom`, `DefaultRecordBatch`; responses of 4.3.0 to the batches
in `tests/storage/odd_batches.py`.
"""

import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

from kohort.protocol.errors import DecodeError, ErrorCode
from kohort.protocol.varints import read_varint, read_varlong

_COMPILED: Final = not __file__.endswith(".py")
_WORTH_A_LOOK: Final = 8  # minimum number of records to check for equal sizes
_FIRST_RUN: Final = 64
_LEAST_RUN: Final = 16  # Records checked together, at first and after a mismatch; doubled after each success.
_MOST_HEADERS: Final = 8  # records with more headers are not checked together
_ONE_BY_ONE: Final = 64  # After this many single records the next ones are checked for equal sizes again.
_TWO_BYTES: Final = 64
_THREE_BYTES: Final = 8_192  # first offset deltas with two and three bytes
_OFFSETS_OF_ONE: Final[tuple[bytes, ...]] = (bytes(range(0, 128, 2)),)
_OFFSETS_OF_TWO: Final[tuple[bytes, ...]] = (
    bytes(number << 1 & 127 | 128 for number in range(_TWO_BYTES, _THREE_BYTES)),
    bytes(number >> 6 for number in range(_TWO_BYTES, _THREE_BYTES)),
)  # Offset deltas of one byte, and of two, by column.
_BLOCK: Final = 64  # number of records whose offset deltas differ in the first byte only
# Beginnings of common records: with a two-byte offset delta, timestamp delta, or size.
#
# Each has the reader of the beginning: the size, and the attributes or the size's second byte; timestamp delta, offset
# delta, and three bytes: the key size, and two that belong to the value of a record without key. Then the highest bit
# of the size, the maximum of the byte after it, what combines both to a length, and the position of the value size of
# a record without key.
_SHAPES: Final = tuple(
    tuple(
        tuple(
            (
                struct.Struct("<BB" + "x" * two + "BH"[long_time] + "BH"[wide] + "BBB").unpack_from,
                two << 7,
                two * 127,
                1 - two * 63,
                5 + two + long_time + wide,
            )
            for two in (0, 1)
        )
        for long_time in (0, 1)
    )
    for wide in (0, 1)
)
# bits that distinguish timestamp deltas of one and two bytes, and their values
_TIMES: Final = ((0x80, 0), (0x8080, 0x80))
# Valid last bytes of a number, and valid bytes before them.
_LAST_BYTES, _OTHER_BYTES = bytes(range(128)), bytes(range(128, 256))
_NO_HEADERS: Final = 0
_NULL: Final = 1


class BadRecordsError(Exception):
    """Records that cannot be read, with the error for the producer."""

    def __init__(self, message: str, error_code: ErrorCode = ErrorCode.invalid_record) -> None:
        super().__init__(message)
        self.error_code = error_code


class Survey(NamedTuple):
    """Facts about the records of a batch."""

    latest_delta: int | None  # largest timestamp delta, unless all are negative
    earliest_delta: int  # smallest timestamp delta, or 0
    keyless: bool  # whether a record has no key
    ordered: bool  # whether offset deltas count from 0


class RecordInShort(NamedTuple):
    """Summary of a record. A negative size means null."""

    number: int
    time_delta: int
    offset_delta: int
    key_size: int
    value_size: int


# `Survey._make` without a Python-level call, because every batch is checked
_make_survey = partial(tuple.__new__, Survey)

# Position of the next record; the largest timestamp delta and the largest odd one; whether a key is missing; whether
# offset deltas count from 0. Deltas are in their encoded form: even ones are not negative, odd ones are. -1 means none.
_Findings = tuple[int, int, int, bool, bool]


def survey(body: bytes, count: int, *, compressed: bool, at: int = 0) -> Survey:
    """Validate the `count` records of a batch, which start at `at`.

    Raises:
        BadRecordsError: A record is malformed.
    """
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
    return _make_survey((None if high < 0 else high >> 1, -(low + 1 >> 1), keyless, ordered))


def _together(body: bytes, compressed: bool, count: int, at: int) -> _Findings:
    """Validate all records: those of equal size together, others one by one."""
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
    """Validate up to `most` records from `number` on that have the layout of the first one.

    Returns:
        Their number, the position of the next record, the two deltas of `_Findings`, and whether they have a key; or
        None if there are too few. Only records with few headers and a timestamp delta of one or two bytes are
        considered.

    Raises:
        IndexError: A record ends early.
        DecodeError: A record is malformed.
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
    """Return the positions of the numbers in the headers of a record, or none if they are many or malformed.

    Raises:
        IndexError: The record ends early.
        DecodeError: The record is malformed.
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
    """Validate the next common records of their block, of any size; return the same as `_run`.

    Their sizes have one or two bytes, their timestamp deltas as many as the first one's, the sizes of their keys one.
    """
    try:
        long_time = body[start + 2 + (body[start] >> 7)] >> 7
    except IndexError:
        return None
    if number >= _THREE_BYTES:
        return None
    wide, code = (0, number << 1) if number < _TWO_BYTES else (1, number >> 6 << 8 | 128 | number << 1 & 127)
    shapes, (time_bits, time_mark) = _SHAPES[wide][long_time], _TIMES[long_time]
    unpack, size_mark, most, rest, to_value = shapes[0]
    at, high, low, keyless = start, -1, -1, False
    last = checked = code + 2 * min(count - number, _BLOCK - number % _BLOCK)
    with suppress(IndexError, struct.error, DecodeError, BadRecordsError):
        for checked in range(code, last, 2):
            size, more, time, offset, key, value, next_byte = unpack(body, at)
            if size & 129 != size_mark:
                unpack, size_mark, most, rest, to_value = shapes[size >> 7]
                size, more, time, offset, key, value, next_byte = unpack(body, at)
            if size & 1 or more > most or time & time_bits != time_mark or offset != checked:
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
            checked = last
    count_checked = checked - code >> 1
    if count_checked < _WORTH_A_LOOK and checked != last:
        return None
    if long_time:
        high, low = (time & 127 | time >> 8 << 7 for time in (high, low))  # -1 stays
    return count_checked, at, high, low, not keyless


def _times(column: bytes, second: bytes) -> tuple[int, int, int]:
    """Count timestamp deltas with as many bytes as the first; return also the largest one and the largest odd one.

    Args:
        column: The first byte of each delta.
        second: The byte after it.
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
    """Validate records from number `start` to before `end` individually."""
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
            raise BadRecordsError(f"record {number} has a wrong length")
    return at, high, low, keyless, ordered


def _size(body: bytes, at: int, compressed: bool) -> tuple[int, int]:
    """Return the declared size of a record and the position after it."""
    try:
        return _zigzag(*read_varint(body, at))
    except DecodeError as problem:
        # Kafka does not foresee this one.
        code = ErrorCode.invalid_record if compressed else ErrorCode.unknown_server_error
        raise BadRecordsError(str(problem), code) from None


def records_in_short(body: bytes, count: int, at: int = 0) -> Iterator[RecordInShort]:
    """Yield a summary of each record, after `survey` has succeeded."""
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
