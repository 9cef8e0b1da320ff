"""Topics that are joined must have as many partitions as each other (streams-groups §6).

Source: Kafka's `CopartitionedTopicsEnforcer`.
"""

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from typing import TypeVar

from kohort.coordinator.group_placement import java_hash
from kohort.coordinator.java_order import in_map_order
from kohort.coordinator.streams.streams_values import CopartitionGroup, Status, StatusCode, Subtopology
from kohort.coordinator.streams.topology.configured_topology import BrokenTopology, UnsuitableTopics
from kohort.coordinator.streams.topology.partition_counts import PartitionCounts

T = TypeVar("T")


def copartitioned_topics(subtopologies: Iterable[Subtopology]) -> Generator[int, None, list[frozenset[str]]]:
    """The groups of all subtopologies, as names of topics. Raises BrokenTopology where an index names nothing."""
    found: list[frozenset[str]] = []
    for subtopology in subtopologies:
        for group in subtopology.copartition_groups:
            found.append(_names(subtopology, group))
            yield 1 + len(found[-1])
    return found


def _names(subtopology: Subtopology, group: CopartitionGroup) -> frozenset[str]:
    sources = _chosen(subtopology.source_topics, group.source_topics)
    repartitions = _chosen(subtopology.repartition_source_topics, group.repartition_source_topics)
    return frozenset([*sources, *(topic.name for topic in repartitions)])


def _chosen(items: Sequence[T], indices: Iterable[int]) -> list[T]:
    if any(not 0 <= index < len(items) for index in indices):
        raise BrokenTopology("a group of copartitioned topics names a topic that is not there")
    return [items[index] for index in indices]


def enforce_copartitioning(
    groups: Iterable[frozenset[str]], subtopologies: Iterable[Subtopology], counts: PartitionCounts
) -> Generator[int, None, None]:
    """Decides the partitions of repartition topics anew, one group after the other. Raises UnsuitableTopics."""
    enforcer = _Enforcer(subtopologies, counts)
    for group in groups:
        if group:
            counts.decided |= enforcer.enforced(group)
        yield 10 * (1 + len(group))


class _Enforcer:
    """Which repartition topics there are, and which of them have a number that nobody may change."""

    def __init__(self, subtopologies: Iterable[Subtopology], counts: PartitionCounts) -> None:
        topics = [topic for each in subtopologies for topic in each.repartition_source_topics]
        self._counts = counts
        self._repartitions = {topic.name for topic in topics}
        self._fixed = {topic.name for topic in topics if topic.partitions}
        self._fixed_counts: set[int] | None = None

    def enforced(self, group: frozenset[str]) -> dict[str, int]:
        """The partitions of the group's repartition topics."""
        of_all = {name: self._counts.of(name) for name in group}
        repartitions = {name: count for name, count in of_all.items() if name in self._repartitions}
        external = {name: count for name, count in of_all.items() if name not in repartitions}
        if external:
            number = _same(external.values(), external)
        elif self._fixed:
            number = _same(self._counts_of_fixed(), repartitions)
        else:
            number = max(repartitions.values())
        self._check_fixed(repartitions, number)
        return dict.fromkeys(repartitions, number)

    def _counts_of_fixed(self) -> set[int]:
        """The partitions of all fixed topics, inside of the group or not: so does Kafka. They do not change."""
        if self._fixed_counts is None:
            self._fixed_counts = set(map(self._counts.of, self._fixed))
        return self._fixed_counts

    def _check_fixed(self, repartitions: Mapping[str, int], number: int) -> None:
        if all(repartitions[name] == number for name in repartitions if name in self._fixed):
            return
        for name in in_map_order(sorted(repartitions), java_hash):
            if name in self._fixed and repartitions[name] != number:
                raise _incorrectly_partitioned(
                    f"Number of partitions [{repartitions[name]}] of repartition topic [{name}] "
                    f"doesn't match number of partitions [{number}] of the source topic."
                )


def _same(numbers: Collection[int], told: Mapping[str, int]) -> int:
    """The one number; where there are several, all that is `told` is named."""
    distinct = set(numbers)
    if len(distinct) > 1:
        named = ", ".join(f"{name}={told[name]}" for name in sorted(told))
        raise _incorrectly_partitioned(f"Following topics do not have the same number of partitions: [{{{named}}}]")
    return distinct.pop()


def _incorrectly_partitioned(detail: str) -> UnsuitableTopics:
    return UnsuitableTopics(Status(StatusCode.INCORRECTLY_PARTITIONED_TOPICS, detail))
