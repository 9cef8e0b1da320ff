"""Lookup of a heartbeat's group. A member that joins creates its group (streams-groups §3)."""

from kohort.coordinator.classic.states import State
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.groups.group import STREAMS
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_refusals import Refusal, group_missing, kind_missing, not_of_kind
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.protocol.errors import ErrorCode


def find_group(coordinator: GroupCoordinator, group_id: str) -> StreamsGroup | Refusal:
    """Return the group of an existing member, or GROUP_ID_NOT_FOUND or an error of the coordinator."""
    group = coordinator.streams_group(group_id)
    if group is not None:
        return group
    if group_id in coordinator.groups:
        return not_of_kind(STREAMS, group_id)
    error = coordinator.availability(group_id)
    return kind_missing(STREAMS, group_id) if error is ErrorCode.none else Refusal(error)


def find_left_group(coordinator: GroupCoordinator, group_id: str) -> StreamsGroup | Refusal:
    """Return the group that a member leaves. A missing group has another error message than in `find_group`."""
    group = find_group(coordinator, group_id)
    return group_missing(group_id) if group == kind_missing(STREAMS, group_id) else group


def find_or_create(
    coordinator: GroupCoordinator, group_id: str, now_ms: int
) -> tuple[StreamsGroup, GroupChanges] | Refusal:
    """Return the group of a member that joins, and its changes.

    A classic group that is empty or only has offsets becomes a streams group. Other empty groups keep their type, which
    is GROUP_ID_NOT_FOUND.
    """
    group = coordinator.streams_group(group_id)
    if group is not None:
        return group, GroupChanges(group)
    classic = coordinator.classic_group(group_id)
    if classic is not None and classic.state is State.EMPTY:
        from kohort.coordinator.group_succession import make_streams_group  # for groups that change their protocol

        return make_streams_group(coordinator, classic, now_ms)
    if group_id in coordinator.groups:
        return not_of_kind(STREAMS, group_id)
    error = coordinator.creatable(group_id)
    return _created(coordinator, group_id) if error is ErrorCode.none else Refusal(error)


def _created(coordinator: GroupCoordinator, group_id: str) -> tuple[StreamsGroup, GroupChanges]:
    group = coordinator.new_streams_group(group_id)
    changes = GroupChanges(group)
    changes.create()
    return group, changes
