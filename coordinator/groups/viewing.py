"""Conversion of a group of any type to a `GroupView`, for readers outside of the coordinator."""

from typing import TYPE_CHECKING

from kohort.coordinator.groups.group import Group
from kohort.coordinator.groups.group_types import GROUP_TYPES, import_code

if TYPE_CHECKING:
    from kohort.coordinator.groups.view_parts import IsAlive
    from kohort.groups.group_view import GroupView


def view_of(group: Group, now_ms: int, is_alive: "IsAlive") -> "GroupView":
    view: GroupView = import_code(GROUP_TYPES[group.group_type].view)(group, now_ms, is_alive)
    return view
