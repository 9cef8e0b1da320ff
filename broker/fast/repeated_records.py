"""The records of commits that come again: made in one go."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from struct import Struct
from typing import Final

from kohort.coordinator.offsets import NO_EXPIRY, Accepted, CommittedOffset, record_around
from kohort.coordinator.offsets_topic_records import offset_key
from kohort.protocol.batches import EncodedRecords
from kohort.protocol.releases import USUAL_OFFSET_VALUE
from kohort.protocol.topic_partition import TopicPartition

_EPOCH: Final = Struct(">i")


class RepeatedRecords:
    """The records of a commit that comes again and again, ready but for offsets and time: one `pack` makes them."""

    __slots__ = ("_committed", "_epochs", "_pack", "_parts", "_topics")

    def __init__(self, group_id: str, first: Sequence[Accepted], version: int = USUAL_OFFSET_VALUE) -> None:
        """`first`: what was written the first time, as values of that version."""
        parts: list[bytes | int] = []
        between = b""
        notes: dict[bytes, bytes] = {}
        for position, (topic, partition, committed, _, epoch) in enumerate(first):
            key = offset_key(group_id, topic, partition)
            before, note, after = record_around(key, position, committed.metadata, committed.topic_id, version)
            note = _EPOCH.pack(epoch) + note
            parts += between + before, 0, notes.setdefault(note, note), 0
            between = after
            committed.forget_record()
        parts.append(between)
        self._parts = parts
        """At [1::4] an offset each, at [3::4] the time."""
        self._pack = _joiner(tuple([len(part) for part in parts[::2] if isinstance(part, bytes)]))
        self._committed = [each[2] for each in first]
        self._epochs = [each[4] for each in first]
        self._topics: dict[str, dict[int, CommittedOffset]] = {}
        for topic, partition, committed, _, _ in first:
            self._topics.setdefault(topic, {})[partition] = committed

    def __iter__(self) -> Iterator[TopicPartition]:
        """The partitions, each once."""
        for topic, partitions in self._topics.items():
            for partition in partitions:
                yield topic, partition

    def take_over(self, topics: dict[str, dict[int, CommittedOffset]], offsets: Sequence[int], wall_ms: int) -> None:
        """Puts them among a group's offsets, as written at that time."""
        for name, partitions in self._topics.items():
            known = topics.get(name)
            if known is None:
                topics[name] = partitions.copy()
            else:
                known.update(partitions)
        epochs = self._epochs
        for number, committed in enumerate(self._committed):
            committed.offset = offsets[number]  # as `take`, without a call for each
            committed.leader_epoch = epochs[number]
            committed.commit_timestamp_ms = wall_ms
            committed.expire_timestamp_ms = NO_EXPIRY
            committed.answer = None

    def at(self, offsets: Sequence[int], wall_ms: int) -> EncodedRecords:
        """The records with these offsets, written now."""
        parts = self._parts
        parts[1::4] = offsets
        parts[3::4] = [wall_ms] * len(offsets)
        return EncodedRecords(self._pack(*parts), len(offsets))


@lru_cache(maxsize=256)
def _joiner(sizes: tuple[int, ...]) -> Callable[..., bytes]:
    """Puts numbers between stretches of these sizes. Members of one application share it."""
    return Struct(">" + "q".join([f"{size}s" for size in sizes])).pack
