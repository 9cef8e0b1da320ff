"""Commits on their way from silver to the analysis of their group.

They are most of the data, a thousand times the rest. Whole files are read and sorted by group, and each group's commits
are passed on as one value. Spark then shuffles a few hundred values, instead of sorting millions of rows and passing
each of their columns through two processes. Without Spark they stay packed until their group is processed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.pipeline.history.commit_pieces import COMMIT_COLUMNS
from kohort.pipeline.remote_path import Place
from kohort.pipeline.silver.parquet_files import row_groups_in
from kohort.pipeline.silver.silver_schemas import SCHEMAS

TABLE = "offset_commits"
PLACES = ("cluster", "group_id", "partition", "topic")
COMMITS_OF_A_GROUP = ("cluster", "group_id", *COMMIT_COLUMNS)
TEXTS = ("cluster", "group_id", "topic", "txn")

Ints = np.ndarray[tuple[int], np.dtype[np.int64]]


def row_groups(path: Place, columns: Iterable[str]) -> Iterator[pa.Table]:
    """Yield columns of a file of commits by row group, with its texts as dictionaries."""
    names = list(columns)
    yield from row_groups_in(path, names, [name for name in TEXTS if name in names])


def places(table: pa.Table) -> Iterator[pa.Table]:
    """Yield the distinct PLACES in a table of commits: groups with the partitions that they committed."""
    yield table.select(list(PLACES)).group_by(list(PLACES)).aggregate([])


def pack(table: pa.Table) -> Iterator[pa.Table]:
    """Yield (cluster, group_id, payload) for each group in a table of commits, for `unpack`."""
    ordered = sort_by_group(table, COMMIT_COLUMNS)
    if ordered is None:
        return
    payloads = [
        compress(ordered.rows.slice(start, end - start))
        for start, end in zip(ordered.starts, ordered.ends, strict=True)
    ]
    names = [pa.array(column, pa.string()) for column in zip(*ordered.groups, strict=True)]
    yield pa.table([*names, pa.array(payloads, pa.binary())], ["cluster", "group_id", "payload"])


@dataclass(frozen=True, slots=True)
class SortedRows:
    """Rows of a table sorted by group; within a group they keep their order.

    Attributes:
        groups: (cluster, group id) of each group in row order.
        starts: First row of each group.
        ends: End of each group.
    """

    rows: pa.Table
    groups: list[tuple[str | None, str | None]]
    starts: list[int]
    ends: list[int]


def sort_by_group(table: pa.Table, columns: Iterable[str]) -> SortedRows | None:
    """Sort the columns of a table by cluster and group, or return None for an empty table."""
    table = table.combine_chunks()
    if not len(table):
        return None
    cluster, group = (_encoded(table[name]) for name in ("cluster", "group_id"))
    code = _codes(cluster) * (len(group.dictionary) + 1) + _codes(group)
    order = np.argsort(code, kind="stable")
    edges = np.flatnonzero(np.diff(code[order])) + 1
    starts = [0, *edges.tolist()]
    firsts = pa.array(order[starts])
    names = [column.take(firsts).cast(pa.string()).to_pylist() for column in (cluster, group)]
    rows = table.select(list(columns)).take(pa.array(order))
    return SortedRows(rows, list(zip(*names, strict=True)), starts, [*starts[1:], len(order)])


def unpack(payloads: Iterable[bytes]) -> Iterator[pa.Table]:
    """Yield a group's commits, one part of a file at a time."""
    schema = pa.schema([SCHEMAS[TABLE].field(name) for name in COMMIT_COLUMNS])
    for payload in payloads:
        yield pa.ipc.open_stream(payload).read_all().cast(schema)


def compress(table: pa.Table) -> bytes:
    """Return a table as bytes for `unpack`."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def _encoded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    whole = column.combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole


def _codes(column: pa.DictionaryArray) -> Ints:
    """Return numbers for the texts of a column in the order of the texts; 0 for null."""
    order = pc.sort_indices(column.dictionary).to_numpy()
    rank = np.empty(len(order) + 1, np.int64)
    rank[order] = np.arange(1, len(order) + 1)
    rank[-1] = 0
    codes: Ints = rank[column.indices.fill_null(-1).to_numpy()]
    return codes
