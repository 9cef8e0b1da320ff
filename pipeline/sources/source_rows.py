"""Rows of the sources that are not records of the offsets topic: group events, log ends, topic names."""

from __future__ import annotations

from dataclasses import dataclass

from kohort.pipeline.arrow_types import Int32, Int64, Moment, TextMap


@dataclass(slots=True, kw_only=True)
class GroupEvent:
    """One thing that a coordinator did. The columns are those of kohort's event log; None: the source doesn't say.

    ts: wall clock, milliseconds since 1970. mono_us: monotonic microseconds of the process. origin: event_log or
    text_log.
    """

    event_id: str | None = None
    seq: Int64 | None = None
    boot_id: str | None = None
    ts: Moment
    mono_us: Int64 | None = None
    node_id: Int32 | None = None
    co_partition: Int32 | None = None
    co_epoch: Int32 | None = None
    log_offset: Int64 | None = None
    group_id: str | None = None
    group_type: str | None = None
    protocol_type: str | None = None
    protocol: str | None = None
    kind: str
    rebalance_id: str | None = None
    state_from: str | None = None
    state_to: str | None = None
    generation: Int32 | None = None
    member_id: str | None = None
    instance_id: str | None = None
    client_id: str | None = None
    client_host: str | None = None
    client_software: str | None = None
    member_epoch: Int32 | None = None
    cause: str | None = None
    client_reason: str | None = None
    error: str | None = None
    duration_us: Int64 | None = None
    waited_for: list[str] | None = None
    members: Int32 | None = None
    joined: list[str] | None = None
    left: list[str] | None = None
    evicted: list[str] | None = None
    session_timeout_ms: Int32 | None = None
    rebalance_timeout_ms: Int32 | None = None
    partitions: Int32 | None = None
    detail: TextMap | None = None
    origin: str = "event_log"
    v: Int32 | None = None


@dataclass(slots=True, kw_only=True)
class LogEndSample:
    """Where the log of a topic's partition began and ended at a moment.

    last_stable: up to where consumers with isolation.level=read_committed may read; None where the sample doesn't say.
    """

    topic: str
    part: Int32
    sampled_ms: Moment
    log_start: Int64
    log_end: Int64
    last_stable: Int64 | None = None


@dataclass(slots=True, kw_only=True)
class ShareLagSample:
    """How far a share group was with a partition at a moment, as its coordinator said.

    start_offset, lag: None where it knew none. members: of the group; assigned: of them, those that had the partition.
    """

    group_id: str
    topic: str
    part: Int32
    sampled_ms: Moment
    start_offset: Int64 | None = None
    lag: Int64 | None = None
    members: Int32 | None = None
    assigned: Int32 | None = None


@dataclass(slots=True, kw_only=True)
class TopicName:
    """The name behind a topic id, which is written as Kafka prints it."""

    topic_id: str
    topic: str
