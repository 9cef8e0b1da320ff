"""Groups by their ids, whatever their kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kohort.control.lab_group import Group

if TYPE_CHECKING:
    from kohort.control.lab_share_group import ShareGroup
    from kohort.control.lab_streams_group import StreamsGroup
    from kohort.control.laboratory import Laboratory


class SeesFromOutside:
    """A laboratory without a cluster of its own. It says itself how groups look, with the words of `AnyGroup`."""

    def group_seen(self, group_id: str) -> Any:
        """A group as a test sees it."""
        raise NotImplementedError


def group_of(laboratory: Laboratory | SeesFromOutside, group_id: str) -> Group | ShareGroup | StreamsGroup:
    """A group as a test sees it. Where there is none of that id it is one that may become a classic group."""
    if isinstance(laboratory, SeesFromOutside):
        seen: Group = laboratory.group_seen(group_id)
        return seen
    if laboratory.share_group(group_id) is not None:
        from kohort.control.lab_share_group import ShareGroup  # not for brokers without such groups

        return ShareGroup(laboratory, group_id)
    if laboratory.streams_group(group_id) is not None:
        from kohort.control.lab_streams_group import StreamsGroup  # likewise

        return StreamsGroup(laboratory, group_id)
    return Group(laboratory, group_id)
