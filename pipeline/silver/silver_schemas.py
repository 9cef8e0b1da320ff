"""Columns of the silver tables. Times are whole milliseconds since 1970; null: the source doesn't tell."""

from __future__ import annotations

import pyarrow as pa

_text, _number, _yes = pa.string(), pa.int64(), pa.bool_()
_texts = pa.list_(pa.string())


def _schema(**columns: pa.DataType) -> pa.Schema:
    return pa.schema(list(columns.items()))


OFFSET_COMMITS = _schema(
    cluster=_text, partition=pa.int32(), offset=_number, ts_ms=_number, group_id=_text, topic=_text, part=pa.int32(),
    committed_offset=_number, leader_epoch=pa.int32(), metadata=_text, commit_ts_ms=_number, expire_ts_ms=_number,
    topic_id=_text, is_tombstone=_yes, txn=_text, value_version=pa.int16(), log_leader_epoch=pa.int32(), rank=pa.int8(),
)  # fmt: skip

GROUP_RECORDS = _schema(
    cluster=_text, partition=pa.int32(), offset=_number, ts_ms=_number, group_id=_text, record_type=pa.int16(),
    value_version=pa.int16(), group_type=_text, generation=pa.int32(), protocol_type=_text, protocol=_text,
    leader=_text, state_ts_ms=_number, n_members=pa.int32(), is_tombstone=_yes, epoch=pa.int32(), metadata_hash=_number,
    assignment_ts_ms=_number, op_id=_number, offset_gap_before=_number, leader_epoch=pa.int32(), member_id=_text,
    regex=_text, topics=_texts, dialect=_text, rank=pa.int8(),
)  # fmt: skip

GROUP_MEMBERS = _schema(
    cluster=_text, partition=pa.int32(), offset=_number, group_id=_text, member_id=_text, instance_id=_text,
    client_id=_text, client_host=_text, session_timeout_ms=pa.int32(), rebalance_timeout_ms=pa.int32(),
    subscribed_topics=_texts, regex=_text, rack=_text, owned_generation=pa.int32(), subscription_version=pa.int16(),
    member_epoch=pa.int32(), previous_epoch=pa.int32(), member_state=pa.int16(), is_leader=_yes, speaks=_text,
    logical_client=_text, rank=pa.int8(),
)  # fmt: skip

MEMBER_PARTITIONS = _schema(
    cluster=_text, partition=pa.int32(), offset=_number, group_id=_text, member_id=_text, topic=_text, topic_id=_text,
    role=_text, parts=pa.list_(pa.int32()), rank=pa.int8(),
)  # fmt: skip

EVENTS = _schema(
    cluster=_text, event_id=_text, seq=_number, boot_id=_text, ts=_number, mono_us=_number, node_id=pa.int32(),
    co_partition=pa.int32(), co_epoch=pa.int32(), log_offset=_number, group_id=_text, group_type=_text,
    protocol_type=_text, protocol=_text, kind=_text, rebalance_id=_text, state_from=_text, state_to=_text,
    generation=pa.int32(), member_id=_text, instance_id=_text, client_id=_text, client_host=_text,
    client_software=_text, member_epoch=pa.int32(), cause=_text, client_reason=_text, error=_text,
    duration_us=_number, waited_for=_texts,
    members=pa.int32(), joined=_texts, left=_texts, evicted=_texts, session_timeout_ms=pa.int32(),
    rebalance_timeout_ms=pa.int32(), partitions=pa.int32(), detail=pa.map_(pa.string(), pa.string()), origin=_text,
    v=pa.int32(),
)  # fmt: skip

END_OFFSETS = _schema(
    cluster=_text, topic=_text, part=pa.int32(), sampled_ms=_number, log_start=_number, log_end=_number
)
TOPIC_NAMES = _schema(cluster=_text, topic_id=_text, topic=_text)
DECODE_ERRORS = _schema(
    cluster=_text, partition=pa.int32(), offset=_number, ts_ms=_number, record_type=pa.int16(),
    value_version=pa.int16(), error=_text, key=pa.binary(), value=pa.binary(), rank=pa.int8(),
)  # fmt: skip
LOG_RANGES = _schema(
    cluster=_text, partition=pa.int32(), first_offset=_number, last_offset=_number, intact_from=_number,
    records=_number, first_ts_ms=_number, last_ts_ms=_number, hole_before=_yes, first_epoch=pa.int32(),
    last_epoch=pa.int32(), rank=pa.int8(),
)  # fmt: skip
COORDINATOR_MOVES = _schema(cluster=_text, partition=pa.int32(), ts_ms=_number, epoch=pa.int32())
DQ_ISSUES = _schema(cluster=_text, rule=_text, keys=_text, detail=_text)

SCHEMAS = {
    "offset_commits": OFFSET_COMMITS,
    "group_records": GROUP_RECORDS,
    "group_members": GROUP_MEMBERS,
    "member_partitions": MEMBER_PARTITIONS,
    "events": EVENTS,
    "end_offsets": END_OFFSETS,
    "topic_names": TOPIC_NAMES,
    "decode_errors": DECODE_ERRORS,
    "log_ranges": LOG_RANGES,
    "coordinator_moves": COORDINATOR_MOVES,
    "dq_issues": DQ_ISSUES,
}
FROM_THE_LOG = ("offset_commits", "group_records", "group_members", "member_partitions", "decode_errors")
"""Tables whose rows are one record's: a record that two sources hold counts once, the one of lower `rank`."""
