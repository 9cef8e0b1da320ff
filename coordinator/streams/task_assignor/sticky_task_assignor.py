"""Sticky task assignor (KIP-1071): prefers the previous owner of a task, then a standby, then the least loaded member.

Members and processes are processed in the order of the arguments, which in Kafka is the order of hash maps. All else is
as in Kafka 4.3.0, including ties. Source: streams-groups §8; Kafka's `StickyTaskAssignor` and `ProcessState`.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

from kohort.coordinator.streams.streams_values import Tasks, TaskSets
from kohort.coordinator.streams.task_assignor.assignor_member import AssignorMember
from kohort.coordinator.streams.task_assignor.load_queue import LoadQueue
from kohort.coordinator.streams.task_assignor.loaded_process import LoadedMember, LoadedProcess, Task
from kohort.coordinator.streams.task_assignor.task_order import by_partition, by_subtopology, in_java_order, slices
from kohort.coordinator.streams.task_assignor.task_quota import TaskQuota

# Assignor in progress. It yields its effort since the last yield, in tenths of a microsecond, and returns the tasks of
# each member, by member id.
Assigning = Generator[int, None, dict[str, TaskSets]]

EFFORT_OF_A_TASK = 20  # effort to find the member for a task, relative to visiting one


def assigning(
    members: Mapping[str, AssignorMember],
    tasks: Mapping[str, int],
    stateful: frozenset[str],
    standby_replicas: int,
    processes: Mapping[str, Sequence[str]] | None = None,
) -> Assigning:
    """Assign all tasks.

    Args:
        tasks: Number of tasks of each subtopology.
        stateful: Subtopologies whose tasks get `standby_replicas` copies, as far as there are processes without one.
        processes: Members of each process in processing order; by default that of `members`.
    """
    if not members:
        return {}
    ids = in_java_order(tasks)
    ordered = yield from by_partition(ids, tasks)
    copied = yield from by_partition(
        [subtopology_id for subtopology_id in ids if subtopology_id in stateful and standby_replicas > 0], tasks
    )
    steps = _Assignment(
        members, processes or _by_process(members), ids, len(ordered), len(ordered) + len(copied) * standby_replicas
    )
    yield from steps.remember(members)
    yield from steps.assign_active(ordered)
    yield from steps.assign_standby(copied[::-1], standby_replicas)
    targets: dict[str, TaskSets] = {}
    for member_id, member in steps.members.items():
        targets[member_id] = member.task_sets()
        yield 1 + member.count
    return targets


def _by_process(members: Mapping[str, AssignorMember]) -> Mapping[str, Sequence[str]]:
    member_ids: dict[str, list[str]] = {}
    for member_id, member in members.items():
        member_ids.setdefault(member.process_id, []).append(member_id)
    return member_ids


class _Assignment:
    """Assignment in progress."""

    def __init__(
        self,
        members: Mapping[str, AssignorMember],
        processes: Mapping[str, Sequence[str]],
        ids: Sequence[str],
        active: int,
        total: int,
    ) -> None:
        self._ids = ids
        self._active_quota = TaskQuota(active, len(members))
        self._total_quota = TaskQuota(total, len(members))
        self._processes: list[LoadedProcess] = []
        members_by_id: dict[str, LoadedMember] = {}
        for member_ids in processes.values():
            self._processes.append(process := LoadedProcess())
            members_by_id |= {member_id: LoadedMember(process) for member_id in member_ids}
        self.members = {member_id: members_by_id[member_id] for member_id in members}
        self._owners: dict[Task, LoadedMember] = {}  # previous owner of the active task
        self._holders: dict[Task, list[LoadedMember]] = {}  # previous owners of standby copies

    def remember(self, members: Mapping[str, AssignorMember]) -> Generator[int, None, None]:
        for member_id, member in members.items():
            loaded = self.members[member_id]
            for task in _iterate_tasks(member.active):
                self._owners[task] = loaded
            for task in _iterate_tasks(member.standby):
                self._holders.setdefault(task, []).append(loaded)
            yield 1 + sum(map(len, member.active.values())) + sum(map(len, member.standby.values()))

    # Active tasks

    def assign_active(self, tasks: Sequence[Task]) -> Generator[int, None, None]:
        """Assign each task to one member. The tasks are sorted by partition, then subtopology."""
        tasks = yield from self._return_active(tasks, self._owners.get)
        tasks = yield from self._return_active(tasks, self._least_loaded_holder)
        tasks = yield from by_subtopology(self._ids, tasks)
        queue = self._by_load()
        for chunk in slices(tasks):
            for task in chunk:
                process = queue.take()
                self._note_active(process.give_to_least_loaded(task, active=True))
                queue.put(process.load, process)
            yield len(chunk) * EFFORT_OF_A_TASK

    def _return_active(
        self, tasks: Sequence[Task], former: Callable[[Task], LoadedMember | None]
    ) -> Generator[int, None, list[Task]]:
        """Assign tasks to members that had them in some role, up to the quota. Return the other tasks."""
        remaining: list[Task] = []
        for chunk in slices(tasks):
            for task in chunk:
                member = former(task)
                if member is not None and member.count < self._active_quota.share:
                    self._note_active(member.give(task, active=True))
                else:
                    remaining.append(task)
            yield len(chunk) * EFFORT_OF_A_TASK
        return remaining

    def _least_loaded_holder(self, task: Task) -> LoadedMember | None:
        holders = self._holders.get(task)
        return _least_loaded(holders) if holders else None

    def _note_active(self, count: int) -> None:
        self._active_quota.note(count)
        self._total_quota.note(count)

    # Standby tasks

    def assign_standby(self, tasks: Sequence[Task], replicas: int) -> Generator[int, None, None]:
        """Assign copies of each task to processes without one.

        The tasks are sorted by partition, then subtopology, in descending order.
        """
        missing_copies: dict[Task, int] = {}
        for chunk in slices(tasks):
            for task in chunk:
                missing = self._return_copies(task, replicas)
                if missing:
                    missing_copies[task] = missing
            yield len(chunk) * EFFORT_OF_A_TASK
        tasks = yield from by_subtopology(self._ids[::-1], list(missing_copies))
        queue = self._by_load()
        for chunk in slices(tasks):
            for task in chunk:
                self._copy_to_least_loaded(task, missing_copies[task], queue)
            yield len(chunk) * EFFORT_OF_A_TASK

    def _return_copies(self, task: Task, replicas: int) -> int:
        """Assign copies to members that had the task, up to the quota. Return the number of missing copies."""
        while replicas:
            member = self._former_holder(task)
            if member is None:
                break
            self._total_quota.note(member.give(task, active=False))
            replicas -= 1
        return replicas

    def _former_holder(self, task: Task) -> LoadedMember | None:
        owner = self._owners.get(task)
        if owner is not None and task not in owner.process.tasks and owner.count < self._total_quota.share:
            return owner
        holders = self._holders.get(task)
        holder = _least_loaded_without(holders, task) if holders else None
        return holder if holder is not None and holder.count < self._total_quota.share else None

    def _copy_to_least_loaded(self, task: Task, copies: int, queue: LoadQueue[LoadedProcess]) -> None:
        """Assign copies to processes without the task. If all have it, the remaining copies are omitted."""
        skipped: list[LoadedProcess] = []
        while copies and len(queue):
            process = queue.take()
            skipped.append(process)
            if task not in process.tasks:
                self._total_quota.note(process.give_to_least_loaded(task, active=False))
                copies -= 1
                while skipped:
                    process = skipped.pop()
                    queue.put(process.load, process)
        for process in reversed(skipped):
            queue.put(process.load, process)

    def _by_load(self) -> LoadQueue[LoadedProcess]:
        queue: LoadQueue[LoadedProcess] = LoadQueue()
        for process in self._processes:
            queue.put(process.load, process)
        return queue


def _iterate_tasks(tasks: Tasks) -> Iterable[Task]:
    return ((subtopology_id, partition) for subtopology_id in tasks for partition in tasks[subtopology_id])


def _least_loaded(holders: Sequence[LoadedMember]) -> LoadedMember:
    """Return the least loaded member.

    Another one is preferred only if its process load and its task count are lower.
    """
    least = holders[0]
    for other in holders[1:]:
        if other.process.load < least.process.load and other.count < least.count:
            least = other
    return least


def _least_loaded_without(holders: Sequence[LoadedMember], task: Task) -> LoadedMember | None:
    """Return the least loaded member whose process does not have the task.

    As in Kafka 4.3, return None if the process of the first member has it.
    """
    if task in holders[0].process.tasks:
        return None
    return _least_loaded([holder for holder in holders if task not in holder.process.tasks])
