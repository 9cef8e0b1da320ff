"""Rows of the silver tables that are built from records of the offsets topic. None: not in the source.

Times are whole milliseconds since 1970. rank: rank of the row's source; the lower one takes precedence.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kohort.pipeline.arrow_types import Int8, Int16, Int32, Int64, Moment


@dataclass(slots=True, kw_only=True)
class OffsetCommit:
    """A commit of one partition, or its tombstone. txn: outcome of its transaction; None without one."""

    partition: Int32
    offset: Int64
    ts_ms: Moment
    group_id: str
    topic: str
    part: Int32
    committed_offset: Int64 | None
    leader_epoch: Int32 | None
    metadata: str
    commit_ts_ms: Moment | None
    expire_ts_ms: Moment | None
    topic_id: str | None
    is_tombstone: bool
    txn: str | None
    value_version: Int16 | None
    log_leader_epoch: Int32 | None
    rank: Int8 = 0


@dataclass(slots=True, kw_only=True)
class GroupRecord:
    """Any other record of a group. Columns that its type doesn't have are null.

    op_id: offset of the first record that the coordinator wrote in the same operation.
    offset_gap_before: number of offsets missing before it. topics: topics of a regular expression or a topology.
    streams: JSON with the fields of streams group records (`pipeline/silver/streams_says.py`).
    """

    partition: Int32
    offset: Int64
    ts_ms: Moment
    group_id: str
    record_type: Int16
    value_version: Int16 | None = None
    group_type: str
    generation: Int32 | None = None
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    state_ts_ms: Moment | None = None
    n_members: Int32 | None = None
    is_tombstone: bool = False
    epoch: Int32 | None = None
    metadata_hash: Int64 | None = None
    assignment_ts_ms: Moment | None = None
    op_id: Int64
    offset_gap_before: Int64 = 0
    leader_epoch: Int32 | None = None
    member_id: str | None = None
    regex: str | None = None
    topics: list[str] | None = None
    dialect: str | None = None
    streams: str | None = None
    rank: Int8 = 0


@dataclass(slots=True, kw_only=True)
class GroupMember:
    """A member as one record shows it: its identity, or its progress (member_epoch, member_state)."""

    partition: Int32
    offset: Int64
    group_id: str
    member_id: str
    instance_id: str | None = None
    client_id: str | None = None
    client_host: str | None = None
    session_timeout_ms: Int32 | None = None
    rebalance_timeout_ms: Int32 | None = None
    subscribed_topics: list[str] | None = None
    regex: str | None = None
    rack: str | None = None
    owned_generation: Int32 | None = None
    subscription_version: Int16 | None = None
    subscription_user_data_bytes: Int32 | None = None
    assignment_user_data_bytes: Int32 | None = None
    member_epoch: Int32 | None = None
    previous_epoch: Int32 | None = None
    member_state: Int16 | None = None
    is_leader: bool | None = None
    speaks: str | None = None
    logical_client: str | None = None
    process_id: str | None = None
    topology_epoch: Int32 | None = None
    rank: Int8 = 0


@dataclass(slots=True, kw_only=True)
class MemberPartitions:
    """Partitions of one topic, or tasks of one subtopology.

    role: assigned, owned_before, target, pending_revocation; of tasks active, standby, warmup, and each of these after
    `target_` or `pending_`.
    """

    partition: Int32
    offset: Int64
    group_id: str
    member_id: str
    topic: str | None = None
    topic_id: str | None = None
    subtopology: str | None = None
    role: str
    parts: list[Int32]
    rank: Int8 = 0


@dataclass(slots=True, kw_only=True)
class UndecodedRecord:
    """A record, or a part of one, that no known layout explains."""

    partition: Int32
    offset: Int64
    ts_ms: Moment
    record_type: Int16 | None
    value_version: Int16 | None
    error: str
    key: bytes | None
    value: bytes | None
    rank: Int8 = 0


@dataclass(slots=True, kw_only=True)
class LogRange:
    """A range of a partition that was read. intact_from: no record is missing from this offset on.

    hole_before: offsets are missing before it. first_epoch, last_epoch: leader epochs of the log's partition.
    """

    partition: Int32
    first_offset: Int64
    last_offset: Int64
    intact_from: Int64
    records: Int64
    first_ts_ms: Moment
    last_ts_ms: Moment
    hole_before: bool = False
    first_epoch: Int32 | None = None
    last_epoch: Int32 | None = None
    rank: Int8 = 0


@dataclass(slots=True, kw_only=True)
class EventRange:
    """Events with consecutive numbers from one run of a broker, in one source.

    It covers all groups, whichever are analyzed: missing numbers are missing events.
    """

    node_id: Int32 | None
    boot_id: str | None
    first_seq: Int64
    last_seq: Int64


@dataclass(slots=True, kw_only=True)
class ShareStateRecord:
    """A share coordinator's record about one partition of a share group. partition, offset: position in its own topic.

    A snapshot is complete, an update contains changes. start_offset, complete: None if the record doesn't change them.
    first_offsets to delivery_counts are lists of one length: an entry for each range of records. states: 0 available,
    2 acknowledged, 3 archiving, until the dead letter is written, 4 archived.
    """

    partition: Int32
    offset: Int64
    ts_ms: Moment
    group_id: str
    topic_id: str
    part: Int32
    is_snapshot: bool
    is_tombstone: bool = False
    snapshot_epoch: Int32 | None = None
    state_epoch: Int32 | None = None
    leader_epoch: Int32 | None = None
    start_offset: Int64 | None = None
    complete: Int32 | None = None
    created_ms: Moment | None = None
    first_offsets: list[Int64] = field(default_factory=list)
    last_offsets: list[Int64] = field(default_factory=list)
    states: list[Int8] = field(default_factory=list)
    delivery_counts: list[Int16] = field(default_factory=list)
    rank: Int8 = 0


@dataclass(slots=True, kw_only=True)
class CoordinatorMove:
    """A new leader of the partition of the offsets topic."""

    partition: Int32
    ts_ms: Moment
    epoch: Int32
