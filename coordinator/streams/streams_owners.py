"""Which processes have which tasks of a streams group, or are still giving them up."""

from collections.abc import Mapping
from enum import IntEnum

from kohort.coordinator.streams.streams_group_values import OwnedTasks

Holders = dict[str, dict[int, list[str]]]
"""By subtopology and partition, ids of processes: one for each member that has the task."""


class Role(IntEnum):
    """What a task is to its member."""

    ACTIVE = 0
    STANDBY = 1
    WARMUP = 2


class TaskOwners:
    """The processes of a group, by task."""

    __slots__ = ("_holders",)

    def __init__(self) -> None:
        self._holders: dict[Role, Holders] = {role: {} for role in Role}

    def add(self, process_id: str, tasks: OwnedTasks) -> None:
        """A member of the process has these tasks."""
        for role, by_subtopology in zip(Role, tasks.roles, strict=True):
            for subtopology_id, partitions in by_subtopology.items():
                holders = self._holders[role].setdefault(subtopology_id, {})
                for partition in partitions:
                    holders.setdefault(partition, []).append(process_id)

    def remove(self, process_id: str, tasks: OwnedTasks) -> None:
        """A member of the process has let go of these tasks."""
        for role, by_subtopology in zip(Role, tasks.roles, strict=True):
            for subtopology_id, partitions in by_subtopology.items():
                holders = self._holders[role][subtopology_id]
                for partition in partitions:
                    _let_go(holders, partition, process_id)
                if not holders:
                    del self._holders[role][subtopology_id]

    def is_active(self, subtopology_id: str, partition: int) -> bool:
        """Whether any process has the task as an active one."""
        return partition in self._partitions(Role.ACTIVE, subtopology_id)

    def holds(self, process_id: str, subtopology_id: str, partition: int, *roles: Role) -> bool:
        """Whether the process has the task in one of these roles."""
        return any(process_id in self._partitions(role, subtopology_id).get(partition, ()) for role in roles)

    def _partitions(self, role: Role, subtopology_id: str) -> Mapping[int, list[str]]:
        return self._holders[role].get(subtopology_id, {})


def _let_go(holders: dict[int, list[str]], partition: int, process_id: str) -> None:
    holders[partition].remove(process_id)
    if not holders[partition]:
        del holders[partition]
