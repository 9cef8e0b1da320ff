"""Processes that own tasks of a streams group, or are revoking them."""

from collections.abc import Mapping
from enum import IntEnum

from kohort.coordinator.streams.streams_group_values import OwnedTasks

Holders = dict[str, dict[int, list[str]]]  # process ids by subtopology and partition, one for each member with the task


class Role(IntEnum):
    """Role of a task."""

    ACTIVE = 0
    STANDBY = 1
    WARMUP = 2


class TaskOwners:
    """Owners of the tasks of a group."""

    __slots__ = ("_holders",)

    def __init__(self) -> None:
        self._holders: dict[Role, Holders] = {role: {} for role in Role}

    def add(self, process_id: str, tasks: OwnedTasks) -> None:
        for role, by_subtopology in zip(Role, tasks.roles, strict=True):
            for subtopology_id, partitions in by_subtopology.items():
                holders = self._holders[role].setdefault(subtopology_id, {})
                for partition in partitions:
                    holders.setdefault(partition, []).append(process_id)

    def remove(self, process_id: str, tasks: OwnedTasks) -> None:
        for role, by_subtopology in zip(Role, tasks.roles, strict=True):
            for subtopology_id, partitions in by_subtopology.items():
                holders = self._holders[role][subtopology_id]
                for partition in partitions:
                    _remove_holder(holders, partition, process_id)
                if not holders:
                    del self._holders[role][subtopology_id]

    def is_active(self, subtopology_id: str, partition: int) -> bool:
        return partition in self._partitions(Role.ACTIVE, subtopology_id)

    def holds(self, process_id: str, subtopology_id: str, partition: int, *roles: Role) -> bool:
        return any(process_id in self._partitions(role, subtopology_id).get(partition, ()) for role in roles)

    def _partitions(self, role: Role, subtopology_id: str) -> Mapping[int, list[str]]:
        return self._holders[role].get(subtopology_id, {})


def _remove_holder(holders: dict[int, list[str]], partition: int, process_id: str) -> None:
    holders[partition].remove(process_id)
    if not holders[partition]:
        del holders[partition]
