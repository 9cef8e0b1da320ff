"""Processes and their members, with the tasks assigned so far."""

from kohort.coordinator.streams.streams_values import TaskSets
from kohort.coordinator.streams.task_assignor.load_queue import LoadQueue

Task = tuple[str, int]  # subtopology id and partition


class LoadedProcess:
    """Application instance. It has at most one copy of a task, in any role."""

    __slots__ = ("_queue", "load", "members", "tasks")

    def __init__(self) -> None:
        self.members: list[LoadedMember] = []
        self.tasks: set[Task] = set()  # tasks of its members, in any role
        self.load = 0.0  # tasks per member
        self._queue: LoadQueue[LoadedMember] | None = None  # its members by load; None: must be built again

    def give_to_least_loaded(self, task: Task, *, active: bool) -> int:
        """Assign the task to the member with the fewest tasks. Return that member's task count."""
        if len(self.members) == 1:
            return self.members[0].add(task, active=active)
        if self._queue is None:
            self._queue = LoadQueue()
            for other in self.members:
                self._queue.put(other.count, other)
        member = self._queue.take()
        count = member.add(task, active=active)
        self._queue.put(count, member)
        return count

    def forget_order(self) -> None:
        self._queue = None


class LoadedMember:
    """Thread of a process."""

    __slots__ = ("_active", "_standby", "count", "process")

    def __init__(self, process: LoadedProcess) -> None:
        self.process = process
        process.members.append(self)
        self.count = 0  # tasks in any role
        self._active: dict[str, set[int]] = {}
        self._standby: dict[str, set[int]] = {}

    def give(self, task: Task, *, active: bool) -> int:
        self.process.forget_order()
        return self.add(task, active=active)

    def add(self, task: Task, *, active: bool) -> int:
        """Add a task here and to the process. Return the member's task count."""
        subtopology_id, partition = task
        (self._active if active else self._standby).setdefault(subtopology_id, set()).add(partition)
        self.count += 1
        process = self.process
        process.tasks.add(task)
        process.load = len(process.tasks) / len(process.members)
        return self.count

    def task_sets(self) -> TaskSets:
        return TaskSets(_frozen(self._active), _frozen(self._standby))


def _frozen(tasks: dict[str, set[int]]) -> dict[str, frozenset[int]]:
    return {subtopology_id: frozenset(tasks[subtopology_id]) for subtopology_id in sorted(tasks)}
