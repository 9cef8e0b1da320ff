"""Memory limits of logs in memory: in total, and for each segment."""

from dataclasses import dataclass
from typing import Final

from kohort.storage.topic_configs import LogConfig

# Maximum segment size in memory, whatever `segment.bytes` is: memory is freed in these portions.
MEMORY_SEGMENT_BYTES: Final = 16 << 20
# Segment size of compacted topics: only closed segments are compacted, and each partition has an open one.
# Not smaller, so that the last minutes of a group are still available to `kohort analyze`.
COMPACTED_SEGMENT_BYTES: Final = 1 << 20
# A segment holds at most this fraction of `retention.bytes` and `retention.ms`, so that little more is kept.
SEGMENTS_PER_RETENTION: Final = 4
LEAST_SEGMENT_BYTES: Final = 16 << 10
LEAST_SEGMENT_MS: Final = 1_000


@dataclass(slots=True, eq=False, repr=False)
class Memory:
    """Memory used by all logs of a cluster, and its limit.

    Above the limit, a growing log drops its own oldest segments, whatever its retention, because otherwise the
    operating system would kill the process. Compacted logs drop nothing.
    """

    limit_bytes: int = 4 << 30
    used_bytes: int = 0
    dropped_bytes: int = 0  # Bytes dropped early because of the limit; the broker logs it.


def roll_bytes(config: LogConfig) -> int:
    """Return the size at which a segment is full."""
    most = min(config.segment_bytes, COMPACTED_SEGMENT_BYTES if config.compact else MEMORY_SEGMENT_BYTES)
    if config.delete and config.retention_bytes >= 0:
        most = min(most, max(config.retention_bytes // SEGMENTS_PER_RETENTION, LEAST_SEGMENT_BYTES))
    return most


def roll_ms(config: LogConfig) -> int:
    """Return the maximum time span of a segment."""
    if config.delete and config.retention_ms >= 0:
        return min(config.segment_ms, max(config.retention_ms // SEGMENTS_PER_RETENTION, LEAST_SEGMENT_MS))
    return config.segment_ms
