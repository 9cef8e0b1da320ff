"""Takes log segment files apart: record batches of format 2, many at a time.

A file is walked once from batch header to batch header; inside, the n-th records of all batches are read in one numpy
step, for offsets, times, and where key and value lie. Source: KIP-98 and the record format page of Kafka's docs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import google_crc32c
import numpy as np

from kohort.pipeline.records.offset_commits import Bools, Bytes, Ints, RecordSpans
from kohort.protocol.compression import decompress
from kohort.protocol.errors import DecodeError

HEADER_SIZE = 61
"""From the base offset to the record count."""
_LENGTH = struct.Struct(">i")
_LENGTH_AND_OFFSET = 12
_CHECKED_FROM = 21
_CONTROL, _TRANSACTIONAL, _CODEC = 0x20, 0x10, 0x07
LARGEST_TEAR = 128 << 20
"""A batch is never so long that more than this is missing of it: its length is wrong."""
_RECORDS_AT_ONCE = 200_000
_IN_ONE_BYTE = np.array([(n >> 1) ^ -(n & 1) for n in range(0x80)], np.int64)
"""Zigzag numbers of one byte: most are."""


@dataclass(slots=True)
class Damage:
    """A stretch of a file that could not be read, and why; reading went on after it where that was possible."""

    position: int
    reason: str
    offset: int = -1


@dataclass(slots=True)
class Headers:
    """Headers of a run of batches, in columns: a file can hold a million of them."""

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

    def where(self, which: slice | Bools) -> Headers:
        return Headers(*(getattr(self, name)[which] for name in self.__slots__))

    @property
    def is_control(self) -> Bools:
        found: Bools = (self.attributes & _CONTROL) != 0
        return found

    @property
    def is_transactional(self) -> Bools:
        found: Bools = (self.attributes & _TRANSACTIONAL) != 0
        return found

    @property
    def codec(self) -> Ints:
        return self.attributes & _CODEC


@dataclass(slots=True)
class Records:
    """Records of a run of batches, in log order; `batch` is the index into `headers`."""

    spans: RecordSpans
    offset: Ints
    timestamp: Ints
    batch: Ints
    headers: Headers
    damage: list[Damage] = field(default_factory=list)


def read_headers(data: bytes, damage: list[Damage]) -> Headers:
    """Headers of the sound batches of a file. A torn last batch is normal and ends the file with a note."""
    at = _positions(data, damage)
    if not len(at):
        return Headers(*(np.zeros(0, np.int64) for _ in Headers.__slots__))
    raw = np.frombuffer(data, np.uint8)

    def number(offset: int, size: int) -> Ints:
        overlapping: Ints = np.ndarray((len(raw) - size + 1,), f">i{size}", raw, 0, (1,))
        return overlapping[at + offset].astype(np.int64)

    base, length, count = number(0, 8), number(8, 4), number(57, 4)
    headers = Headers(
        at, base, length, number(12, 4), number(21, 2), base + number(23, 4), number(27, 8), number(43, 8), count
    )
    magic, crc, stop = raw[at + 16], number(17, 4) & 0xFFFFFFFF, at + _LENGTH_AND_OFFSET + length
    checked = map(data.__getitem__, map(slice, (at + _CHECKED_FROM).tolist(), stop.tolist()))
    matches = np.fromiter(map(google_crc32c.value, checked), np.int64, len(at)) == crc
    sound: Bools = (magic == 2) & (count >= 0) & (count <= length) & matches
    if sound.all():
        return headers
    for n in np.flatnonzero(~sound).tolist():
        if magic[n] != 2:
            reason = f"record format {magic[n]}, older than 0.11: not read"
        elif not matches[n]:
            reason = "checksum does not match: batch left out"
        else:
            reason = f"{count[n]} records in {length[n]} bytes: batch left out"
        damage.append(Damage(int(at[n]), reason, int(base[n])))
    return headers.where(sound)


def _positions(data: bytes, damage: list[Damage]) -> Ints:
    """Where batches begin, by their lengths alone."""
    found: list[int] = []
    at, end, length_at = 0, len(data), _LENGTH.unpack_from
    while at + _LENGTH_AND_OFFSET <= end:
        length = length_at(data, at + 8)[0]
        stop = at + _LENGTH_AND_OFFSET + length
        if length < HEADER_SIZE - _LENGTH_AND_OFFSET or stop > end:
            damage.append(Damage(at, _why_it_ends(data, at, length, stop)))
            return np.array(found, np.int64)
        found.append(at)
        at = stop
    if at < end:
        damage.append(Damage(at, f"torn batch: {end - at} bytes at the end of the file"))
    return np.array(found, np.int64)


def _why_it_ends(data: bytes, at: int, length: int, stop: int) -> str:
    if length == 0 and not any(data[at : at + HEADER_SIZE]):
        return "zeros to the end: a preallocated segment"
    if length > 0 and stop > len(data):
        if stop - len(data) > LARGEST_TEAR:
            return f"batch length {length} is more than the file holds; its last {len(data) - at} bytes are not read"
        return f"torn batch: {stop - len(data)} bytes are missing at the end of the file"
    return f"batch length {length} can't be; the last {len(data) - at} bytes of the file are not read"


def read_segment(data: bytes | memoryview, records_at_once: int = _RECORDS_AT_ONCE) -> Iterator[Records]:
    """A whole segment file, in runs of about `records_at_once` records, control records included."""
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
        yield _read_run(data, headers.where(slice(first, last)), damage if first == 0 else [])


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
    """Reads the first record of every batch, then the second of every batch that has one, and so on."""
    count = headers.count
    total = int(count.sum())
    row_of = np.cumsum(count) - count
    columns = {name: np.zeros(total, np.int64) for name in ("offset", "time", "ks", "kl", "vs", "vl")}
    batch_of = np.repeat(np.arange(len(headers), dtype=np.int64), count)
    sound = np.ones(total, bool)
    lanes = np.flatnonzero(count > 0)
    for step in range(int(count.max(initial=0))):
        lanes = lanes[count[lanes] > step]
        rows = row_of[lanes] + step
        good, values, after = _one_record(buffer, at[lanes], stop[lanes])
        values["offset"] += headers.base_offset[lanes]
        values["time"] += headers.base_timestamp[lanes]
        for name, column in columns.items():
            column[rows] = values[name]
        if not good.all():
            for lane in lanes[~good].tolist():
                reason = f"record {step} of the batch can't be read; it and those after it are left out"
                damage.append(Damage(int(headers.position[lane]), reason, int(headers.base_offset[lane])))
                sound[row_of[lane] + step : row_of[lane] + count[lane]] = False
            lanes, after = lanes[good], after[good]
        at[lanes] = after
    spans = RecordSpans(buffer, *(columns[name] for name in ("ks", "kl", "vs", "vl")))
    result = Records(spans, columns["offset"], columns["time"], batch_of, headers, damage)
    return result if sound.all() else select(result, sound)


def select(records: Records, which: Bools) -> Records:
    """The records for which `which` is True."""
    p = records.spans
    spans = RecordSpans(p.buffer, p.key_start[which], p.key_length[which], p.value_start[which], p.value_length[which])
    return Records(
        spans,
        records.offset[which],
        records.timestamp[which],
        records.batch[which],
        records.headers,
        records.damage,
    )


def _one_record(buffer: Bytes, at: Ints, stop: Ints) -> tuple[Bools, dict[str, Ints], Ints]:
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
