"""Records of repeated commits, encoded with one call."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from struct import Struct
from typing import Final

from kohort.coordinator.offsets.offsets import NO_EXPIRY, Accepted, CommittedOffset, record_around
from kohort.coordinator.offsets.offsets_topic_records import offset_key
from kohort.protocol.batches import EncodedRecords
from kohort.protocol.releases import USUAL_OFFSET_VALUE
from kohort.protocol.topic_partition import TopicPartition

_EPOCH: Final = Struct(">i")


class RepeatedRecords:
    """Records of a repeated commit, encoded except for offsets and time: one `pack` creates them."""

    __slots__ = ("_committed", "_epochs", "_pack", "_parts", "_topics")

    def __init__(self, group_id: str, first: Sequence[Accepted], version: int = USUAL_OFFSET_VALUE) -> None:
        """Prepare the records.

        Args:
            first: Offsets written by the first commit, with values of `version`.
        """
        parts: list[bytes | int] = []
        gap = b""
        shared_parts: dict[bytes, bytes] = {}
        for position, (topic, partition, committed, _, epoch) in enumerate(first):
            key = offset_key(group_id, topic, partition)
            head, middle, tail = record_around(key, position, committed.metadata, committed.topic_id, version)
            middle = _EPOCH.pack(epoch) + middle
            parts += gap + head, 0, shared_parts.setdefault(middle, middle), 0
            gap = tail
            committed.forget_record()
        parts.append(gap)
        self._parts = parts  # offsets at [1::4], the time at [3::4]
        self._pack = _joiner(tuple([len(part) for part in parts[::2] if isinstance(part, bytes)]))
        self._committed = [accepted[2] for accepted in first]
        self._epochs = [accepted[4] for accepted in first]
        self._topics: dict[str, dict[int, CommittedOffset]] = {}
        for topic, partition, committed, _, _ in first:
            self._topics.setdefault(topic, {})[partition] = committed

    def __iter__(self) -> Iterator[TopicPartition]:
        for topic, partitions in self._topics.items():
            for partition in partitions:
                yield topic, partition

    def take_over(self, topics: dict[str, dict[int, CommittedOffset]], offsets: Sequence[int], wall_ms: int) -> None:
        """Store the offsets in `topics` of the group, as written at that time."""
        for name, partitions in self._topics.items():
            stored = topics.get(name)
            if stored is None:
                topics[name] = partitions.copy()
            else:
                stored.update(partitions)
        epochs = self._epochs
        for number, committed in enumerate(self._committed):
            committed.offset = offsets[number]  # like `take`, without a call per offset
            committed.leader_epoch = epochs[number]
            committed.commit_timestamp_ms = wall_ms
            committed.expire_timestamp_ms = NO_EXPIRY
            committed.answer = None

    def at(self, offsets: Sequence[int], wall_ms: int) -> EncodedRecords:
        parts = self._parts
        parts[1::4] = offsets
        parts[3::4] = [wall_ms] * len(offsets)
        return EncodedRecords(self._pack(*parts), len(offsets))


@lru_cache(maxsize=256)
def _joiner(sizes: tuple[int, ...]) -> Callable[..., bytes]:
    """Return a function that encodes numbers between parts of these sizes. Members of one application share it."""
    return Struct(">" + "q".join([f"{size}s" for size in sizes])).pack
