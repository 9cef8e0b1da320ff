"""Parser of log segment files: record batches of format 2, many at a time.

A file is traversed once from batch header to batch header. Then the n-th records of all batches are read in one numpy
step, for offsets, times, and positions of key and value. Source: KIP-98 and the record format page of Kafka's docs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import google_crc32c
import numpy as np
import numpy.typing as npt

from kohort.pipeline.records.offset_commits import Bools, Bytes, Ints, RecordSpans, alike
from kohort.protocol.compression import decompress
from kohort.protocol.errors import DecodeError

HEADER_SIZE = 61  # from the base offset to the record count
_LENGTH = struct.Struct(">8xi")
_LENGTH_AND_CHECKSUM = struct.Struct(">8xi5xI")
_LENGTH_AND_OFFSET = 12
_CHECKED_FROM = 21
_HEADER = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("checksum", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("count", ">i4"),
    ]
)
_CONTROL, _TRANSACTIONAL, _CODEC = 0x20, 0x10, 0x07
LARGEST_TEAR = 128 << 20  # maximum number of missing bytes of a torn batch; with more its length is wrong
_RECORDS_AT_ONCE = 200_000
_WORD = np.dtype("<u8")
_MANY = 64  # minimum number of batches of one length worth comparing
_IN_ONE_BYTE = np.array([(n >> 1) ^ -(n & 1) for n in range(0x80)], np.int64)  # zigzag numbers of one byte, as most are


@dataclass(slots=True)
class Damage:
    """Part of a file that could not be read, with the reason. Reading continued after it if possible."""

    position: int
    reason: str
    offset: int = -1


@dataclass(slots=True)
class Headers:
    """Headers of consecutive batches in columns: a file can contain a million of them."""

    position: Ints
    base_offset: Ints
    length: Ints
    leader_epoch: Ints
    attributes: Ints
    last_offset: Ints
    base_timestamp: Ints
    producer_id: Ints
    count: Ints

    def __len__(self) -> int:
        return len(self.position)

    def select(self, selection: slice | Bools) -> Headers:
        return Headers(*(getattr(self, name)[selection] for name in self.__slots__))

    @property
    def is_control(self) -> Bools:
        flags: Bools = (self.attributes & _CONTROL) != 0
        return flags

    @property
    def is_transactional(self) -> Bools:
        flags: Bools = (self.attributes & _TRANSACTIONAL) != 0
        return flags

    @property
    def codec(self) -> Ints:
        return self.attributes & _CODEC


@dataclass(slots=True)
class Records:
    """Records of consecutive batches in log order. `batch` is the index into `headers`."""

    spans: RecordSpans
    offset: Ints
    timestamp: Ints
    batch: Ints
    headers: Headers
    damage: list[Damage] = field(default_factory=list)


def read_headers(data: bytes, damage: list[Damage]) -> Headers:
    """Return headers of the valid batches of a file. A torn last batch is normal and is only noted."""
    wrong: list[int] = []
    at = np.fromiter(_positions(data, wrong), np.int64)
    _note_the_end(data, int(at[-1]) if len(at) else None, damage)
    if not len(at):
        return Headers(*(np.zeros(0, np.int64) for _ in Headers.__slots__))
    size = _HEADER.itemsize
    whole: npt.NDArray[Any] = np.ndarray((len(data) - size + 1,), f"V{size}", data, 0, (1,))[at]
    fields = whole.view(_HEADER)

    def number(name: str) -> Ints:
        column: Ints = fields[name].astype(np.int64)
        return column

    base, length, count, magic = number("base_offset"), number("length"), number("count"), fields["magic"]
    headers = Headers(
        at,
        base,
        length,
        number("leader_epoch"),
        number("attributes"),
        base + number("last_offset_delta"),
        number("base_timestamp"),
        number("producer_id"),
        count,
    )
    sound: Bools = (magic == 2) & (count >= 0) & (count <= length)
    if wrong:
        sound &= ~np.isin(at, wrong)
    if sound.all():
        return headers
    unmatched = set(wrong)
    for n in np.flatnonzero(~sound).tolist():
        if magic[n] != 2:
            reason = f"record format {magic[n]}, older than 0.11: not read"
        elif int(at[n]) in unmatched:
            reason = "checksum does not match: batch left out"
        else:
            reason = f"{count[n]} records in {length[n]} bytes: batch left out"
        damage.append(Damage(int(at[n]), reason, int(base[n])))
    return headers.select(sound)


def _positions(data: bytes, wrong: list[int]) -> Iterator[int]:
    """Yield positions of complete batches by their lengths alone; adds those with a wrong checksum to `wrong`.

    Both happen in one pass: a file has a million batches, and a second pass in Python would be noticeable.
    """
    at, end = 0, len(data)
    last, read, checksum_of = end - HEADER_SIZE, _LENGTH_AND_CHECKSUM.unpack_from, google_crc32c.value
    while at <= last:
        length, checksum = read(data, at)
        stop = at + _LENGTH_AND_OFFSET + length
        if length < HEADER_SIZE - _LENGTH_AND_OFFSET or stop > end:
            return
        if checksum_of(data[at + _CHECKED_FROM : stop]) != checksum:
            wrong.append(at)
        yield at
        at = stop


def _note_the_end(data: bytes, last: int | None, damage: list[Damage]) -> None:
    """Report bytes after the last complete batch."""
    at, end = 0, len(data)
    if last is not None:
        at = last + _LENGTH_AND_OFFSET + _LENGTH.unpack_from(data, last)[0]
    if at + _LENGTH_AND_OFFSET <= end:
        length = _LENGTH.unpack_from(data, at)[0]
        damage.append(Damage(at, _why_it_ends(data, at, length, at + _LENGTH_AND_OFFSET + length)))
    elif at < end:
        damage.append(Damage(at, f"torn batch: {end - at} bytes at the end of the file"))


def _why_it_ends(data: bytes, at: int, length: int, stop: int) -> str:
    if length == 0 and not any(data[at : at + HEADER_SIZE]):
        return "zeros to the end: a preallocated segment"
    if length > 0 and stop > len(data):
        if stop - len(data) > LARGEST_TEAR:
            return f"batch length {length} is more than the file holds; its last {len(data) - at} bytes are not read"
        return f"torn batch: {stop - len(data)} bytes are missing at the end of the file"
    return f"batch length {length} can't be; the last {len(data) - at} bytes of the file are not read"


def read_segment(data: bytes | memoryview, records_at_once: int = _RECORDS_AT_ONCE) -> Iterator[Records]:
    """Yield a segment file in chunks of about `records_at_once` records, including control records."""
    data = bytes(data)
    damage: list[Damage] = []
    headers = read_headers(data, damage)
    if not len(headers):
        if damage:
            yield _read_run(data, headers, damage)
        return
    run_of = np.cumsum(headers.count) // records_at_once
    edges = [0, *(np.flatnonzero(np.diff(run_of)) + 1).tolist(), len(headers)]
    for first, last in pairwise(edges):
        yield _read_run(data, headers.select(slice(first, last)), damage if first == 0 else [])


def _read_run(data: bytes, headers: Headers, damage: list[Damage]) -> Records:
    damage = list(damage)
    first = int(headers.position[0]) if len(headers) else 0
    last = int(headers.position[-1] + _LENGTH_AND_OFFSET + headers.length[-1]) if len(headers) else 0
    buffer = np.frombuffer(data, np.uint8, last - first, first)
    start = headers.position - first + HEADER_SIZE
    stop = headers.position - first + _LENGTH_AND_OFFSET + headers.length
    packed = np.flatnonzero(headers.codec).tolist()
    if packed:
        blocks, size = [buffer], len(buffer)
        for n in packed:
            try:
                block = decompress(int(headers.codec[n]), data[first + int(start[n]) : first + int(stop[n])])
            except DecodeError as error:
                damage.append(Damage(int(headers.position[n]), str(error), int(headers.base_offset[n])))
                headers.count[n], block = 0, b""
            blocks.append(np.frombuffer(block, np.uint8))
            start[n], stop[n] = size, size + len(block)
            size += len(block)
        buffer = np.concatenate(blocks)
    return _walk(buffer, headers, start, stop, damage)


def _walk(buffer: Bytes, headers: Headers, at: Ints, stop: Ints, damage: list[Damage]) -> Records:
    columns = _Columns(headers)
    remaining = _read_alike(buffer, headers, at, stop, columns)
    _read_in_turn(buffer, headers, at, stop, columns, damage, remaining)
    spans = RecordSpans(buffer, *(columns.by_name[name] for name in ("ks", "kl", "vs", "vl")))
    batch_of = np.repeat(np.arange(len(headers), dtype=np.int64), headers.count)
    result = Records(spans, columns.by_name["offset"], columns.by_name["time"], batch_of, headers, damage)
    return result if columns.sound.all() else select(result, columns.sound)


class _Columns:
    """Columns of each record: offset and time relative to its batch, and positions of key and value."""

    def __init__(self, headers: Headers) -> None:
        self.first_row = np.cumsum(headers.count) - headers.count
        total = int(headers.count.sum())
        self.by_name = {name: np.zeros(total, np.int64) for name in ("offset", "time", "ks", "kl", "vs", "vl")}
        self.sound = np.ones(total, bool)


def _read_in_turn(
    buffer: Bytes, headers: Headers, at: Ints, stop: Ints, columns: _Columns, damage: list[Damage], lanes: Ints
) -> None:
    """Read the first record of every batch, then the second of every batch that has one, and so on."""
    count, at = headers.count, at.copy()
    for step in range(int(count[lanes].max(initial=0))):
        lanes = lanes[count[lanes] > step]
        rows = columns.first_row[lanes] + step
        good, values, after = _one_record(buffer, at[lanes], stop[lanes])
        values["offset"] += headers.base_offset[lanes]
        values["time"] += headers.base_timestamp[lanes]
        for name, column in columns.by_name.items():
            column[rows] = values[name]
        if not good.all():
            for lane in lanes[~good].tolist():
                reason = f"record {step} of the batch can't be read; it and those after it are left out"
                damage.append(Damage(int(headers.position[lane]), reason, int(headers.base_offset[lane])))
                columns.sound[columns.first_row[lane] + step : columns.first_row[lane] + count[lane]] = False
            lanes, after = lanes[good], after[good]
        at[lanes] = after


def _read_alike(buffer: Bytes, headers: Headers, at: Ints, stop: Ints, columns: _Columns) -> Ints:
    """Read batches with the same layout as another one of their length; return the remaining batches.

    A member repeats its commits with other offsets and times: if one batch has its keys and values, the next one of
    that length has them too, provided that every number before a key and before a value is equal, which is one
    comparison.
    """
    remaining = headers.count > 0
    for _, mine in alike(((stop - at) << 32) | headers.count):
        batches = np.arange(len(headers))[mine]
        if len(batches) < _MANY or not remaining[batches[0]]:
            continue
        model = batches[:1]
        one = headers.select(slice(int(model[0]), int(model[0]) + 1))
        shape = _Columns(one)
        _read_in_turn(buffer, one, at[model], stop[model], shape, [], np.zeros(1, np.int64))
        if not shape.sound.all():
            continue
        like = _like(buffer, at[batches], int(at[model[0]]), shape)
        batches = batches[like]
        rows = columns.first_row[batches][:, None] + np.arange(int(one.count[0]))
        moved = {"ks": at, "vs": at, "offset": headers.base_offset, "time": headers.base_timestamp}
        for name, column in columns.by_name.items():
            values = shape.by_name[name]
            if name in moved:
                column[rows] = (moved[name][batches] - moved[name][model])[:, None] + values
            else:
                column[rows] = values
        remaining[batches] = False
    return np.flatnonzero(remaining)


def _like(buffer: Bytes, at: Ints, model: int, shape: _Columns) -> Bools:
    """Return a mask of batches with all their numbers at the positions of the model, with equal values."""
    is_alike = np.ones(len(at), bool)
    ends = shape.by_name["vs"] + np.maximum(shape.by_name["vl"], 0)
    keys_end = shape.by_name["ks"] + np.maximum(shape.by_name["kl"], 0)
    begins = np.concatenate(([model], ends[:-1]))
    for first, last in ((begins, shape.by_name["ks"]), (keys_end, shape.by_name["vs"])):
        for begin, end in zip(first.tolist(), last.tolist(), strict=True):
            for position in range(begin, end, _WORD.itemsize):
                is_alike &= _same(buffer, at + (position - model), position, min(end - position, _WORD.itemsize))
    return is_alike


def _same(buffer: Bytes, at: Ints, model: int, size: int) -> Bools:
    """Return a mask of positions whose next `size` bytes, at most eight, equal those of the model."""
    words: npt.NDArray[np.uint64] = np.ndarray((max(0, len(buffer) - _WORD.itemsize + 1),), _WORD, buffer, 0, (1,))
    inside = at < len(words)
    if not len(words) or model >= len(words):
        return np.zeros(len(at), bool)
    mask = np.uint64((1 << (8 * size)) - 1)
    same: Bools = ((words[np.where(inside, at, 0)] ^ words[model]) & mask) == 0
    return same & inside


def select(records: Records, rows: Bools) -> Records:
    p = records.spans
    spans = RecordSpans(p.buffer, p.key_start[rows], p.key_length[rows], p.value_start[rows], p.value_length[rows])
    return Records(
        spans,
        records.offset[rows],
        records.timestamp[rows],
        records.batch[rows],
        records.headers,
        records.damage,
    )


def _one_record(buffer: Bytes, at: Ints, stop: Ints) -> tuple[Bools, dict[str, Ints], Ints]:
    """Return a mask of readable records, their columns, and the positions of the next ones."""
    good = np.ones(len(at), bool)

    def varint(at: Ints) -> tuple[Ints, Ints]:
        nonlocal good
        value, after, fits = _zigzag(buffer, at, stop)
        good &= fits
        return value, after

    length, at = varint(at)
    after = at + length
    good &= (length >= 0) & (after <= stop)
    time_delta, at = varint(at + 1)
    offset_delta, at = varint(at)
    key_length, at = varint(at)
    key_start = at
    value_length, at = varint(at + np.maximum(key_length, 0))
    good &= (key_length >= -1) & (value_length >= -1) & (at + np.maximum(value_length, 0) <= after)
    values = {
        "offset": offset_delta,
        "time": time_delta,
        "ks": key_start,
        "kl": key_length,
        "vs": at,
        "vl": value_length,
    }
    return good, values, after


def _zigzag(buffer: Bytes, at: Ints, stop: Ints) -> tuple[Ints, Ints, Bools]:
    fits = (at >= 0) & (at < stop)
    first = buffer[at if fits.all() else np.where(fits, at, 0)]
    after = at + 1
    if not (first >= 0x80).any():
        return _IN_ONE_BYTE[first], after, fits
    byte = first.astype(np.uint64)
    raw = byte & np.uint64(0x7F)
    more = np.flatnonzero(fits & (byte >= 0x80))
    shift = 7
    while len(more):
        inside = after[more] < stop[more]
        fits[more[~inside]] = False
        more = more[inside]
        if shift > 63:
            fits[more] = False
            break
        byte = buffer[after[more]].astype(np.uint64)
        raw[more] |= (byte & np.uint64(0x7F)) << np.uint64(shift)
        after[more] += 1
        more = more[byte >= 0x80]
        shift += 7
    value = (raw >> np.uint64(1)).view(np.int64) ^ -(raw & np.uint64(1)).view(np.int64)
    return value, after, fits
