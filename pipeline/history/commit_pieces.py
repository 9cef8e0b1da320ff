"""Commits of a group, read in chunks: a group may have fifty million commits, and one process holds them.

Each commit takes 30 bytes while chunks arrive. After that each partition has its own three columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.pipeline.history.inputs import PartitionCommits, TopicPartition
from kohort.pipeline.records.offset_commits import Ints

COMMIT_COLUMNS = (
    "partition", "offset", "ts_ms", "topic", "part", "committed_offset", "is_tombstone", "txn", "expire_ts_ms", "rank",
)  # fmt: skip
_TOMBSTONE, _EXPIRES, _UNDONE = 1, 2, 4
_HALF = 1 << 31  # added to a partition number to make it positive, even in a damaged record
_UNDONE_STATES = ("aborted", "pending")
_KINDS = {
    "offset": np.int64,
    "ts_ms": np.int64,
    "committed_offset": np.int64,
    "place": np.int32,
    "rank": np.int8,
    "flags": np.uint8,
}

Columns = dict[str, np.ndarray[tuple[int], np.dtype[Any]]]


class CommitPieces:
    """Commits of one group, added in any order.

    Attributes:
        undone: Number of commits of aborted and pending transactions, which don't count.
        conflicts: Positions in the log for which two sources hold different commits.
    """

    def __init__(self, pieces: Iterable[pa.Table]) -> None:
        self._places: dict[TopicPartition, int] = {}
        self.undone = self.conflicts = 0
        chunks = sorted(
            (self._read_chunk(piece) for piece in pieces if len(piece)), key=lambda columns: int(columns["offset"][0])
        )
        self._columns: Columns = {}
        for name, kind in _KINDS.items():  # one column after the other, so that hardly anything is there twice
            self._columns[name] = (
                np.concatenate([columns.pop(name) for columns in chunks]) if chunks else np.zeros(0, kind)
            )
        if np.any(self._columns["offset"][1:] <= self._columns["offset"][:-1]):
            self._each_once()
        undone = (self._columns["flags"] & _UNDONE) != 0
        self.undone = int(np.count_nonzero(undone))
        if self.undone:
            self._keep(np.flatnonzero(~undone))

    def _read_chunk(self, piece: pa.Table) -> Columns:
        """Return the columns of the commits that count, in the order of the chunk."""
        flags = _flags(piece["is_tombstone"], _TOMBSTONE)
        # Most pieces have a few rows, and neither transactions nor retention times: each call to Arrow counts.
        if piece["expire_ts_ms"].null_count < len(piece):
            flags |= _flags(pc.is_valid(piece["expire_ts_ms"]), _EXPIRES)
        if piece["txn"].null_count < len(piece):
            undone = pc.is_in(piece["txn"].cast(pa.string()), value_set=pa.array(_UNDONE_STATES))
            flags |= _flags(undone, _UNDONE)
        ints = {name: _ints(piece[name]) for name in ("offset", "ts_ms", "committed_offset", "rank")}
        columns: Columns = {name: values.astype(_KINDS[name]) for name, values in ints.items()}
        return columns | {"place": self._place(piece["topic"], _ints(piece["part"])), "flags": flags}

    def _place(self, topic: pa.ChunkedArray, part: Ints) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        encoded = topic.cast(pa.string()).dictionary_encode().unify_dictionaries()
        names = encoded.chunk(0).dictionary.to_pylist()
        code = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in encoded.chunks])
        both, number_of = np.unique((code.astype(np.int64) << 32) + (part + _HALF), return_inverse=True)
        topic_partitions = [(names[packed >> 32], (packed & 0xFFFF_FFFF) - _HALF) for packed in both.tolist()]
        numbers = [self._places.setdefault(topic_partition, len(self._places)) for topic_partition in topic_partitions]
        return np.array(numbers, np.int32)[number_of]

    def _each_once(self) -> None:
        """Sort by log order and drop duplicates. Of several sources the one with the lowest rank counts."""
        offset = self._columns["offset"]
        order = np.lexsort((self._columns["rank"], offset))
        is_duplicate = np.diff(offset[order]) == 0
        differs = np.diff(self._columns["committed_offset"][order]) != 0
        self.conflicts = int(np.count_nonzero(is_duplicate & differs))
        self._keep(order[np.concatenate(([True], ~is_duplicate))])

    def _keep(self, rows: Ints) -> None:
        for name in _KINDS:
            self._columns[name] = self._columns[name][rows]

    def by_partition(self) -> dict[TopicPartition, PartitionCommits]:
        """Return the commits of each topic partition in log order. This object is empty afterwards."""
        del self._columns["offset"], self._columns["rank"]
        place = self._columns.pop("place")
        order = np.argsort(place, kind="stable")
        ends = np.cumsum(np.bincount(place, minlength=len(self._places)))
        del place
        names = list(self._places)
        commits: dict[TopicPartition, PartitionCommits] = {}
        for number in sorted(range(len(names)), key=lambda code: names[code]):
            rows = order[ends[number - 1] if number else 0 : ends[number]]
            if not len(rows):
                continue
            flags, times = self._columns["flags"][rows], self._columns["ts_ms"][rows].astype(np.int64)
            is_deleted = (flags & _TOMBSTONE) != 0
            commits[names[number]] = PartitionCommits(
                times[~is_deleted],
                self._columns["committed_offset"][rows[~is_deleted]].astype(np.int64),
                times[is_deleted],
                int(np.count_nonzero(flags & _EXPIRES)),
            )
        return commits


def _flags(column: pa.ChunkedArray, flag: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    if column.null_count:
        column = pc.fill_null(column, False)
    values = column.to_numpy(zero_copy_only=False)
    return np.where(values, np.uint8(flag), np.uint8(0))


def _ints(column: pa.ChunkedArray) -> Ints:
    if column.null_count:
        column = pc.fill_null(column, 0)
    values: Ints = column.to_numpy().astype(np.int64)
    return values
