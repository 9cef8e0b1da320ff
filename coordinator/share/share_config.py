"""What may be set for a single share group (KIP-932)."""

from typing import NamedTuple


class ShareConfig(NamedTuple):
    """Settings of one share group, with the defaults of Kafka 4.3; lengths in milliseconds."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    record_lock_duration_ms: int = 30_000
    """How long a member holds a record."""
    delivery_count_limit: int = 5
    partition_max_record_locks: int = 2_000
    """How many records of a partition may be held at a time."""
    auto_offset_reset: str = "latest"
    """Where the group begins: earliest, latest, or `by_duration:` and how long ago in ISO 8601."""
    isolation_level: str = "read_uncommitted"
    renew_acknowledge_enable: bool = True
    """Whether members may hold a record for longer."""
