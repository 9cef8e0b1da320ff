"""Bulk decoder of offset commits in numpy, with the same results as `codec`.

The input is one buffer with four arrays of the positions of each record's key and value, so that segment files and
Arrow columns are read in the same way. Irregular rows are not guessed: `fast` is False for them and the caller passes
them to the plain decoder.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kohort.protocol.records.layouts import OFFSET_COMMIT

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]

_EVEN_PADDING = 16
_SHORTEST_KEY = 10
_TAGGED_ID = 18  # bytes that a topic id adds to a value of version 4: tag number, size, id
_FEW = 1 << 15  # codes of 16 bits are sorted by counting


@dataclass(slots=True)
class RecordSpans:
    """Positions of records in `buffer`: starts and lengths of keys and values, with length -1 for null."""

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

    Tombstones have version -1 and offset -1.

    Attributes:
        topic_id: 16 bytes per row, zero without an id.
        key: Index of the row's distinct key, as in `groups` and `topics`.
    """

    rows: Ints
    key: Ints
    groups: pa.Array
    topics: pa.Array
    partition: Ints
    version: Ints
    offset: Ints
    leader_epoch: Ints
    metadata: pa.Array
    commit_ts_ms: Ints
    expire_ts_ms: Ints
    topic_id: Bytes


class _Buffer:
    """Reads at many positions at once. Positions outside are clamped; their rows are rejected by their lengths."""

    def __init__(self, data: Bytes) -> None:
        data = data if len(data) >= _EVEN_PADDING else np.concatenate((data, np.zeros(_EVEN_PADDING, np.uint8)))
        self.data = np.ascontiguousarray(data)

    def number(self, at: Ints, size: int) -> Ints:
        clipped = np.clip(at, 0, len(self.data) - size)
        return self._overlapping(f">i{size}", size)[clipped].astype(np.int64)

    def rows(self, at: Ints, size: int) -> Bytes:
        """Return `size` bytes from each position as a matrix. All positions must be inside."""
        if not size:
            return np.zeros((len(at), 0), np.uint8)
        return self._overlapping(f"V{size}", size)[at].view(np.uint8).reshape(len(at), size)

    def _overlapping(self, kind: str, size: int) -> npt.NDArray[Any]:
        """Return a view with one element per byte: gathering whole elements costs a tenth of gathering single bytes."""
        return np.ndarray((len(self.data) - size + 1,), kind, self.data, 0, (1,))


def text_array(buffer: Bytes, start: Ints, length: Ints) -> pa.Array:
    """Return the strings at these positions as one Arrow array; the bytes are copied without validation."""
    ends = np.cumsum(length)
    total = int(ends[-1]) if len(ends) else 0
    shift = np.repeat(start - (ends - length), length)
    data = buffer[shift + np.arange(total, dtype=np.int64)]
    offsets = np.zeros(len(length) + 1, np.int32)
    offsets[1:] = ends
    return pa.StringArray.from_buffers(len(length), pa.py_buffer(offsets), pa.py_buffer(data))


def read_commits(spans: RecordSpans) -> Commits:
    """Return every regular offset commit among the rows.

    There are few distinct keys, so each is read once. Values are sorted by shape (length, version, length of the
    metadata): within a shape every field has the same position.
    """
    read = _Buffer(spans.buffer)
    rows = np.flatnonzero((spans.key_length >= _SHORTEST_KEY) & (read.number(spans.key_start, 2) == OFFSET_COMMIT))
    keys, key_of = _distinct(read, spans.key_start[rows], spans.key_length[rows])
    group, topic, partition, ok = _keys(read, spans.key_start[rows[keys]], spans.key_length[rows[keys]])
    values = _values(read, spans.value_start[rows], spans.value_length[rows])
    values.ok &= ok[key_of]
    values.ok &= _ascii(spans.buffer, values.metadata_start, values.metadata_length, values.ok)
    everything = bool(values.ok.all())
    keep = slice(None) if everything else np.flatnonzero(values.ok)
    key_of = key_of[keep]
    return Commits(
        rows=rows[keep],
        key=key_of,
        groups=group,
        topics=topic,
        partition=partition[key_of],
        version=values.version[keep],
        offset=values.offset[keep],
        leader_epoch=values.leader_epoch[keep],
        metadata=text_array(spans.buffer, values.metadata_start[keep], values.metadata_length[keep]),
        commit_ts_ms=values.commit_ts_ms[keep],
        expire_ts_ms=values.expire_ts_ms[keep],
        topic_id=values.topic_id[keep],
    )


def _distinct(read: _Buffer, start: Ints, length: Ints) -> tuple[Ints, Ints]:
    """Return a row for each distinct text, and the index of each row's text."""
    firsts: list[Ints] = []
    indexes = np.zeros(len(start), np.int64)
    count = 0
    for size, mine in alike(length):
        raw = read.rows(start[mine], size)
        fixed = pa.FixedSizeBinaryArray.from_buffers(pa.binary(size), len(raw), [None, pa.py_buffer(raw)])
        code = fixed.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
        first = np.zeros(int(code.max()) + 1, np.int64)
        first[code[::-1]] = np.arange(len(code) - 1, -1, -1)
        indexes[mine] = code + count
        firsts.append(np.arange(len(start), dtype=np.int64)[mine][first])
        count += len(first)
    return np.concatenate(firsts) if firsts else np.zeros(0, np.int64), indexes


