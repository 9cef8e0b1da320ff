"""Settings of a single consumer group (KIP-848)."""

from typing import NamedTuple


class ConsumerConfig(NamedTuple):
    """Settings of one consumer group, with the defaults of Kafka 4.3."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
