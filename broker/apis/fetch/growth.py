"""How much logs have grown since a fetch has read them: one that waits for much reads it once, not with each append.

Kafka's `DelayedFetch.tryComplete` compares positions, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kohort.storage.topic import Partition

MUCH_BYTES = 65_536
"""What is less may be read again as well."""


class Growth:
    """Partitions as they were."""

    __slots__ = ("_partitions",)

    def __init__(self, partitions: Iterable[Partition]) -> None:
        self._partitions = [(each, _state(each), each.log.size_bytes) for each in partitions]

    def bytes_since(self) -> int | None:
        """What was appended since; None: something else has happened, and what may be read is to be looked at."""
        appended = 0
        for partition, state, size_then in self._partitions:
            grown = partition.log.size_bytes - size_then
            if grown < 0 or _state(partition) != state:
                return None
            appended += grown
        return appended


def only_grows(partition: Partition, *, committed_only: bool) -> bool:
    """Whether more can be read of it only when something is appended."""
    log = partition.log
    withheld = committed_only and partition.producers is not None and partition.last_stable_offset < log.log_end_offset
    return not withheld and log.high_watermark == log.log_end_offset and not log.config.compact


def _state(partition: Partition) -> tuple[int, int, int, int]:
    """What decides, beside the log's end, whether and what may be read of it."""
    return partition.leader, partition.leader_epoch, partition.log.log_start_offset, partition.log.segment_count
