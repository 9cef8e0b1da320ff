"""Owner of a partition at a time. The log doesn't contain the committer: commits are attributed to the owner."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from kohort.pipeline.history.inputs import Generation, TopicPartition

_FOREVER = 1 << 62


@dataclass(slots=True)
class Ownership:
    generations: list[Generation]
    _starts: list[int] = field(default_factory=list)
    _empty: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._starts = [generation.stable_ms for generation in self.generations]
        self._empty = [
            (g.stable_ms, _FOREVER if g.end_ms is None else g.end_ms) for g in self.generations if not g.size
        ]

    def generation_at(self, ts_ms: int) -> Generation | None:
        at = bisect_right(self._starts, ts_ms) - 1
        if at < 0:
            return None
        generation = self.generations[at]
        return None if generation.end_ms is not None and ts_ms >= generation.end_ms else generation

    def owner(self, topic_partition: TopicPartition, ts_ms: int) -> str | None:
        """Return the member id, or None if no owner is known."""
        generation = self.generation_at(ts_ms)
        return generation.owners.get(topic_partition) if generation else None

    def owner_name(self, topic_partition: TopicPartition, ts_ms: int) -> str | None:
        generation = self.generation_at(ts_ms)
        if generation is None or topic_partition not in generation.owners:
            return None
        member = generation.members.get(generation.owners[topic_partition])
        return member.name if member else None

    def lived(self) -> tuple[int, int]:
        """Return the start of the first and the end of the last generation with members.

        The end is far in the future while the generation lasts.
        """
        alive = [generation for generation in self.generations if generation.size]
        return (alive[0].stable_ms, alive[-1].end_ms or _FOREVER) if alive else (0, 0)

    def populated(self, start_ms: int, end_ms: int) -> bool:
        return not any(start < end_ms and end > start_ms for start, end in self._empty)
