"""Orders in which tasks are assigned."""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

from kohort.coordinator.streams.task_assignor.loaded_process import Task

TASKS_AT_ONCE = 100


def in_java_order(ids: Iterable[str]) -> list[str]:
    """Sort ids by UTF-16 code units, as Java does."""
    return sorted(ids, key=lambda subtopology_id: subtopology_id.encode("utf-16-be", "surrogatepass"))


def by_partition(ids: Sequence[str], tasks: Mapping[str, int]) -> Generator[int, None, list[Task]]:
    """Sort all tasks by partition, then by subtopology in the order of `ids`.

    Yield the number of tasks since the last yield.
    """
    ordered: list[Task] = []
    partition = 0
    while ids := [subtopology_id for subtopology_id in ids if tasks[subtopology_id] > partition]:
        ordered += [(subtopology_id, partition) for subtopology_id in ids]
        partition += 1
        yield len(ids)
    return ordered


def by_subtopology(ids: Iterable[str], tasks: Sequence[Task]) -> Generator[int, None, list[Task]]:
    """Sort tasks by subtopology in the order of `ids`. The sort is stable.

    Yield the number of tasks since the last yield.
    """
    tasks_by_id: dict[str, list[Task]] = {subtopology_id: [] for subtopology_id in ids}
    for chunk in slices(tasks):
        for task in chunk:
            tasks_by_id[task[0]].append(task)
        yield len(chunk)
    return [task for tasks in tasks_by_id.values() for task in tasks]


def slices(tasks: Sequence[Task]) -> Iterator[Sequence[Task]]:
    return (tasks[start : start + TASKS_AT_ONCE] for start in range(0, len(tasks), TASKS_AT_ONCE))
