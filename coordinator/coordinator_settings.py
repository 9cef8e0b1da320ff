"""Settings of the group coordinator. Names are Kafka's, with `_` for `.`; times are in milliseconds."""

from typing import NamedTuple

from kohort.protocol.releases import CURRENT_RULES, USUAL_OFFSET_VALUE, Rules

NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000  # Maximum wait of a new member's join. A constant in Kafka (classic-groups §4.4).

UNLIMITED = 2**31 - 1


class GroupSettings(NamedTuple):
    """Kafka's settings of the group coordinator, with the defaults of Kafka 4.4 (classic-groups §9)."""

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    group_max_size: int = UNLIMITED
    # Whether a heartbeat between join and sync receives REBALANCE_IN_PROGRESS, as in old releases.
    heartbeats_need_sync: bool = False
    offset_metadata_max_bytes: int = 4_096  # counted in UTF-16 code units despite its name (classic-groups §7.2)
    rules: Rules = CURRENT_RULES  # what the emulated release does differently
    # 4, 3 or 1, as in the releases; offsets in version 1 have an expiry time
    offset_value_version: int = USUAL_OFFSET_VALUE
    offsets_retention_ms: int = 10_080 * 60_000  # `offsets.retention.minutes` in milliseconds
    offsets_retention_check_interval_ms: int = 600_000
    group_consumer_max_size: int = UNLIMITED
    # those that members may request; the first one is the default
    group_consumer_assignors: tuple[str, ...] = ("uniform", "range")
    # Whether groups with members may change their type: bidirectional, upgrade, downgrade, disabled.
    group_consumer_migration_policy: str = "bidirectional"
    group_consumer_regex_refresh_interval_ms: int = 600_000
    group_share_max_size: int = 200
    # Time after which the initialization of a partition for a share group is retried.
    group_share_initialize_retry_interval_ms: int = 30_000
    group_streams_max_size: int = UNLIMITED
    group_coordinator_rebalance_protocols: tuple[str, ...] = ("classic", "consumer", "streams")
