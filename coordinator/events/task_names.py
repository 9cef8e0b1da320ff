"""Names of tasks of streams groups in events."""

from collections.abc import Iterable
from typing import NamedTuple

from kohort.coordinator.streams.streams_group_values import OwnedTasks
from kohort.coordinator.streams.streams_owners import Role
from kohort.coordinator.streams.streams_values import TaskSets

# Maximum number of task names per role in an event, which only counts the others: a topology can have millions.
MAX_NAMED_TASKS = 100


class RoleTask(NamedTuple):
    """A task and its role for the member that has it."""

    role: Role
    subtopology_id: str
    partition: int


def role_tasks(tasks: OwnedTasks | TaskSets) -> frozenset[RoleTask]:
    by_role = tasks.roles if isinstance(tasks, OwnedTasks) else (tasks.active, tasks.standby, tasks.warmup)
    return frozenset(
        RoleTask(role, subtopology_id, partition)
        for role, by_subtopology in zip(Role, by_role, strict=True)
        for subtopology_id, partitions in by_subtopology.items()
        for partition in partitions
    )


def task_names(tasks: Iterable[RoleTask]) -> dict[str, str]:
    """Return task names by role as in Kafka Streams, for example `{"active": "0_0 0_1", "standby": "1_3"}`."""
    by_role: dict[Role, list[tuple[str, int]]] = {}
    for role, subtopology_id, partition in sorted(tasks):
        by_role.setdefault(role, []).append((subtopology_id, partition))
    return {role.name.lower(): _join(role_tasks) for role, role_tasks in by_role.items()}


def _join(tasks: list[tuple[str, int]]) -> str:
    names = " ".join(f"{subtopology_id}_{partition}" for subtopology_id, partition in tasks[:MAX_NAMED_TASKS])
    more = len(tasks) - MAX_NAMED_TASKS
    return f"{names} and {more} more" if more > 0 else names
