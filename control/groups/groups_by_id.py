"""Lookup of groups of any type by id."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kohort.control.groups.lab_group import Group
from kohort.groups.type_words import SHARE, STREAMS

if TYPE_CHECKING:
    from kohort.control.groups.any_group import AnyGroup
    from kohort.control.groups.lab_share_group import ShareGroup
    from kohort.control.groups.lab_streams_group import StreamsGroup
    from kohort.control.laboratory import Laboratory


class SeesFromOutside:
    """Laboratory without a cluster of its own, which provides its own groups with the interface of `AnyGroup`."""

    def group_seen(self, group_id: str) -> AnyGroup:
        """Return a group as tests see it."""
        raise NotImplementedError


def group_of(laboratory: Laboratory | SeesFromOutside, group_id: str) -> AnyGroup:
    """Return a group as tests see it; for an unknown id one that may become a classic group."""
    if isinstance(laboratory, SeesFromOutside):
        return laboratory.group_seen(group_id)
    group = laboratory.find(group_id)
    group_type = "" if group is None else group.group_type
    return HANDLES.get(group_type, Group)(laboratory, group_id)


def share_group(laboratory: Laboratory, group_id: str) -> ShareGroup:
    """Return a share group (KIP-932), which need not exist."""
    from kohort.control.groups.lab_share_group import ShareGroup  # not loaded by brokers without such groups

    return ShareGroup(laboratory, group_id)


def streams_group(laboratory: Laboratory, group_id: str) -> StreamsGroup:
    """Return a streams group (KIP-1071), which need not exist."""
    from kohort.control.groups.lab_streams_group import StreamsGroup  # not loaded by brokers without such groups

    return StreamsGroup(laboratory, group_id)


HANDLES: Final[dict[str, Callable[[Laboratory, str], AnyGroup]]] = {SHARE: share_group, STREAMS: streams_group}
