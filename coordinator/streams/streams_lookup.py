"""The group that a heartbeat is about. Who joins a group that does not exist creates it (streams-groups §3)."""

from kohort.coordinator.classic.states import State
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.group import STREAMS
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_refusals import Refusal, group_missing, kind_missing, not_of_kind
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.protocol.errors import ErrorCode


def find_group(coordinator: GroupCoordinator, group_id: str) -> StreamsGroup | Refusal:
    """The group of somebody who is in it. GROUP_ID_NOT_FOUND, or who else to ask."""
    group = coordinator.streams_group(group_id)
    if group is not None:
        return group
    if group_id in coordinator.groups:
        return not_of_kind(STREAMS, group_id)
    error = coordinator.availability(group_id)
    return kind_missing(STREAMS, group_id) if error is ErrorCode.none else Refusal(error)


def find_left_group(coordinator: GroupCoordinator, group_id: str) -> StreamsGroup | Refusal:
    """The group that somebody leaves; a missing one is told in other words."""
    group = find_group(coordinator, group_id)
    return group_missing(group_id) if group == kind_missing(STREAMS, group_id) else group


def found_or_created(
    coordinator: GroupCoordinator, group_id: str, now_ms: int
) -> tuple[StreamsGroup, GroupChanges] | Refusal:
    """The group of who joins, and where to note what that changes. GROUP_ID_NOT_FOUND, or who else to ask.

    A classic group without members, or of offsets alone, becomes a streams group; other empty groups stay.
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
    group.appear()
    changes = GroupChanges(group)
    changes.creates = True
    changes.on_undo(lambda now_ms: group.vanish())
    return group, changes
