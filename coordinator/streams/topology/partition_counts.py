"""How many partitions topics have, or will have once they are created."""

from collections.abc import Callable, Iterator

from kohort.coordinator.streams.streams_values import Subtopology


class PartitionCounts:
    """What there is counts more than what was decided."""

    __slots__ = ("_partitions_of", "decided")

    def __init__(self, partitions_of: Callable[[str], int | None], decided: dict[str, int]) -> None:
        self._partitions_of = partitions_of
        self.decided = decided
        """The partitions of internal topics, whether they exist or not."""

    def of(self, name: str) -> int:
        """The partitions of a topic that exists, or was decided about."""
        count = self._partitions_of(name)
        return self.decided[name] if count is None else count

    def exists(self, name: str) -> bool:
        """Whether there is such a topic."""
        return self._partitions_of(name) is not None


def sources_of(subtopology: Subtopology) -> Iterator[str]:
    """All topics that a subtopology reads."""
    yield from subtopology.source_topics
    yield from (topic.name for topic in subtopology.repartition_source_topics)


def effort_of(subtopology: Subtopology) -> int:
    """How long a look at all of its topics takes, in tenths of a microsecond."""
    return 10 * (
        1
        + len(subtopology.source_topics)
        + len(subtopology.repartition_sink_topics)
        + len(subtopology.repartition_source_topics)
        + len(subtopology.state_changelog_topics)
    )
