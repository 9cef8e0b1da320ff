"""Copartitioning: topics that are joined must have the same number of partitions (streams-groups §6).

Source: Kafka's `CopartitionedTopicsEnforcer`.
"""

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from typing import TypeVar

from kohort.coordinator.groups.group_placement import java_hash
from kohort.coordinator.java_order import in_map_order
from kohort.coordinator.streams.streams_values import CopartitionGroup, Status, StatusCode, Subtopology
from kohort.coordinator.streams.topology.configured_topology import BrokenTopology, UnsuitableTopics
from kohort.coordinator.streams.topology.partition_counts import PartitionCounts

T = TypeVar("T")


def copartitioned_topics(subtopologies: Iterable[Subtopology]) -> Generator[int, None, list[frozenset[str]]]:
    """Return the copartition groups of all subtopologies, as topic names.

    Raises:
        BrokenTopology: An index is out of range.
    """
    groups: list[frozenset[str]] = []
    for subtopology in subtopologies:
        for group in subtopology.copartition_groups:
            groups.append(_names(subtopology, group))
            yield 1 + len(groups[-1])
    return groups


def _names(subtopology: Subtopology, group: CopartitionGroup) -> frozenset[str]:
    sources = _chosen(subtopology.source_topics, group.source_topics)
    repartitions = _chosen(subtopology.repartition_source_topics, group.repartition_source_topics)
    return frozenset([*sources, *(topic.name for topic in repartitions)])


def _chosen(items: Sequence[T], indices: Iterable[int]) -> list[T]:
    if any(not 0 <= index < len(items) for index in indices):
        raise BrokenTopology("the index of a copartitioned topic is out of range")
    return [items[index] for index in indices]


def enforce_copartitioning(
    groups: Iterable[frozenset[str]], subtopologies: Iterable[Subtopology], counts: PartitionCounts
) -> Generator[int, None, None]:
    """Update the partition counts of repartition topics, group by group.

    Raises:
        UnsuitableTopics: Topics that cannot change have different counts.
    """
    enforcer = _Enforcer(subtopologies, counts)
    for group in groups:
        if group:
            counts.decided |= enforcer.enforced(group)
        yield 10 * (1 + len(group))


class _Enforcer:
    """Repartition topics, and those whose partition count is fixed."""

    def __init__(self, subtopologies: Iterable[Subtopology], counts: PartitionCounts) -> None:
        topics = [topic for subtopology in subtopologies for topic in subtopology.repartition_source_topics]
        self._counts = counts
        self._repartitions = {topic.name for topic in topics}
        self._fixed = {topic.name for topic in topics if topic.partitions}
        self._fixed_counts: set[int] | None = None

    def enforced(self, group: frozenset[str]) -> dict[str, int]:
        """Return the partition counts of the group's repartition topics."""
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
        """Return the partition counts of all fixed topics, even outside of the group, as Kafka does.

        They never change.
        """
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


def _same(numbers: Collection[int], reported: Mapping[str, int]) -> int:
    """Return the common count.

    Raises:
        UnsuitableTopics: There are several. The message lists `reported`.
    """
    distinct = set(numbers)
    if len(distinct) > 1:
        named = ", ".join(f"{name}={reported[name]}" for name in sorted(reported))
        raise _incorrectly_partitioned(f"Following topics do not have the same number of partitions: [{{{named}}}]")
    return distinct.pop()


def _incorrectly_partitioned(detail: str) -> UnsuitableTopics:
    return UnsuitableTopics(Status(StatusCode.INCORRECTLY_PARTITIONED_TOPICS, detail))
