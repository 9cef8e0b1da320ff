"""Settings of a single share group (KIP-932)."""

from typing import NamedTuple


class ShareConfig(NamedTuple):
    """Settings of one share group, with the defaults of Kafka 4.4."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    record_lock_duration_ms: int = 30_000  # acquisition lock of a record
    delivery_count_limit: int = 5
    partition_max_record_locks: int = 2_000  # acquired records of a partition
    auto_offset_reset: str = "latest"  # earliest, latest, or `by_duration:` and an ISO 8601 duration
    isolation_level: str = "read_uncommitted"
    dead_letter_topic: str = ""  # empty: none
    copies_dead_letters: bool = False  # whether dead letters have the key and value of the record
    renew_acknowledge_enable: bool = True  # whether members may renew acquisition locks
