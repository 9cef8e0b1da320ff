"""Rows of the gold tables, as they are built and as the report reads them. None means unknown or missing.

A `Moment` is milliseconds since 1970; the files contain it as a timestamp, too. `*_lo` and `*_hi` are bounds; a figure
without them is exact or None. `day` (UTC, of the row's start) is the last column: tables are rebuilt by day.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from kohort.pipeline.arrow_types import Int32, Int64, Moment


class OfGroup(TypedDict):
    """The first two columns, which are added when a group's rows become tables."""

    cluster: NotRequired[str]
    group_id: NotRequired[str | None]


class RebalanceRow(OfGroup):
    """One rebalance, as in `Rebalance`."""

    rebalance_no: Int32
    rebalance_id: str | None
    gen_from: Int32
    gen_to: Int32
    lost_generations: Int32 | None
    start_ms: Moment | None
    start_source: str
    barrier_ms: Moment
    stable_ms: Moment
    prepare_us: Int64 | None
    prepare_lo_ms: Int64
    prepare_hi_ms: Int64 | None
    prepare_est_ms: Int64 | None
    complete_us: Int64
    total_us: Int64 | None
    outcome: str
    kind: str
    cause: str
    cause_confidence: str
    client_reason: str | None
    trigger_member: str | None
    trigger_client: str | None
    laggard_member: str | None
    laggard_client: str | None
    laggard_how: str | None
    laggard_delay_us: Int64 | None
    members_before: Int32
    members_after: Int32
    joined: list[str]
    left: list[str]
    evicted: list[str]
    protocol: str | None
    is_eager: bool | None
    partitions: Int32
    moved: Int32 | None
    excess_moves: Int32 | None
    stickiness: float | None
    unavailable_member_s: float | None
    unavailable_member_s_lo: float
    unavailable_member_s_hi: float
    unavailable_partition_s: float | None
    unavailable_partition_s_lo: float
    unavailable_partition_s_hi: float
    delayed_records: Int64
    storm_id: str | None
    history_complete: bool
    day: str


class GenerationRow(OfGroup):
    """A generation of a classic group, or a settled epoch."""

    generation: Int32
    kind: str
    start_ms: Moment
    stable_ms: Moment
    end_ms: Moment | None
    stable_for_s: float
    members: Int32
    leader: str | None
    protocol: str | None
    topics: list[str]
    partitions: Int32
    commits: Int64
    offsets_advanced: Int64
    day: str


class RebalanceMemberRow(OfGroup):
    """A member in one rebalance. role: stayed, joined, left or evicted."""

    rebalance_no: Int32
    member_id: str
    logical_client: str
    client_id: str
    client: str
    role: str
    rejoin_delay_us: Int64 | None
    sync_delay_us: Int64 | None
    unavailable_us: Int64 | None
    parts_before: Int32
    parts_after: Int32
    parts_gained: Int32
    parts_lost: Int32
    is_laggard: bool
    client_reason: str | None
    day: str


class PartitionMoveRow(OfGroup):
    """A partition in one rebalance. forced: its owner had left. rewind: offsets that were read again."""

    rebalance_no: Int32
    topic: str
    part: Int32
    from_member: str | None
    to_member: str | None
    from_client: str | None
    to_client: str | None
    moved: bool
    forced: bool
    last_commit_before_ms: Moment | None
    first_commit_after_ms: Moment | None
    commit_gap_ms: Int64 | None
    excess_gap_ms: Int64 | None
    downtime_us: Int64 | None
    rewind: Int64
    day: str


class MemberSessionRow(OfGroup):
    """Session of one member id. client: its name; several members may share a client id."""

    member_id: str
    logical_client: str
    client_id: str
    client: str
    first_ms: Moment
    last_ms: Moment
    generations: Int32
    end_kind: str
    end_confidence: str
    predecessor_member: str | None
    day: str


class ClientFlapsRow(OfGroup):
    """A client that left and rejoined on one day."""

    logical_client: str
    sessions: Int32
    median_life_s: float
    evictions: Int32
    flapping: bool
    day: str


