"""The silver tables: which rows each holds, and their Arrow schemas. `cluster` is every table's first column."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from kohort.pipeline.arrow_types import column_of, moments_of, schema_of
from kohort.pipeline.silver.columns import constant, constant_number
from kohort.pipeline.silver.silver_rows import (
    CoordinatorMove,
    EventRange,
    GroupMember,
    GroupRecord,
    LogRange,
    MemberPartitions,
    OffsetCommit,
    ShareStateRecord,
    UndecodedRecord,
)
from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.source_rows import GroupEvent, LogEndSample, ShareLagSample, TopicName

ROW_TYPES: dict[str, type] = {
    "offset_commits": OffsetCommit,
    "group_records": GroupRecord,
    "group_members": GroupMember,
    "member_partitions": MemberPartitions,
    "share_states": ShareStateRecord,
    "events": GroupEvent,
    "event_ranges": EventRange,
    "end_offsets": LogEndSample,
    "share_lags": ShareLagSample,
    "topic_names": TopicName,
    "decode_errors": UndecodedRecord,
    "log_ranges": LogRange,
    "coordinator_moves": CoordinatorMove,
    "dq_issues": Issue,
}
COLUMNS = {table: tuple(schema_of(row_type).names) for table, row_type in ROW_TYPES.items()}
"""The columns that a row has: those of its table but for `cluster`."""
SCHEMAS = {table: pa.schema([("cluster", pa.string()), *schema_of(row_type)]) for table, row_type in ROW_TYPES.items()}
TEXTS_OF_COMMITS = ("cluster", "group_id", "topic", "metadata", "topic_id", "txn")
CODED_COMMITS = pa.schema(
    [
        pa.field(each.name, pa.dictionary(pa.int32(), pa.string())) if each.name in TEXTS_OF_COMMITS else each
        for each in SCHEMAS["offset_commits"]
    ]
)
"""Commits on their way to Parquet, with each distinct text once: that is how files keep them anyway."""
MOMENTS = {table: moments_of(row_type) for table, row_type in ROW_TYPES.items()}
"""Columns that hold moments, and what views call their timestamps."""
RECORD = ("cluster", "partition", "offset")
"""What tells one record of the offsets topic from another."""
COUNTS_ONCE = {
    "offset_commits": RECORD,
    "group_records": RECORD,
    "group_members": (*RECORD, "member_id"),
    "member_partitions": (*RECORD, "member_id", "topic", "topic_id", "subtopology", "role"),
    "share_states": RECORD,
    "decode_errors": (*RECORD, "error"),
    "events": ("cluster", "event_id"),
}
"""Columns that rows of several sources share where they tell the same. Of other tables whole rows do."""
FROM_THE_LOG = (
    "offset_commits", "group_records", "group_members", "member_partitions", "share_states", "decode_errors"
)  # fmt: skip
"""Tables whose rows are one record's: a record that two sources hold counts once, the one of lower `rank`."""


def table_of(table: str, rows: Sequence[object], cluster: str, rank: int = 0) -> pa.Table:
    """Rows as a table of the named schema, all of one cluster and one rank."""
    schema = SCHEMAS[table]
    columns = []
    for column in schema:
        if column.name == "cluster":
            columns.append(constant(cluster, len(rows)))
        elif column.name == "rank":
            columns.append(constant_number(rank, len(rows), column.type))
        else:
            columns.append(column_of(rows, column))
    return pa.table(columns, schema=schema)
