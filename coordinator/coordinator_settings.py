"""The coordinator's settings. Names are Kafka's, with `_` for `.`; times are milliseconds."""

from typing import NamedTuple

from kohort.protocol.releases import USUAL_OFFSET_VALUE

NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""How long a newcomer's join may wait before the member is removed. Cannot be set in Kafka (classic-groups §4.4)."""

UNLIMITED = 2**31 - 1


class GroupSettings(NamedTuple):
    """Kafka's settings of the group coordinator, with the defaults of Kafka 4.3 (classic-groups §9)."""

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    group_max_size: int = UNLIMITED
    heartbeats_need_sync: bool = False
    """Whether a heartbeat between join and sync hears REBALANCE_IN_PROGRESS, as in old releases."""
    offset_metadata_max_bytes: int = 4_096
    """Counted in UTF-16 code units, whatever the name says (classic-groups §7.2)."""
    offset_value_version: int = USUAL_OFFSET_VALUE
    """In which version offsets are written: 4, 3 or 1, as releases did. In 1 each says itself how long it is kept."""
    offsets_retention_ms: int = 10_080 * 60_000
    """`offsets.retention.minutes`, in milliseconds."""
    offsets_retention_check_interval_ms: int = 600_000
    group_consumer_max_size: int = UNLIMITED
    group_consumer_assignors: tuple[str, ...] = ("uniform", "range")
    """Those that members may ask for; the first is used where nobody does."""
    group_consumer_migration_policy: str = "bidirectional"
    """Whether groups with members may change their protocol: bidirectional, upgrade, downgrade, disabled."""
    group_consumer_regex_refresh_interval_ms: int = 600_000
    group_share_max_size: int = 200
    group_share_initialize_retry_interval_ms: int = 30_000
    """How long a partition may take to be made ready for a share group before that is tried again."""
    group_streams_max_size: int = UNLIMITED
    group_coordinator_rebalance_protocols: tuple[str, ...] = ("classic", "consumer", "streams")
