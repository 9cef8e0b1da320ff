"""Processes and their members, with the tasks that they have been given so far."""

from kohort.coordinator.streams.streams_values import TaskSets
from kohort.coordinator.streams.task_assignor.load_queue import LoadQueue

Task = tuple[str, int]
"""Subtopology and partition."""


class LoadedProcess:
    """An instance of the application. It holds one copy of a task at most, in whichever role."""

    __slots__ = ("_queue", "load", "members", "tasks")

    def __init__(self) -> None:
        self.members: list[LoadedMember] = []
        self.tasks: set[Task] = set()
        """What its members have, in any role."""
        self.load = 0.0
        """Tasks for each member."""
        self._queue: LoadQueue[LoadedMember] | None = None
        """Its members, from when the least loaded is asked for until one of them is given a task by name."""

    def give_to_least_loaded(self, task: Task, *, active: bool) -> int:
        """Gives the task to the member with the fewest. Returns how many that one has now."""
        if len(self.members) == 1:
            return self.members[0].add(task, active=active)
        if self._queue is None:
            self._queue = LoadQueue()
            for each in self.members:
                self._queue.put(each.count, each)
        member = self._queue.take()
        count = member.add(task, active=active)
        self._queue.put(count, member)
        return count

    def forget_order(self) -> None:
        """The counts of members have changed outside of the queue."""
        self._queue = None


class LoadedMember:
    """A thread of a process."""

    __slots__ = ("_active", "_standby", "count", "process")

    def __init__(self, process: LoadedProcess) -> None:
        self.process = process
        process.members.append(self)
        self.count = 0
        """Its tasks, in any role."""
        self._active: dict[str, set[int]] = {}
        self._standby: dict[str, set[int]] = {}

    def give(self, task: Task, *, active: bool) -> int:
        """Gives it a task, whoever else of its process has fewer. Returns how many it has now."""
        self.process.forget_order()
        return self.add(task, active=active)

    def add(self, task: Task, *, active: bool) -> int:
        """Notes a task, here and with the process. Returns how many it has now."""
        subtopology_id, partition = task
        (self._active if active else self._standby).setdefault(subtopology_id, set()).add(partition)
        self.count += 1
        process = self.process
        process.tasks.add(task)
        process.load = len(process.tasks) / len(process.members)
        return self.count

    def task_sets(self) -> TaskSets:
        """All that it was given."""
        return TaskSets(_frozen(self._active), _frozen(self._standby))


def _frozen(tasks: dict[str, set[int]]) -> dict[str, frozenset[int]]:
    return {subtopology_id: frozenset(tasks[subtopology_id]) for subtopology_id in sorted(tasks)}