class StormRow(OfGroup):
    """Rebalances in quick succession. share: fraction of the time spent rebalancing."""

    storm_id: str
    start_ms: Moment
    end_ms: Moment
    rebalances: Int32
    time_rebalancing_s: float
    share: float
    main_cause: str
    main_client: str | None
    day: str


class AssignmentSkewRow(OfGroup):
    """Load skew of one generation, by partitions and by offsets advanced (weighted)."""

    generation: Int32
    min_parts: Int32
    max_parts: Int32
    mean_parts: float
    skew: float | None
    cv: float | None
    idle_members: Int32
    weighted_skew: float | None
    hot_member: str | None
    members: Int32
    lasted_s: float
    day: str


class CommitMinuteRow(OfGroup):
    """Commits of one partition in one minute."""

    topic: str
    part: Int32
    minute: Moment
    commits: Int32
    offset_delta: Int64
    max_gap_ms: Int64
    rewinds: Int32
    day: str


class ThroughputRow(OfGroup):
    """Offsets that the whole group advanced in one time step."""

    start_ms: Moment
    step_ms: Int64
    offsets: Int64
    day: str


class CommitStallRow(OfGroup):
    """A commit stall or a rewind. topic, part: None for a whole group."""

    topic: str | None
    part: Int32 | None
    start_ms: Moment
    end_ms: Moment
    kind: str
    owner: str | None
    during_rebalance: Int32 | None
    burrow_status: str | None
    lag: Int64 | None
    offsets_back: Int64 | None
    day: str


class CommitPauseRow(OfGroup):
    """A short standstill of a group that commits regularly, from first_ms to last_ms.

    A group without any has one row.
    """

    start_ms: Moment | None
    end_ms: Moment | None
    first_ms: Moment
    last_ms: Moment
    day: str


class LagMinuteRow(OfGroup):
    """Lag of one partition at the end of one minute."""

    topic: str
    part: Int32
    minute: Moment
    lag: Int64
    time_lag_ms: Int64 | None
    owner: str | None
    day: str


class GroupHealthRow(OfGroup):
    """A group on one day. score: 100 minus the `minus_…` columns.

    has_records, has_events: whether the group is in the offsets topic, and in a broker's log or an event log.
    sampled_share: fraction of the time between log-end samples that are close together. unknown_members: members known
    by id only. first_ms, last_ms: first and last time at which anything is known of the group.
    """

    group_type: str
    rebalances: Int32
    follow_ups: Int32
    evictions: Int32
    time_rebalancing_s: float
    share_rebalancing: float
    p50_total_ms: Int64 | None
    p95_total_ms: Int64 | None
    max_total_ms: Int64 | None
    unavailable_partition_s_lo: float
    unavailable_partition_s_hi: float
    no_commit_s: float
    commits: Int64
    top_cause: str | None
    top_client: str | None
    score: float
    minus_unavailable: float
    minus_storms: float
    minus_evictions: float
    has_records: bool
    has_events: bool
    sampled_share: float
    unknown_members: Int32
    first_ms: Moment
    last_ms: Moment
    day: str


class StaticEffectRow(OfGroup):
    """Effect of static members on one day."""

    static_members: Int32
    swaps_without_rebalance: Int32
    est_rebalances_avoided: Int32
    unserved_partition_s: float
    fenced: Int32
    day: str


class DiagnosisRow(OfGroup):
    """A finding. evidence: JSON."""

    window_start_ms: Moment
    window_end_ms: Moment
    rule_id: str
    severity: str
    confidence: str
    cause_confidence: str
    title: str
    clients: list[str]
    evidence: str
    text: str
    advice: str
    day: str


class RecommendationRow(OfGroup):
    """A setting with the value proposed from the history. proposed: None without advice."""

    setting: str
    client: str | None
    current: str
    proposed: str | None
    basis: str
    sample_size: Int32
    percentile: str
    expected_effect: str
    confidence: str
    day: str


class DataIssueRow(OfGroup):
    """A remark on the data. group_id: None if it concerns no particular group."""

    rule: str
    keys: str | None
    detail: str
    day: str
