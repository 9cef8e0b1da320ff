"""The sticky task assignor: who had a task keeps it, else who had a copy of it, else who has least to do (KIP-1071).

Members and processes are looked at in the order of the arguments; in Kafka that is the order of hash maps. Everything
else is as in Kafka 4.3.0, down to how ties end. Source: streams-groups §8; Kafka's `StickyTaskAssignor` and
`ProcessState`.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

from kohort.coordinator.streams.streams_values import Tasks, TaskSets
from kohort.coordinator.streams.task_assignor.assignor_member import AssignorMember
from kohort.coordinator.streams.task_assignor.load_queue import LoadQueue
from kohort.coordinator.streams.task_assignor.loaded_process import LoadedMember, LoadedProcess, Task
from kohort.coordinator.streams.task_assignor.task_order import by_partition, by_subtopology, in_java_order, slices
from kohort.coordinator.streams.task_assignor.task_quota import TaskQuota

Assigning = Generator[int, None, dict[str, TaskSets]]
"""The assignor at work. It yields how much it has done since, in tenths of a microsecond, and returns the tasks of each
member, by its id."""

EFFORT_OF_A_TASK = 20
"""To find the member for a task takes as long as this many looks at one."""


def assigning(
    members: Mapping[str, AssignorMember],
    tasks: Mapping[str, int],
    stateful: frozenset[str],
    standby_replicas: int,
    processes: Mapping[str, Sequence[str]] | None = None,
) -> Assigning:
    """Shares out all tasks.

    tasks: the number of tasks of each subtopology.
    stateful: subtopologies whose tasks get `standby_replicas` copies, as far as there are processes without one.
    processes: the members of each process, all in the order in which they are looked at; by default that of `members`.
    """
    if not members:
        return {}
    ids = in_java_order(tasks)
    ordered = yield from by_partition(ids, tasks)
    copied = yield from by_partition([each for each in ids if each in stateful and standby_replicas > 0], tasks)
    steps = _Sharing(
        members, processes or _by_process(members), ids, len(ordered), len(ordered) + len(copied) * standby_replicas
    )
    yield from steps.remember(members)
    yield from steps.share_out_active(ordered)
    yield from steps.share_out_standby(copied[::-1], standby_replicas)
    targets: dict[str, TaskSets] = {}
    for member_id, member in steps.members.items():
        targets[member_id] = member.task_sets()
        yield 1 + member.count
    return targets


def _by_process(members: Mapping[str, AssignorMember]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for member_id, member in members.items():
        found.setdefault(member.process_id, []).append(member_id)
    return found


class _Sharing:
    """Tasks while they are being shared out."""

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
        found: dict[str, LoadedMember] = {}
        for member_ids in processes.values():
            self._processes.append(process := LoadedProcess())
            found |= {member_id: LoadedMember(process) for member_id in member_ids}
        self.members = {member_id: found[member_id] for member_id in members}
        self._owners: dict[Task, LoadedMember] = {}
        """Who had a task as active."""
        self._holders: dict[Task, list[LoadedMember]] = {}
        """Who had a copy of a task, as standby."""

    def remember(self, members: Mapping[str, AssignorMember]) -> Generator[int, None, None]:
        """Looks at what everybody had."""
        for member_id, member in members.items():
            loaded = self.members[member_id]
            for task in _each(member.active):
                self._owners[task] = loaded
            for task in _each(member.standby):
                self._holders.setdefault(task, []).append(loaded)
            yield 1 + sum(map(len, member.active.values())) + sum(map(len, member.standby.values()))

    # Active tasks

    def share_out_active(self, tasks: Sequence[Task]) -> Generator[int, None, None]:
        """Gives every task to one member. `tasks`: by (partition, subtopology)."""
        tasks = yield from self._return_active(tasks, self._owners.get)
        tasks = yield from self._return_active(tasks, self._least_loaded_holder)
        tasks = yield from by_subtopology(self._ids, tasks)
        queue = self._by_load()
        for some in slices(tasks):
            for task in some:
                process = queue.take()
                self._note_active(process.give_to_least_loaded(task, active=True))
                queue.put(process.load, process)
            yield len(some) * EFFORT_OF_A_TASK

    def _return_active(
        self, tasks: Sequence[Task], former: Callable[[Task], LoadedMember | None]
    ) -> Generator[int, None, list[Task]]:
        """Gives tasks to those that had them in some role, up to the quota. Returns the others."""
        left: list[Task] = []
        for some in slices(tasks):
            for task in some:
                member = former(task)
                if member is not None and member.count < self._active_quota.share:
                    self._note_active(member.give(task, active=True))
                else:
                    left.append(task)
            yield len(some) * EFFORT_OF_A_TASK
        return left

    def _least_loaded_holder(self, task: Task) -> LoadedMember | None:
        holders = self._holders.get(task)
        return _least_loaded(holders) if holders else None

    def _note_active(self, count: int) -> None:
        self._active_quota.note(count)
        self._total_quota.note(count)

    # Standby tasks

    def share_out_standby(self, tasks: Sequence[Task], replicas: int) -> Generator[int, None, None]:
        """Gives copies of every task to processes without one. `tasks`: by descending (partition, subtopology)."""
        left: dict[Task, int] = {}
        for some in slices(tasks):
            for task in some:
                missing = self._return_copies(task, replicas)
                if missing:
                    left[task] = missing
            yield len(some) * EFFORT_OF_A_TASK
        tasks = yield from by_subtopology(self._ids[::-1], list(left))
        queue = self._by_load()
        for some in slices(tasks):
            for task in some:
                self._copy_to_least_loaded(task, left[task], queue)
            yield len(some) * EFFORT_OF_A_TASK

    def _return_copies(self, task: Task, replicas: int) -> int:
        """Gives copies to those that had the task, up to the quota. Returns how many copies are still missing."""
        while replicas:
            member = self._former_holder(task)
            if member is None:
                break
            self._total_quota.note(member.give(task, active=False))
            replicas -= 1
        return replicas

    def _former_holder(self, task: Task) -> LoadedMember | None:
        """Who had the task and may have a copy: who had it as active comes first."""
        owner = self._owners.get(task)
        if owner is not None and task not in owner.process.tasks and owner.count < self._total_quota.share:
            return owner
        holders = self._holders.get(task)
        holder = _least_loaded_without(holders, task) if holders else None
        return holder if holder is not None and holder.count < self._total_quota.share else None

    def _copy_to_least_loaded(self, task: Task, copies: int, queue: LoadQueue[LoadedProcess]) -> None:
        """Where all processes have the task, copies are left out."""
        passed: list[LoadedProcess] = []
        while copies and len(queue):
            process = queue.take()
            passed.append(process)
            if task not in process.tasks:
                self._total_quota.note(process.give_to_least_loaded(task, active=False))
                copies -= 1
                while passed:
                    process = passed.pop()
                    queue.put(process.load, process)
        for process in reversed(passed):
            queue.put(process.load, process)

    def _by_load(self) -> LoadQueue[LoadedProcess]:
        queue: LoadQueue[LoadedProcess] = LoadQueue()
        for process in self._processes:
            queue.put(process.load, process)
        return queue


def _each(tasks: Tasks) -> Iterable[Task]:
    return ((subtopology_id, partition) for subtopology_id in tasks for partition in tasks[subtopology_id])


def _least_loaded(holders: Sequence[LoadedMember]) -> LoadedMember:
    """The one whose process has least, and who itself has fewest: another one must be below in both to be preferred."""
    found = holders[0]
    for other in holders[1:]:
        if other.process.load < found.process.load and other.count < found.count:
            found = other
    return found


def _least_loaded_without(holders: Sequence[LoadedMember], task: Task) -> LoadedMember | None:
    """The least loaded whose process does not have the task. As in Kafka 4.3 nobody, if the first one's does."""
    if task in holders[0].process.tasks:
        return None
    return _least_loaded([each for each in holders if task not in each.process.tasks])
