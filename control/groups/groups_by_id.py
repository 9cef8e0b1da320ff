"""Lookup of groups of any type by id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kohort.control.groups.lab_group import Group
from kohort.coordinator.groups.group import SHARE, STREAMS

if TYPE_CHECKING:
    from kohort.control.groups.lab_share_group import ShareGroup
    from kohort.control.groups.lab_streams_group import StreamsGroup
    from kohort.control.laboratory import Laboratory


class SeesFromOutside:
    """Laboratory without a cluster of its own, which provides its own groups with the interface of `AnyGroup`."""

    def group_seen(self, group_id: str) -> Any:
        """Return a group as tests see it."""
        raise NotImplementedError


def group_of(laboratory: Laboratory | SeesFromOutside, group_id: str) -> Group | ShareGroup | StreamsGroup:
    """Return a group as tests see it; for an unknown id one that may become a classic group."""
    if isinstance(laboratory, SeesFromOutside):
        group: Group = laboratory.group_seen(group_id)
        return group
    current_group = laboratory.find(group_id)
    if current_group is not None and current_group.group_type == SHARE:
        from kohort.control.groups.lab_share_group import ShareGroup  # only brokers with such groups load it

        return ShareGroup(laboratory, group_id)
    if current_group is not None and current_group.group_type == STREAMS:
        from kohort.control.groups.lab_streams_group import StreamsGroup  # for the same reason

        return StreamsGroup(laboratory, group_id)
    return Group(laboratory, group_id)
