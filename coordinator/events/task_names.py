"""Tasks of streams groups as texts, in events."""

from collections.abc import Iterable
from typing import NamedTuple

from kohort.coordinator.streams.streams_group_values import OwnedTasks
from kohort.coordinator.streams.streams_owners import Role
from kohort.coordinator.streams.streams_values import TaskSets

MOST_NAMED = 100
"""Tasks of a role that one event names. Of the others it tells how many they are: a topology may have millions."""


class RoleTask(NamedTuple):
    """A task, and what it is to the member that has it."""

    role: Role
    subtopology_id: str
    partition: int


def role_tasks(tasks: OwnedTasks | TaskSets) -> frozenset[RoleTask]:
    """All of a member's tasks, one by one."""
    by_role = tasks.roles if isinstance(tasks, OwnedTasks) else (tasks.active, tasks.standby, tasks.warmup)
    return frozenset(
        RoleTask(role, subtopology_id, partition)
        for role, by_subtopology in zip(Role, by_role, strict=True)
        for subtopology_id, partitions in by_subtopology.items()
        for partition in partitions
    )


def task_names(tasks: Iterable[RoleTask]) -> dict[str, str]:
    """By role, names as Kafka Streams writes them: `{"active": "0_0 0_1", "standby": "1_3"}`."""
    by_role: dict[Role, list[tuple[str, int]]] = {}
    for role, subtopology_id, partition in sorted(tasks):
        by_role.setdefault(role, []).append((subtopology_id, partition))
    return {role.name.lower(): _in_one_text(named) for role, named in by_role.items()}


def _in_one_text(tasks: list[tuple[str, int]]) -> str:
    names = " ".join(f"{subtopology_id}_{partition}" for subtopology_id, partition in tasks[:MOST_NAMED])
    more = len(tasks) - MOST_NAMED
    return f"{names} and {more} more" if more > 0 else names
