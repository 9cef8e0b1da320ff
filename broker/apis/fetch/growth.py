"""Growth of logs since a fetch has read them, so that a waiting fetch of much data does not read it at each append.

Kafka's `DelayedFetch.tryComplete` compares positions, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kohort.storage.topic import Partition

MUCH_BYTES = 65_536  # less is read again at each append


class Growth:
    """Sizes and states of partitions at the last read."""

    __slots__ = ("_partitions",)

    def __init__(self, partitions: Iterable[Partition]) -> None:
        self._partitions = [(partition, _state(partition), partition.log.size_bytes) for partition in partitions]

    def bytes_since(self) -> int | None:
        """Return the number of bytes appended since then, or None if another change requires reading again."""
        appended = 0
        for partition, state, size_then in self._partitions:
            grown = partition.log.size_bytes - size_then
            if grown < 0 or _state(partition) != state:
                return None
            appended += grown
        return appended


def only_grows(partition: Partition, *, committed_only: bool) -> bool:
    """Return whether only an append can add readable records."""
    log = partition.log
    withheld = committed_only and partition.producers is not None and partition.last_stable_offset < log.log_end_offset
    return not withheld and log.high_watermark == log.log_end_offset and not log.config.compact


def _state(partition: Partition) -> tuple[int, int, int, int]:
    """Return the values, other than the end of the log, that determine whether and what a fetch can read."""
    return partition.leader, partition.leader_epoch, partition.log.log_start_offset, partition.log.segment_count
