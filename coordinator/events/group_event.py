"""Group events: actions of a coordinator as values (offsets-topic §9). A listener receives them as effects.

The event log writes them, and the laboratory keeps them. Events are only created while there is a listener.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(slots=True, kw_only=True)
class GroupEvent:
    """One row of offsets-topic §9.1.

    The process adds the fields `v`, `event_id`, `seq`, `boot_id` and `node_id`. None means not applicable. For `kind`,
    `cause` and the meaning of `duration_us` see offsets-topic §9.2, §9.3.
    """

    ts: int  # wall clock in milliseconds, for display; durations are computed from `mono_us`
    mono_us: int
    co_partition: int
    co_epoch: int
    log_offset: int | None = None  # offset of the record that this event wrote
    group_id: str | None = None
    group_type: str | None = None
    protocol_type: str | None = None
    protocol: str | None = None
    kind: str
    rebalance_id: str | None = None
    state_from: str | None = None
    state_to: str | None = None
    # After the event, but that of the request for a rejected commit. The group epoch in groups of the newer protocols.
    generation: int | None = None
    member_id: str | None = None
    instance_id: str | None = None
    client_id: str | None = None
    client_host: str | None = None
    client_software: str | None = None
    # After the event; -2 of a static member that left temporarily. Only in groups with epochs (KIP-848).
    member_epoch: int | None = None
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


NO_PARTITION = -1  # partition and epoch of events that no coordinator reports

COLUMNS = tuple(field.name for field in fields(GroupEvent))  # in the order in which they are written

# Kinds that classic groups do not have (offsets-topic §9.5).
CONSUMER_KINDS = frozenset({
    "group_converted", "member_stepped_out", "epoch_bumped", "target_computed", "member_revoking", "member_revoked",
    "member_assigned", "member_reconciled", "group_reconciled",
})  # fmt: skip

# Kinds about records of share groups, which the leaders of their partitions report (offsets-topic §9.6).
RECORD_KINDS = frozenset({
    "records_acquired", "records_accepted", "records_released", "records_rejected", "records_renewed", "lock_expired",
    "records_archived", "dead_letter_written", "dead_letter_failed", "share_partition_loaded", "share_start_moved",
})  # fmt: skip

# Kinds that share groups have.
SHARE_KINDS = RECORD_KINDS | {
    "group_created", "group_deleted", "group_loaded", "group_unloaded", "member_added", "member_removed",
    "member_fenced", "epoch_bumped", "target_computed", "member_assigned", "group_reconciled",
}  # fmt: skip

# Kinds that streams groups have (offsets-topic §9.7).
STREAMS_KINDS = frozenset({
    "group_created", "group_deleted", "group_loaded", "group_unloaded", "member_added", "member_replaced",
    "member_metadata_changed", "member_stepped_out", "member_removed", "member_fenced", "epoch_bumped",
    "target_computed", "member_revoking", "member_revoked", "member_assigned", "member_reconciled", "group_reconciled",
})  # fmt: skip

# Kinds about a client without a group, which no coordinator reports.
CLIENT_KINDS = frozenset({"authentication_failed", "authentication_expired"})

# Kinds of offsets-topic §9.2.
KINDS = CONSUMER_KINDS | RECORD_KINDS | CLIENT_KINDS | {
    "group_created", "group_deleted", "group_loaded", "group_unloaded", "member_id_issued", "member_added",
    "member_rejoined", "member_replaced", "member_metadata_changed", "member_removed", "member_fenced",
    "rebalance_started", "join_progress", "join_completed", "assignment_received", "assignment_stored", "member_synced",
    "sync_timeout", "rebalance_completed", "rebalance_superseded", "heartbeat_gap", "heartbeat_stats", "commit_stats",
    "commit_rejected", "access_denied", "offsets_expired", "coordinator_elected", "coordinator_resigned",
}  # fmt: skip
