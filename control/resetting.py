"""Reset between two tests that share a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kohort.control.groups.groups_by_id import group_of

if TYPE_CHECKING:
    from kohort.control.laboratory import Laboratory


@dataclass(frozen=True)
class Leftovers:
    """State that a test has left behind."""

    gates: tuple[str, ...]  # a line for each gate that still held requests
    violations: tuple[str, ...]  # safety violations since the previous reset
    groups: tuple[str, ...]  # groups that were not deleted because they have members


async def reset(laboratory: Laboratory, data: bool = False) -> Leftovers:
    """Remove all rules, open all gates, and let the clock run like the machine's.

    Args:
        data: Also delete all topics, and all groups without members.
    """
    gates, violations = laboratory.reset()
    groups: list[str] = []
    if data:
        for topic in [topic.name for topic in laboratory.cluster.topics if not topic.internal]:
            laboratory.topics.delete(topic)
        for group in [group_of(laboratory, group_id) for group_id in laboratory.group_ids()]:
            if group.members:
                groups.append(group.id)
            else:
                await group.delete()
    return Leftovers(tuple(gates), tuple(violations), tuple(groups))
