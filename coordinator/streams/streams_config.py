"""Settings of a single streams group (KIP-1071)."""

from typing import NamedTuple


class StreamsConfig(NamedTuple):
    """Settings of one streams group, with the defaults of Kafka 4.4."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    initial_rebalance_delay_ms: int = 3_000  # how long an empty group waits for more members after the first one
    task_offset_interval_ms: int = 60_000  # how often members send the offsets of their tasks
    acceptable_recovery_lag: int = 10_000  # lag at which a warm-up task is up to date
    rack_aware_tags: tuple[str, ...] = ()  # client tags that members must have
    num_standby_replicas: int = 0  # standby copies of each stateful task
