"""Silver tables with their row types and Arrow schemas. `cluster` is every table's first column."""

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
# columns of a row: those of its table except `cluster`
COLUMNS = {table: tuple(schema_of(row_type).names) for table, row_type in ROW_TYPES.items()}
SCHEMAS = {table: pa.schema([("cluster", pa.string()), *schema_of(row_type)]) for table, row_type in ROW_TYPES.items()}
TEXTS_OF_COMMITS = ("cluster", "group_id", "topic", "metadata", "topic_id", "txn")
CODED_COMMITS = pa.schema(
    [
        pa.field(field.name, pa.dictionary(pa.int32(), pa.string())) if field.name in TEXTS_OF_COMMITS else field
        for field in SCHEMAS["offset_commits"]
    ]
)  # schema of commits on their way to Parquet, with dictionary-encoded texts as in the files
# time columns and the timestamp columns that views add for them
MOMENTS = {table: moments_of(row_type) for table, row_type in ROW_TYPES.items()}
RECORD = ("cluster", "partition", "offset")  # columns that identify a record of the offsets topic
COUNTS_ONCE = {
    "offset_commits": RECORD,
    "group_records": RECORD,
    "group_members": (*RECORD, "member_id"),
    "member_partitions": (*RECORD, "member_id", "topic", "topic_id", "subtopology", "role"),
    "share_states": RECORD,
    "decode_errors": (*RECORD, "error"),
    "events": ("cluster", "event_id"),
}  # Columns by which rows of several sources are duplicates. For other tables all columns must be equal.
# Tables with rows of a single record. A record from two sources counts once, with the lower `rank`.
FROM_THE_LOG = (
    "offset_commits", "group_records", "group_members", "member_partitions", "share_states", "decode_errors"
)  # fmt: skip


def table_of(table: str, rows: Sequence[object], cluster: str, rank: int = 0) -> pa.Table:
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
