"""The orders in which tasks are shared out."""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

from kohort.coordinator.streams.task_assignor.loaded_process import Task

TASKS_AT_ONCE = 100


def in_java_order(ids: Iterable[str]) -> list[str]:
    """Ids as Java compares them: by UTF-16 code units."""
    return sorted(ids, key=lambda each: each.encode("utf-16-be", "surrogatepass"))


def by_partition(ids: Sequence[str], tasks: Mapping[str, int]) -> Generator[int, None, list[Task]]:
    """All tasks by (partition, subtopology). `ids`: subtopologies in order. Yields how many were listed since."""
    found: list[Task] = []
    partition = 0
    while ids := [each for each in ids if tasks[each] > partition]:
        found += [(each, partition) for each in ids]
        partition += 1
        yield len(ids)
    return found


def by_subtopology(ids: Iterable[str], tasks: Sequence[Task]) -> Generator[int, None, list[Task]]:
    """Tasks of one subtopology after the other, in the order of `ids`; within one they stay as they are.

    Yields how many it has moved since.
    """
    found: dict[str, list[Task]] = {each: [] for each in ids}
    for some in slices(tasks):
        for task in some:
            found[task[0]].append(task)
        yield len(some)
    return [task for tasks in found.values() for task in tasks]


def slices(tasks: Sequence[Task]) -> Iterator[Sequence[Task]]:
    """A few tasks at a time: others may be served in between."""
    return (tasks[start : start + TASKS_AT_ONCE] for start in range(0, len(tasks), TASKS_AT_ONCE))
