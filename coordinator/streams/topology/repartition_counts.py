"""Partition counts of repartition topics (streams-groups §6).

Kafka iterates over all subtopologies until each topic has a count: a subtopology sets the counts of its sink topics as
soon as it knows the count of any topic that it reads. Here each subtopology is visited once, when it would set them.
Source: Kafka's `RepartitionTopics`.
"""

from collections.abc import Callable, Generator, Sequence
from heapq import heapify, heappop, heappush

from kohort.coordinator.streams.streams_values import Subtopology
from kohort.coordinator.streams.topology.configured_topology import InvalidTopology
from kohort.coordinator.streams.topology.partition_counts import effort_of

LOOPS = (
    "Failed to compute number of partitions for all repartition topics. "
    "There may be loops in the topology that cannot be resolved."
)
NEVER_WRITTEN = (
    "Failed to compute number of partitions for all repartition topics, because a repartition source topic is never "
    "used as a sink topic."
)


def decide_repartitions(
    subtopologies: Sequence[Subtopology], partitions_of: Callable[[str], int | None]
) -> Generator[int, None, dict[str, int]]:
    """Return the partition counts of all repartition topics and sink topics. All source topics exist.

    Args:
        subtopologies: In Kafka's iteration order.

    Raises:
        InvalidTopology: Counts cannot be decided.
    """
    deciding = _Deciding(subtopologies, partitions_of)
    yield from deciding.read()
    yield from deciding.decide()
    yield from deciding.check()
    return deciding.counts


class _Deciding:
    """Decisions in progress."""

    def __init__(self, subtopologies: Sequence[Subtopology], partitions_of: Callable[[str], int | None]) -> None:
        self._subtopologies = subtopologies
        self._partitions_of = partitions_of
        self.counts: dict[str, int] = {}
        self._readers: dict[str, list[int]] = {}  # positions of the subtopologies that read a repartition topic
        self._turns: list[tuple[int, int]] = []  # iteration and position of the subtopologies that can decide
        self._decided: set[int] = set()

    def read(self) -> Generator[int, None, None]:
        for position, subtopology in enumerate(self._subtopologies):
            for topic in subtopology.repartition_source_topics:
                self._readers.setdefault(topic.name, []).append(position)
                if topic.partitions:
                    self.counts[topic.name] = topic.partitions
            yield effort_of(subtopology)
        for position, subtopology in enumerate(self._subtopologies):
            if subtopology.source_topics or any(
                topic.name in self.counts for topic in subtopology.repartition_source_topics
            ):
                self._turns.append((0, position))
            yield effort_of(subtopology)
        heapify(self._turns)

    def decide(self) -> Generator[int, None, None]:
        while self._turns:
            walk, position = heappop(self._turns)
            if position in self._decided:
                continue
            self._decided.add(position)
            subtopology = self._subtopologies[position]
            count = self._largest_known(subtopology)
            for sink in subtopology.repartition_sink_topics:
                if sink not in self.counts:
                    self.counts[sink] = count
                    for reader in self._readers.get(sink, ()):
                        heappush(self._turns, (walk + (reader <= position), reader))
            yield effort_of(subtopology)

    def _largest_known(self, subtopology: Subtopology) -> int:
        counts = [self.counts.get(topic.name) for topic in subtopology.repartition_source_topics]
        counts += map(self._partitions_of, subtopology.source_topics)
        return max(count for count in counts if count is not None)

    def check(self) -> Generator[int, None, None]:
        """Raise InvalidTopology if a topic that is read or written has no count."""
        for position, subtopology in enumerate(self._subtopologies):
            if position not in self._decided and any(
                sink not in self.counts for sink in subtopology.repartition_sink_topics
            ):
                raise InvalidTopology(LOOPS)
            yield effort_of(subtopology)
        for subtopology in self._subtopologies:
            if any(topic.name not in self.counts for topic in subtopology.repartition_source_topics):
                raise InvalidTopology(NEVER_WRITTEN)
            yield effort_of(subtopology)
