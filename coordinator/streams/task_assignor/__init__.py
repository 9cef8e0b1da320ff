"""Assignor of streams groups: active and standby tasks of each member (streams-groups §8).

Pure functions of members, tasks and the previous assignment.
"""

from collections.abc import Mapping, Sequence

from kohort.coordinator.at_once import at_once
from kohort.coordinator.streams.streams_values import Tasks, TaskSets
from kohort.coordinator.streams.task_assignor.assignor_member import AssignorMember
from kohort.coordinator.streams.task_assignor.sticky_task_assignor import Assigning, assigning

__all__ = ["Assigning", "AssignorMember", "Tasks", "assign", "assigning"]


def assign(
    members: Mapping[str, AssignorMember],
    tasks: Mapping[str, int],
    stateful: frozenset[str],
    standby_replicas: int,
    processes: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, TaskSets]:
    return at_once(assigning(members, tasks, stateful, standby_replicas, processes))
