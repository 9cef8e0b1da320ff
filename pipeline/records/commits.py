"""Offset commits by the hundred thousand: the same answer as `codec`, in numpy.

The input is one buffer with four arrays that say where each record's key and value lie in it, so that segment files
and Arrow columns take the same way. Rows that are odd in any respect are not guessed at: `fast` is False for them and
the caller hands them to the plain decoder.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kohort.pipeline.records.layouts import OFFSET_COMMIT

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]

_EVEN_PADDING = 16
_WITHOUT_ID = bytes(16)


@dataclass(slots=True)
class Places:
    """Where records lie in `buffer`: starts and lengths of keys and values, length -1 for null."""

    buffer: Bytes
    key_start: Ints
    key_length: Ints
    value_start: Ints
    value_length: Ints

    def __len__(self) -> int:
        return len(self.key_start)

    def key(self, row: int) -> bytes | None:
        return self._bytes(self.key_start[row], self.key_length[row])

    def value(self, row: int) -> bytes | None:
        return self._bytes(self.value_start[row], self.value_length[row])

    def _bytes(self, start: int, length: int) -> bytes | None:
        return None if length < 0 else self.buffer[start : start + length].tobytes()


@dataclass(slots=True)
class Commits:
    """Columns of the rows that were read; `rows` are their indexes in the input.

    Tombstones have version -1 and offset -1. topic_id is 16 bytes a row, zero where there is none.
    """

    rows: Ints
    group: pa.Array
    topic: pa.Array
    partition: Ints
    version: Ints
    offset: Ints
    leader_epoch: Ints
    metadata: pa.Array
    commit_ts_ms: Ints
    expire_ts_ms: Ints
    topic_id: Bytes


class _Buffer:
    """Reads big-endian numbers at many places at once; every place is inside, or clipped and the row given up."""

    def __init__(self, data: Bytes) -> None:
        self.data = data if len(data) >= _EVEN_PADDING else np.concatenate((data, np.zeros(_EVEN_PADDING, np.uint8)))
        self.windows = {n: np.lib.stride_tricks.sliding_window_view(self.data, n) for n in (2, 4, 8, 16)}

    def byte(self, at: Ints) -> Ints:
        return self.data[np.clip(at, 0, len(self.data) - 1)].astype(np.int64)

    def number(self, at: Ints, size: int) -> Ints:
        return self.raw(at, size).view(f">i{size}").reshape(-1).astype(np.int64)

    def raw(self, at: Ints, size: int) -> Bytes:
        return np.ascontiguousarray(self.windows[size][np.clip(at, 0, len(self.data) - size)])


def text_array(buffer: Bytes, start: Ints, length: Ints) -> pa.Array:
    """The strings at these places as one Arrow array; the bytes are copied, not looked at."""
    ends = np.cumsum(length)
    total = int(ends[-1]) if len(ends) else 0
    shift = np.repeat(start - (ends - length), length)
    data = buffer[shift + np.arange(total, dtype=np.int64)]
    offsets = np.zeros(len(length) + 1, np.int32)
    offsets[1:] = ends
    return pa.StringArray.from_buffers(len(length), pa.py_buffer(offsets), pa.py_buffer(data))


def is_commit(places: Places) -> Bools:
    """Rows whose key says offset commit, readable or not."""
    read = _Buffer(places.buffer)
    kind = read.number(places.key_start, 2)
    found: Bools = (places.key_length >= 2) & ((kind == OFFSET_COMMIT) | (kind == 0))
    return found


def read_commits(places: Places) -> Commits:
    """Every offset commit among the rows that has nothing odd about it."""
    read = _Buffer(places.buffer)
    rows = np.flatnonzero((places.key_length >= 10) & (read.number(places.key_start, 2) == OFFSET_COMMIT))
    start, length = places.key_start[rows], places.key_length[rows]
    group_length = read.number(start + 2, 2)
    ok = (group_length >= 0) & (group_length + 10 <= length)
    topic_length = read.number(start + 4 + group_length, 2)
    ok &= (topic_length >= 0) & (group_length + topic_length + 10 == length)
    value_start, value_length = places.value_start[rows], places.value_length[rows]
    tombstone = value_length < 0
    version = np.where(tombstone, -1, read.number(value_start, 2))
    ok &= tombstone | (value_length >= 18) & (version >= 0) & (version <= 4)

    with_epoch = version >= 3
    leader_epoch = np.where(with_epoch, read.number(value_start + 10, 4), -1)
    at = value_start + np.where(with_epoch, 14, 10)
    metadata_length, at = _metadata_length(read, at, version)
    metadata_start = at
    ok &= tombstone | (metadata_length >= 0) & (at + metadata_length + 8 <= value_start + value_length)
    at = at + metadata_length
    commit_ts = read.number(at, 8)
    at = at + 8
    with_expiry = version == 1
    expire_ts = np.where(with_expiry, read.number(at, 8), -1)
    at = at + np.where(with_expiry, 8, 0)
    tagged = (version == 4) & (read.byte(at) == 1)
    ok &= (version != 4) | (read.byte(at) == 0) | (tagged & (read.byte(at + 1) == 0) & (read.byte(at + 2) == 16))
    topic_id_at = at + 3
    at = at + np.where(version == 4, np.where(tagged, 19, 1), 0)
    ok &= tombstone | (at == value_start + value_length)

    texts = [
        (start + 4, group_length),
        (start + 6 + group_length, topic_length),
        (metadata_start, np.where(tombstone, 0, metadata_length)),
    ]
    ok &= _ascii(places.buffer, texts, ok)
    keep = np.flatnonzero(ok)
    group, topic, metadata = (text_array(places.buffer, at[keep], size[keep]) for at, size in texts)
    gone = tombstone[keep]
    topic_id = np.zeros((len(keep), 16), np.uint8)
    named = tagged[keep]
    if named.any():
        topic_id[named] = read.raw(topic_id_at[keep][named], 16)
    return Commits(
        rows=rows[keep],
        group=group,
        topic=topic,
        partition=read.number(start + 6 + group_length + topic_length, 4)[keep],
        version=version[keep],
        offset=np.where(gone, -1, read.number(value_start + 2, 8)[keep]),
        leader_epoch=np.where(gone, -1, leader_epoch[keep]),
        metadata=metadata,
        commit_ts_ms=np.where(gone, -1, commit_ts[keep]),
        expire_ts_ms=np.where(gone, -1, expire_ts[keep]),
        topic_id=topic_id,
    )


def _metadata_length(read: _Buffer, at: Ints, version: Ints) -> tuple[Ints, Ints]:
    """Length of the metadata and where it begins. Compact lengths of three bytes and more are given up as -1."""
    first, second = read.byte(at), read.byte(at + 1)
    two = first >= 0x80
    compact = np.where(two, np.where(second >= 0x80, 0, (first & 0x7F) | (second << 7)), first) - 1
    # a length written in two bytes that fits one is legal, so no check for it
    plain = read.number(at, 2)
    is_compact = version == 4
    return np.where(is_compact, compact, plain), at + np.where(is_compact, np.where(two, 2, 1), 2)


def _ascii(buffer: Bytes, texts: list[tuple[Ints, Ints]], ok: Bools) -> Bools:
    """False for rows with a byte above 127 in a text: only the plain decoder judges UTF-8."""
    result = np.ones(len(ok), bool)
    for at, size in texts:
        size = np.where(ok, size, 0)
        ends = np.cumsum(size)
        total = int(ends[-1]) if len(ends) else 0
        if not total:
            continue
        high = buffer[np.repeat(at - (ends - size), size) + np.arange(total, dtype=np.int64)] > 127
        if high.any():
            counts = np.concatenate(([0], np.cumsum(high)))
            result &= counts[ends] == counts[ends - size]
    return result


def places_of(keys: pa.BinaryArray, values: pa.BinaryArray) -> Places:
    """Two Arrow columns as places in one buffer."""
    key_data, key_start, key_length = _binary(keys)
    value_data, value_start, value_length = _binary(values)
    buffer = np.concatenate((key_data, value_data))
    return Places(buffer, key_start, key_length, value_start + len(key_data), value_length)


def _binary(column: pa.BinaryArray) -> tuple[Bytes, Ints, Ints]:
    _validity, offsets, data = column.buffers()
    width = np.int64 if pa.types.is_large_binary(column.type) else np.int32
    ends = np.frombuffer(offsets, width)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    length = np.diff(ends)
    if column.null_count:
        length = np.where(column.is_null().to_numpy(zero_copy_only=False), -1, length)
    raw = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return raw, ends[:-1], length
