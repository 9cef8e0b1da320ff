"""Rows of sources other than records of the offsets topic: group events, log end offsets, topic names."""

from __future__ import annotations

from dataclasses import dataclass

from kohort.pipeline.arrow_types import Int32, Int64, Moment, TextMap


@dataclass(slots=True, kw_only=True)
class GroupEvent:
    """Action of a coordinator, with the columns of kohort's event log; None if the source doesn't contain a value.

    ts: Wall clock, milliseconds since 1970.
    mono_us: Monotonic clock of the process, microseconds.
    origin: event_log or text_log.
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
    """Start and end of the log of a partition at one time.

    last_stable: Last stable offset, up to which consumers with isolation.level=read_committed read; None if unknown.
    """

    topic: str
    part: Int32
    sampled_ms: Moment
    log_start: Int64
    log_end: Int64
    last_stable: Int64 | None = None


@dataclass(slots=True, kw_only=True)
class ShareLagSample:
    """Lag of a share group in a partition at one time, as reported by its coordinator.

    start_offset, lag: None if the coordinator doesn't know them.
    members: Number of members of the group.
    assigned: Number of members with the partition in their assignment.
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
    """Name of a topic id, which is written as Kafka prints it."""

    topic_id: str
    topic: str
