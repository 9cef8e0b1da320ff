"""Groups by their ids, whatever their kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.control.lab_group import Group

if TYPE_CHECKING:
    from kohort.control.lab_share_group import ShareGroup
    from kohort.control.lab_streams_group import StreamsGroup
    from kohort.control.laboratory import Laboratory


def group_of(laboratory: Laboratory, group_id: str) -> Group | ShareGroup | StreamsGroup:
    """A group as a test sees it. Where there is none of that id it is one that may become a classic group."""
    if laboratory.share_group(group_id) is not None:
        from kohort.control.lab_share_group import ShareGroup  # not for brokers without such groups

        return ShareGroup(laboratory, group_id)
    if laboratory.streams_group(group_id) is not None:
        from kohort.control.lab_streams_group import StreamsGroup  # likewise

        return StreamsGroup(laboratory, group_id)
    return Group(laboratory, group_id)
