"""From silver tables to the rows that the tracker is fed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kohort.pipeline.live.tracker import COMMITS, EPOCH, GENERATION, MEMBER, MEMBER_GONE

Row = dict[str, Any]

CLASSIC = 2
EPOCHS, MEMBERS = (3, 9, 15), (5, 10, 19)
"""Record types of consumer, share and streams groups: the group's epoch, and a member's metadata."""


def tracker_rows(tables: Iterable[tuple[str, pa.Table]]) -> Iterator[tuple[str, int, int, str]]:
    """(group id, partition, offset, row as JSON), of one partition's records in order. Commits: one row per moment."""
    commits: list[pa.Table] = []
    records: list[Row] = []
    clients: dict[int, list[tuple[str, str]]] = {}
    for name, table in tables:
        if name == "offset_commits":
            commits.append(table.select(["partition", "offset", "group_id", "commit_ts_ms", "is_tombstone", "txn"]))
        elif name == "group_records":
            records += table.to_pylist()
        elif name == "group_members":
            for row in table.select(["offset", "member_id", "logical_client"]).to_pylist():
                if row["logical_client"]:
                    clients.setdefault(row["offset"], []).append((row["member_id"], row["logical_client"]))
    yield from _of_commits(commits)
    for record in records:
        row = _of_record(record, clients.get(record["offset"], []))
        if row is not None:
            row["ts_ms"] = record["ts_ms"]
            yield record["group_id"], record["partition"], record["offset"], json.dumps(row)


def _of_commits(tables: list[pa.Table]) -> Iterator[tuple[str, int, int, str]]:
    if not tables:
        return
    table = pa.concat_tables(tables)
    real = pc.and_(pc.invert(table["is_tombstone"]), pc.invert(pc.equal(pc.fill_null(table["txn"], ""), "aborted")))
    moments = table.filter(real).group_by(["group_id", "partition", "commit_ts_ms"]).aggregate([("offset", "max")])
    for row in moments.to_pylist():
        text = json.dumps({"kind": COMMITS, "ts_ms": row["commit_ts_ms"]})
        yield row["group_id"], row["partition"], row["offset_max"], text


def _of_record(record: Row, clients: list[tuple[str, str]]) -> Row | None:
    kind, gone = record["record_type"], record["is_tombstone"]
    if kind == CLASSIC:
        generation = -1 if gone else record["generation"]
        return {"kind": GENERATION, "generation": generation, "members": [] if gone else clients}
    if kind in EPOCHS and not gone:
        return {"kind": EPOCH, "generation": record["epoch"]}
    if kind in MEMBERS:
        if gone:
            return {"kind": MEMBER_GONE, "member_id": record["member_id"]}
        client = clients[0][1] if clients else record["member_id"]
        return {"kind": MEMBER, "member_id": record["member_id"], "client": client}
    return None
