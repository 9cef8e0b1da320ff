"""What logs in memory may hold: all together, and each of their segments."""

from dataclasses import dataclass
from typing import Final

from kohort.storage.topic_configs import LogConfig

MEMORY_SEGMENT_BYTES: Final = 16 << 20
"""Segments in memory are at most this large, whatever `segment.bytes` says: memory comes back in these portions."""
COMPACTED_SEGMENT_BYTES: Final = 1 << 20
"""The segment size of compacted topics: only closed segments are compacted, and several partitions have an open one.

Not less: what a group went through in its last minutes is still there for `kohort analyze`.
"""
SEGMENTS_PER_RETENTION: Final = 4
"""A segment holds at most this part of what `retention.bytes` and `retention.ms` allow, so that little more is kept."""
LEAST_SEGMENT_BYTES: Final = 16 << 10
LEAST_SEGMENT_MS: Final = 1_000


@dataclass(slots=True, eq=False, repr=False)
class Memory:
    """How much all logs of a cluster hold, and how much they may.

    Above the limit, the log that grows drops its own oldest segments, whatever its retention says: the alternative is
    that the machine ends the process. Compacted logs drop nothing.
    """

    limit_bytes: int = 4 << 30
    used_bytes: int = 0
    dropped_bytes: int = 0
    """What was dropped before its time because the limit was reached; worth a line in the broker's log."""


def roll_bytes(config: LogConfig) -> int:
    """The size at which a segment is full."""
    most = min(config.segment_bytes, COMPACTED_SEGMENT_BYTES if config.compact else MEMORY_SEGMENT_BYTES)
    if config.delete and config.retention_bytes >= 0:
        most = min(most, max(config.retention_bytes // SEGMENTS_PER_RETENTION, LEAST_SEGMENT_BYTES))
    return most


def roll_ms(config: LogConfig) -> int:
    """The time that a segment may span."""
    if config.delete and config.retention_ms >= 0:
        return min(config.segment_ms, max(config.retention_ms // SEGMENTS_PER_RETENTION, LEAST_SEGMENT_MS))
    return config.segment_ms
