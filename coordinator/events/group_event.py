"""Group events: what a coordinator did, as values (offsets-topic §9). Somebody who listens gets them as effects.

The event log writes them, the laboratory keeps them. Nobody is asked anything to make one, and with nobody listening
none is made.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(slots=True, kw_only=True)
class GroupEvent:
    """One row of offsets-topic §9.1 but for what the process adds: `v`, `event_id`, `seq`, `boot_id`, `node_id`.

    None: does not apply. `kind` and `cause`, and what `duration_us` measures: offsets-topic §9.2, §9.3.
    """

    ts: int
    """Wall clock, milliseconds; for people. Durations come from `mono_us`."""
    mono_us: int
    co_partition: int
    co_epoch: int
    log_offset: int | None = None
    """The offset of the record that this event wrote."""
    group_id: str | None = None
    group_type: str | None = None
    protocol_type: str | None = None
    protocol: str | None = None
    kind: str
    rebalance_id: str | None = None
    state_from: str | None = None
    state_to: str | None = None
    generation: int | None = None
    """After the event; of a commit that was rejected, the one it named. Of consumer groups the group epoch."""
    member_id: str | None = None
    instance_id: str | None = None
    client_id: str | None = None
    client_host: str | None = None
    client_software: str | None = None
    member_epoch: int | None = None
    """After the event; -2 of a static member that stepped out. Only in consumer groups (KIP-848)."""
    cause: str | None = None
    client_reason: str | None = None
    error: str | None = None
    duration_us: int | None = None
    waited_for: tuple[str, ...] | None = None
    members: int | None = None
    joined: tuple[str, ...] | None = None
    left: tuple[str, ...] | None = None
    evicted: tuple[str, ...] | None = None
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    partitions: int | None = None
    detail: Mapping[str, str] | None = None


NO_PARTITION = -1
"""In the place of a partition and an epoch of `__consumer_offsets`, of events that no coordinator reports."""

COLUMNS = tuple(each.name for each in fields(GroupEvent))
"""In the order in which they are written."""

CONSUMER_KINDS = frozenset({
    "group_converted", "member_stepped_out", "epoch_bumped", "target_computed", "member_revoking", "member_revoked",
    "member_assigned", "member_reconciled", "group_reconciled",
})  # fmt: skip
"""Those that classic groups do not have (offsets-topic §9.5)."""

RECORD_KINDS = frozenset({
    "records_acquired", "records_accepted", "records_released", "records_rejected", "records_renewed", "lock_expired",
    "records_archived", "share_partition_loaded", "share_start_moved",
})  # fmt: skip
"""Those about records of share groups, which the leaders of their partitions report (offsets-topic §9.6)."""

SHARE_KINDS = RECORD_KINDS | {
    "group_created", "group_deleted", "group_loaded", "group_unloaded", "member_added", "member_removed",
    "member_fenced", "epoch_bumped", "target_computed", "member_assigned", "group_reconciled",
}  # fmt: skip
"""Those that share groups have."""

STREAMS_KINDS = frozenset({
    "group_created", "group_deleted", "group_loaded", "group_unloaded", "member_added", "member_metadata_changed",
    "member_removed", "member_fenced", "epoch_bumped", "target_computed", "member_revoking", "member_revoked",
    "member_assigned", "member_reconciled", "group_reconciled",
})  # fmt: skip
"""Those that streams groups have (offsets-topic §9.7)."""

CLIENT_KINDS = frozenset({"authentication_failed", "authentication_expired"})
"""Those about a client and no group, which no coordinator reports."""

KINDS = CONSUMER_KINDS | RECORD_KINDS | CLIENT_KINDS | {
    "group_created", "group_deleted", "group_loaded", "group_unloaded", "member_id_issued", "member_added",
    "member_rejoined", "member_replaced", "member_metadata_changed", "member_removed", "member_fenced",
    "rebalance_started", "join_progress", "join_completed", "assignment_received", "assignment_stored", "member_synced",
    "sync_timeout", "rebalance_completed", "rebalance_superseded", "heartbeat_gap", "heartbeat_stats", "commit_stats",
    "commit_rejected", "access_denied", "offsets_expired", "coordinator_elected", "coordinator_resigned",
}  # fmt: skip
"""Those of offsets-topic §9.2."""
