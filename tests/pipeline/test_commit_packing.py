"""Commits packed by group and unpacked again: the same rows, each in its own group."""

from __future__ import annotations

import pyarrow as pa

from kohort.pipeline.analysis.packed_commits import pack, unpack
from kohort.pipeline.history.commit_pieces import COMMIT_COLUMNS
from kohort.pipeline.silver.silver_schemas import SCHEMAS


def silver(rows: list[tuple[str, str, int]]) -> pa.Table:
    schema = SCHEMAS["offset_commits"]
    table = pa.Table.from_pylist(
        [{"cluster": c, "group_id": g, "offset": n, "topic": f"t-{n}", "is_tombstone": False} for c, g, n in rows],
        schema,
    )
    for name in ("cluster", "group_id", "topic", "txn"):
        table = table.set_column(table.schema.get_field_index(name), name, table[name].dictionary_encode())
    return table


def test_group_rows_keep_their_order() -> None:
    rows = [("a", "g", 1), ("b", "g", 2), ("a", "h", 3), ("a", "g", 4), ("b", "h", 5), ("a", "h", 6)]
    found = {}
    for packed in pack(silver(rows)):
        for row in packed.to_pylist():
            (commits,) = unpack([row["payload"]])
            assert commits.column_names == list(COMMIT_COLUMNS)
            found[row["cluster"], row["group_id"]] = list(
                zip(commits["offset"].to_pylist(), commits["topic"].to_pylist(), strict=True)
            )
    assert found == {
        ("a", "g"): [(1, "t-1"), (4, "t-4")],
        ("b", "g"): [(2, "t-2")],
        ("a", "h"): [(3, "t-3"), (6, "t-6")],
        ("b", "h"): [(5, "t-5")],
    }


def test_nothing_to_pack() -> None:
    assert list(pack(silver([]))) == []
    assert list(unpack([])) == []
