"""Groups by their ids, whatever their kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.control.lab_group import Group

if TYPE_CHECKING:
    from kohort.control.lab_share_group import ShareGroup
    from kohort.control.laboratory import Laboratory


def group_of(laboratory: Laboratory, group_id: str) -> Group | ShareGroup:
    """A group as a test sees it. Where there is none of that id it is one that may become a classic group."""
    if laboratory.share_group(group_id) is None:
        return Group(laboratory, group_id)
    from kohort.control.lab_share_group import ShareGroup  # not for brokers without such groups

    return ShareGroup(laboratory, group_id)
