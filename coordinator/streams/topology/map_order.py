"""What Kafka keeps in hash maps by name, in the order in which it walks over it."""

from collections.abc import Collection, Generator

from kohort.coordinator.group_placement import java_hash
from kohort.coordinator.java_order import in_map_order
from kohort.coordinator.streams.streams_values import Subtopology


def names_in_map_order(names: Collection[str]) -> Generator[int, None, list[str]]:
    """Names by their hash. Yields how long it took since, in tenths of a microsecond."""
    hashes: dict[str, int] = {}
    for name in names:
        hashes[name] = java_hash(name)
        yield 10 + len(name)
    return in_map_order(names, hashes.__getitem__)


def subtopologies_in_map_order(subtopologies: Collection[Subtopology]) -> Generator[int, None, list[Subtopology]]:
    """Subtopologies by the hash of their id."""
    by_id = {each.subtopology_id: each for each in subtopologies}
    names = yield from names_in_map_order(by_id)
    return [by_id[name] for name in names]
