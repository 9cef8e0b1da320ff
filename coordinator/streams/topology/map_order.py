"""Iteration order of Kafka's hash maps."""

from collections.abc import Collection, Generator

from kohort.coordinator.groups.group_placement import java_hash
from kohort.coordinator.java_order import in_map_order
from kohort.coordinator.streams.streams_values import Subtopology


def names_in_map_order(names: Collection[str]) -> Generator[int, None, list[str]]:
    """Sort names by hash. Yield the effort since the last yield, in tenths of a microsecond."""
    hashes: dict[str, int] = {}
    for name in names:
        hashes[name] = java_hash(name)
        yield 10 + len(name)
    return in_map_order(names, hashes.__getitem__)


def subtopologies_in_map_order(subtopologies: Collection[Subtopology]) -> Generator[int, None, list[Subtopology]]:
    by_id = {subtopology.subtopology_id: subtopology for subtopology in subtopologies}
    names = yield from names_in_map_order(by_id)
    return [by_id[name] for name in names]
