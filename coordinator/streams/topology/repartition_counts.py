"""How many partitions repartition topics are to have (streams-groups §6).

Kafka walks over all subtopologies again and again until every topic has a number: whoever writes one decides as soon as
the number of anything it reads is known. Here each subtopology is looked at once, in the turn in which it would decide.
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
    """The partitions of each repartition topic, and of each topic that is written. All source topics exist.

    Subtopologies come in the order in which they decide. Raises InvalidTopology.
    """
    deciding = _Deciding(subtopologies, partitions_of)
    yield from deciding.read()
    yield from deciding.decide()
    yield from deciding.check()
    return deciding.counts


class _Deciding:
    """Numbers while they are being decided."""

    def __init__(self, subtopologies: Sequence[Subtopology], partitions_of: Callable[[str], int | None]) -> None:
        self._subtopologies = subtopologies
        self._partitions_of = partitions_of
        self.counts: dict[str, int] = {}
        self._readers: dict[str, list[int]] = {}
        """Who reads a repartition topic: positions of subtopologies."""
        self._turns: list[tuple[int, int]] = []
        """Walk and position of those that can decide."""
        self._decided: set[int] = set()

    def read(self) -> Generator[int, None, None]:
        """Finds out what is fixed, and who can decide from the beginning."""
        for position, each in enumerate(self._subtopologies):
            for topic in each.repartition_source_topics:
                self._readers.setdefault(topic.name, []).append(position)
                if topic.partitions:
                    self.counts[topic.name] = topic.partitions
            yield effort_of(each)
        for position, each in enumerate(self._subtopologies):
            if each.source_topics or any(topic.name in self.counts for topic in each.repartition_source_topics):
                self._turns.append((0, position))
            yield effort_of(each)
        heapify(self._turns)

    def decide(self) -> Generator[int, None, None]:
        """Gives each who can decide its turn; others can once they have."""
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
        known = [self.counts.get(topic.name) for topic in subtopology.repartition_source_topics]
        known += map(self._partitions_of, subtopology.source_topics)
        return max(count for count in known if count is not None)

    def check(self) -> Generator[int, None, None]:
        """Every topic that is read or written has a number now, else nobody could decide."""
        for position, each in enumerate(self._subtopologies):
            if position not in self._decided and any(sink not in self.counts for sink in each.repartition_sink_topics):
                raise InvalidTopology(LOOPS)
            yield effort_of(each)
        for each in self._subtopologies:
            if any(topic.name not in self.counts for topic in each.repartition_source_topics):
                raise InvalidTopology(NEVER_WRITTEN)
            yield effort_of(each)
