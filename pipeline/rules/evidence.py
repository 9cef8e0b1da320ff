"""Figures of findings by name, as one type for all rules, so that code that reads them is type-checked."""

from __future__ import annotations

from typing import TypedDict


class Application(TypedDict):
    """Topics and clients of members that read other topics than the rest of the group."""

    topics: list[str]
    clients: list[str]


class Absence(TypedDict):
    """Absence of a static member, in milliseconds."""

    instance: str
    from_ms: int
    ms: int


class Evidence(TypedDict, total=False):
    """Figures of a finding; each rule sets some of them.

    A name ends in its unit: `_ms` is milliseconds, a duration or a time since 1970; `_s` is seconds. None means
    unknown.
    """

    accepted_meanwhile: int
    applications: list[Application]
    away: list[Absence]
    back_after_ms: list[int | None]  # negative: the client joined again before its old session expired
    burrow_status: str | None
    came_back: bool | None
    causes: dict[str, int]
    changelog_records: int | None
    classic_members: list[str]
    clients: list[str]
    commits: int
    completed: int
    conversions: int
    crashes: int
    delayed_records: list[int]
    delays_ms: list[int]
    deliveries: list[int]
    eager: bool
    errors: list[str]
    estimated_gain_partition_s: float
    evicted: int
    every_ms: int
    expired: list[str]
    expiries: int
    explained_by: str | None  # rule whose finding explains a storm
    fenced: int
    follow_ups: int
    generation: int
    generations: list[int]
    given_up: int
    hot_member: str | None
    idle: int
    in_vain_s: float  # seconds in which members held records without processing them, summed over the records
    instance_id: str
    lag: int | None
    lasted_ms: int
    lock_ms: int | None
    locks_expired: int | None
    late: int
    left_at_poll_timeout: int
    left_ms: list[int]
    longest_ms: int
    longest_silence_ms: int | None
    longest_wait_ms: int
    lost_generations: int
    max_parts: int
    max_poll_interval_ms: int | None
    median_life_ms: float
    members: list[str] | int  # member ids, or their number
    min_parts: int
    moments_ms: list[int]
    moves: list[int]
    of: int
    offset: int
    open: bool
    operation: str
    others_lag: int
    p95_complete_ms: int
    part: int
    # topics that grew with their partitions before and after, or the number of partitions
    partitions: list[tuple[str, int, int]] | int
    pattern: str | None
    prepare_ms: int
    principal: str
    protocols: list[str]
    rebalance_timeout_ms: list[int] | int | None
    rebalances: list[int]  # numbers of rows in the table rebalances
    rebalances_at_start: int
    rebalances_caused: int
    rebalances_counted: int
    records: int
    records_estimate: int
    refused: int
    rejected: int
    released: int | None
    resource: str
    restart_ms: list[int]
    restarts: int
    revoke_ms: list[int]
    same_owner_lag: int | None
    seconds: float
    session_timeout_ms: list[int] | int | None
    sessions_lost: int
    share: float
    share_is: str
    silences_ms: list[int]
    silent_ms: int
    sizes: list[int]
    skew: float | None
    slow: int
    standbys: int | None
    stood_ms: int
    stops: int
    take_overs: int
    tasks: list[str]  # subtopology id and partition, as in Kafka Streams
    time_rebalancing_s: float
    times: int
    to: list[str]  # protocols that a group was converted to
    tombstones: int
    took_ms: list[int]
    topic: str
    topology_epoch: int
    topics: list[str]
    total_wait_ms: int
    turns: int
    # sum over all rebalances, or a list with one value per migration
    unavailable_partition_s_hi: float | list[float | None]
    uncommitted_ms: int
    unserved_ms: list[int]
    waiting: list[str]
    waited_longest_ms: int | None
    waited_ms: dict[str, int]
    waits_ms: list[int]
    weighted_skew: float | None
    went_on_elsewhere: int
    while_empty: bool
    works_ms: int | None
    without_progress_ms: int