def alike(values: Ints) -> Iterator[tuple[int, slice | Ints]]:
    """Yield every distinct value with its rows."""
    if not len(values):
        return
    if (values == values[0]).all():
        yield int(values[0]), slice(None)
        return
    encoded = pa.array(values).dictionary_encode()
    code = encoded.indices.to_numpy(zero_copy_only=False)
    order = np.argsort(code.astype(np.int16) if len(encoded.dictionary) < _FEW else code, kind="stable")
    edges = np.flatnonzero(np.diff(code[order])) + 1
    for mine in np.split(order, edges):
        yield int(values[mine[0]]), mine


def _keys(read: _Buffer, start: Ints, length: Ints) -> tuple[pa.Array, pa.Array, Ints, Bools]:
    """Return group, topic and partition of keys, and False for those that need the plain decoder."""
    group_length = read.number(start + 2, 2)
    ok = (group_length >= 0) & (group_length + _SHORTEST_KEY <= length)
    topic_length = read.number(start + 4 + group_length, 2)
    ok &= (topic_length >= 0) & (group_length + topic_length + _SHORTEST_KEY == length)
    group_length, topic_length = np.where(ok, group_length, 0), np.where(ok, topic_length, 0)
    topic_start = start + 6 + group_length
    for at, size in ((start + 4, group_length), (topic_start, topic_length)):
        ok &= _ascii(read.data, at, size, ok)
    # of the others no byte goes into a text: it needn't be one
    group_length, topic_length = np.where(ok, group_length, 0), np.where(ok, topic_length, 0)
    group, topic = text_array(read.data, start + 4, group_length), text_array(read.data, topic_start, topic_length)
    return group, topic, read.number(topic_start + topic_length, 4), ok


class _Values:
    """Columns of commit values, initialized as tombstones."""

    def __init__(self, length: int) -> None:
        self.ok = np.ones(length, bool)
        self.version, self.offset, self.leader_epoch, self.commit_ts_ms, self.expire_ts_ms = (
            np.full(length, -1, np.int64) for _ in range(5)
        )
        self.metadata_start, self.metadata_length = np.zeros(length, np.int64), np.zeros(length, np.int64)
        self.topic_id = np.zeros((length, 16), np.uint8)


def _values(read: _Buffer, start: Ints, length: Ints) -> _Values:
    values = _Values(len(start))
    version = np.where(length >= 2, read.number(start, 2), -1)
    at = np.where(version >= 3, 14, 10)
    # the two bytes before the metadata contain its length; a compact length of one byte leaves the second unused
    size = read.number(start + at, 2) & 0xFFFF
    size = np.where((version == 4) & (size < 0x8000), size & 0xFF00, size)
    shape = np.where(length < 0, -1, (length << 32) | ((version & 0xFFFF) << 16) | size)
    for kind, mine in alike(shape):
        if kind >= 0:
            _shape(values, read, start, mine, kind >> 32, (kind >> 16) & 0xFFFF, kind & 0xFFFF)
    return values


def _shape(
    values: _Values, read: _Buffer, start: Ints, mine: slice | Ints, length: int, version: int, size: int
) -> None:
    """Fill in the rows of one shape, or reject them."""
    at = 14 if version >= 3 else 10
    metadata, metadata_length = at + 2, size
    if version == 4:
        metadata, metadata_length = _compact(at, size)
    committed = metadata + metadata_length
    end = committed + 8 + (8 if version == 1 else 0) + (1 if version == 4 else 0)
    tagged = version == 4 and length == end + _TAGGED_ID
    if not 0 <= version <= 4 or not 0 <= metadata_length < 0x8000 or not (length == end or tagged):
        values.ok[mine] = False
        return
    begins = start[mine]
    raw = read.rows(begins, length)

    def field(place: int, width: int) -> npt.NDArray[Any]:
        return np.ndarray((len(raw),), f">i{width}", raw, place, (length,))

    if version == 4:
        # after the fields: how many tags; the one that is known: number 0, 16 bytes
        values.ok[mine] &= raw[:, committed + 8] == tagged
        if tagged:
            values.ok[mine] &= (raw[:, committed + 9] == 0) & (raw[:, committed + 10] == 16)
            values.topic_id[mine] = raw[:, committed + 11 : committed + 27]
    values.version[mine] = version
    values.offset[mine] = field(2, 8)
    if version >= 3:
        values.leader_epoch[mine] = field(10, 4)
    values.metadata_start[mine], values.metadata_length[mine] = begins + metadata, metadata_length
    values.commit_ts_ms[mine] = field(committed, 8)
    if version == 1:
        values.expire_ts_ms[mine] = field(committed + 8, 8)


def _compact(at: int, size: int) -> tuple[int, int]:
    """Return start and length of metadata by its compact length, or -1 if the length takes three bytes or more."""
    first, second = size >> 8, size & 0xFF
    if first < 0x80:
        return at + 1, first - 1
    return at + 2, -1 if second >= 0x80 else ((first & 0x7F) | (second << 7)) - 1


def _ascii(buffer: Bytes, at: Ints, size: Ints, ok: Bools) -> Bools:
    """Set `ok` to False for rows with a byte above 127 in a text: only the plain decoder validates UTF-8."""
    result = np.ones(len(ok), bool)
    some = np.flatnonzero(ok & (size > 0))
    at, size = at[some], size[some]
    ends = np.cumsum(size)
    if not len(ends):
        return result
    high = buffer[np.repeat(at - (ends - size), size) + np.arange(int(ends[-1]), dtype=np.int64)] > 127
    if high.any():
        counts = np.concatenate(([0], np.cumsum(high)))
        result[some] = counts[ends] == counts[ends - size]
    return result
