"""Converter of silver tables to input rows of the tracker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from kohort.pipeline.arrow_types import rows_of
from kohort.pipeline.live.tracker import Commits, Epoch, Generation, Gone, Joined, Row
from kohort.pipeline.silver.silver_rows import GroupRecord
from kohort.pipeline.silver.silver_schemas import COLUMNS, SCHEMAS

CLASSIC = 2
# Record types of consumer, share and streams groups: the group's epoch, and a member's metadata.
EPOCHS, MEMBERS = (3, 9, 15), (5, 10, 19)


_OF_COMMITS = pa.schema(
    [
        SCHEMAS["offset_commits"].field(name)
        for name in ("partition", "offset", "group_id", "commit_ts_ms", "is_tombstone", "txn")
    ]
)  # Schema with plain texts: dictionaries differ between runs of records, and irregular commits have none.


def tracker_rows(tables: Iterable[tuple[str, pa.Table]]) -> Iterator[tuple[str, int, int, Row]]:
    """Yield (group id, partition, offset, row) for one partition's records in order.

    Commits give one row per time.
    """
    commits: list[pa.Table] = []
    records: list[GroupRecord] = []
    clients: dict[int, list[tuple[str, str]]] = {}
    for name, table in tables:
        if name == "offset_commits":
            commits.append(table.select(_OF_COMMITS.names).cast(_OF_COMMITS))
        elif name == "group_records":
            records += rows_of(GroupRecord, COLUMNS[name], table)
        elif name == "group_members":
            for row in table.select(["offset", "member_id", "logical_client"]).to_pylist():
                if row["logical_client"]:
                    clients.setdefault(row["offset"], []).append((row["member_id"], row["logical_client"]))
    yield from _of_commits(commits)
    for record in records:
        row = _of_record(record, clients.get(record.offset, []))
        if row is not None:
            yield record.group_id, record.partition, record.offset, row


def _of_commits(tables: list[pa.Table]) -> Iterator[tuple[str, int, int, Row]]:
    if not tables:
        return
    table = pa.concat_tables(tables)
    real = pc.and_(pc.invert(table["is_tombstone"]), pc.invert(pc.equal(pc.fill_null(table["txn"], ""), "aborted")))
    moments = table.filter(real).group_by(["group_id", "partition", "commit_ts_ms"]).aggregate([("offset", "max")])
    for row in moments.to_pylist():
        yield row["group_id"], row["partition"], row["offset_max"], Commits(row["commit_ts_ms"])


def _of_record(record: GroupRecord, clients: list[tuple[str, str]]) -> Row | None:
    kind, is_tombstone, ts_ms = record.record_type, record.is_tombstone, record.ts_ms
    if kind == CLASSIC:
        return Generation(ts_ms, -1, []) if is_tombstone else Generation(ts_ms, record.generation or 0, clients)
    if kind in EPOCHS and not is_tombstone:
        return Epoch(ts_ms, record.epoch or 0)
    if kind in MEMBERS and record.member_id is not None:
        if is_tombstone:
            return Gone(ts_ms, record.member_id)
        return Joined(ts_ms, record.member_id, clients[0][1] if clients else record.member_id)
    return None
