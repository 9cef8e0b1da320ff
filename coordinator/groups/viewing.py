"""Conversion of a group of any type to a `GroupView`, for readers outside of the coordinator."""

from importlib import import_module
from typing import TYPE_CHECKING

from kohort.coordinator.groups.group import CLASSIC, CONSUMER, SHARE, STREAMS, Group

if TYPE_CHECKING:
    from kohort.coordinator.groups.view_parts import IsAlive
    from kohort.groups.group_view import GroupView

# Modules with `view_of(group, now_ms, is_alive)`; only imported when there is such a group.
VIEWS = {CLASSIC: "classic", CONSUMER: "consumer", SHARE: "share", STREAMS: "streams"}


def view_of(group: Group, now_ms: int, is_alive: "IsAlive") -> "GroupView":
    name = VIEWS[group.group_type]
    view: GroupView = import_module(f"kohort.coordinator.{name}.{name}_view").view_of(group, now_ms, is_alive)
    return view
