"""Takes log segment files apart: record batches of format 2, many at a time.

A file is walked once from batch header to batch header; inside, the n-th records of all batches are read in one numpy
step, for offsets, times, and where key and value lie. Source: KIP-98 and the record format page of Kafka's docs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

import google_crc32c
import numpy as np

from kohort.pipeline.records.commits import Bools, Bytes, Ints, Places
from kohort.protocol.compression import decompress
from kohort.protocol.errors import DecodeError

HEADER = struct.Struct(">qiibIhiqqqhii")  # 61 bytes, from the base offset to the record count
_LENGTH_AND_OFFSET = 12
_CHECKED_FROM = 21
_DELETE_HORIZON, _CONTROL, _TRANSACTIONAL, _CODEC = 0x40, 0x20, 0x10, 0x07
_RECORDS_AT_ONCE = 200_000


@dataclass(slots=True)
class Damage:
    """A stretch of a file that could not be read, and why; reading went on after it where that was possible."""

    position: int
    reason: str
    offset: int = -1


@dataclass(slots=True)
class Header:
    position: int
    base_offset: int
    length: int
    leader_epoch: int
    attributes: int
    last_offset: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    count: int

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & _CONTROL)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def codec(self) -> int:
        return self.attributes & _CODEC


@dataclass(slots=True)
class Records:
    """Records of a run of batches, in log order; `batch` is the index into `headers`."""

    places: Places
    offset: Ints
    timestamp: Ints
    batch: Ints
    headers: list[Header]
    damage: list[Damage] = field(default_factory=list)

    def per_record(self, name: str) -> Ints:
        return np.array([getattr(header, name) for header in self.headers], np.int64)[self.batch]


def read_headers(data: memoryview, damage: list[Damage]) -> Iterator[Header]:
    """Headers of the sound batches of a file. A torn last batch is normal and ends the file with a note."""
    at, end = 0, len(data)
    while at + _LENGTH_AND_OFFSET <= end:
        length = int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
        stop = at + _LENGTH_AND_OFFSET + length
        if length == 0 and not any(data[at : at + HEADER.size]):
            damage.append(Damage(at, "zeros to the end: a preallocated segment"))
            return
        if length < HEADER.size - _LENGTH_AND_OFFSET:
            damage.append(Damage(at, f"batch length {length}; the rest of the file is not read"))
            return
        if stop > end:
            damage.append(Damage(at, f"torn batch: {stop - end} bytes are missing at the end of the file"))
            return
        fields = HEADER.unpack_from(data, at)
        magic, crc, attributes, count = fields[3], fields[4], fields[5], fields[12]
        if magic != 2:
            damage.append(Damage(at, f"record format {magic}, older than 0.11: not read", fields[0]))
        elif google_crc32c.value(bytes(data[at + _CHECKED_FROM : stop])) != crc:
            damage.append(Damage(at, "checksum does not match: batch left out", fields[0]))
        elif count < 0 or count > length:
            damage.append(Damage(at, f"{count} records in {length} bytes: batch left out", fields[0]))
        else:
            yield Header(
                at, fields[0], length, fields[2], attributes, fields[0] + fields[6], fields[7], fields[8], fields[9],
                count,
            )  # fmt: skip
        at = stop
    if at < end:
        damage.append(Damage(at, f"torn batch: {end - at} bytes at the end of the file"))


def read_segment(data: bytes | memoryview, records_at_once: int = _RECORDS_AT_ONCE) -> Iterator[Records]:
    """A whole segment file, in runs of about `records_at_once` records, control records included."""
    view = memoryview(data)
    damage: list[Damage] = []
    run: list[Header] = []
    waiting = 0
    for header in read_headers(view, damage):
        run.append(header)
        waiting += header.count
        if waiting >= records_at_once:
            yield _read_run(view, run, damage)
            run, waiting, damage = [], 0, damage
            damage.clear()
    if run or damage:
        yield _read_run(view, run, damage)


def _read_run(view: memoryview, headers: list[Header], damage: list[Damage]) -> Records:
    damage = list(damage)
    first = headers[0].position if headers else 0
    last = headers[-1].position + _LENGTH_AND_OFFSET + headers[-1].length if headers else 0
    blocks = [np.frombuffer(view[first:last], np.uint8)]
    size = last - first
    starts, stops = [], []
    for header in headers:
        start = header.position - first + HEADER.size
        stop = header.position - first + _LENGTH_AND_OFFSET + header.length
        if header.codec:
            try:
                block = decompress(header.codec, bytes(view[first + start : first + stop]))
            except DecodeError as error:
                damage.append(Damage(header.position, str(error), header.base_offset))
                header.count = 0
                block = b""
            blocks.append(np.frombuffer(block, np.uint8))
            start, stop = size, size + len(block)
            size = stop
        starts.append(start)
        stops.append(stop)
    buffer = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
    return _walk(buffer, headers, np.array(starts, np.int64), np.array(stops, np.int64), damage)


def _walk(buffer: Bytes, headers: list[Header], at: Ints, stop: Ints, damage: list[Damage]) -> Records:
    """Reads the first record of every batch, then the second of every batch that has one, and so on."""
    count = np.array([header.count for header in headers], np.int64)
    base_offset = np.array([header.base_offset for header in headers], np.int64)
    base_time = np.array([header.base_timestamp for header in headers], np.int64)
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
        values["offset"] += base_offset[lanes]
        values["time"] += base_time[lanes]
        for name, column in columns.items():
            column[rows] = values[name]
        if not good.all():
            for lane in lanes[~good]:
                header = headers[lane]
                reason = f"record {step} of the batch can't be read; it and those after it are left out"
                damage.append(Damage(header.position, reason, header.base_offset))
                sound[row_of[lane] + step : row_of[lane] + header.count] = False
            lanes, after = lanes[good], after[good]
        at[lanes] = after
    places = Places(buffer, *(columns[name] for name in ("ks", "kl", "vs", "vl")))
    result = Records(places, columns["offset"], columns["time"], batch_of, headers, damage)
    return result if sound.all() else select(result, sound)


def select(records: Records, which: Bools) -> Records:
    """The records for which `which` is True."""
    p = records.places
    places = Places(p.buffer, p.key_start[which], p.key_length[which], p.value_start[which], p.value_length[which])
    return Records(
        places,
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
    byte = buffer[np.where(fits, at, 0)].astype(np.uint64)
    raw = byte & np.uint64(0x7F)
    after = at + 1
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
