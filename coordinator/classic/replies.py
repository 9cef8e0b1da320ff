"""Responses to JoinGroup and SyncGroup, immediate and delayed ones."""

from collections.abc import Iterator
from typing import Any

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.classic_member import ANSWERED, Member
from kohort.coordinator.effects import Replies, Reply
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from kohort.protocol.messages.sync_group import SyncGroupResponse


def join_refused(error: ErrorCode, member_id: str) -> JoinGroupResponse:
    """Return an error response. The member id that it contains depends on the error (classic-groups §3.2)."""
    return JoinGroupResponse(
        error_code=error,
        generation_id=-1,
        protocol_type=None,
        protocol_name=None,
        leader="",
        member_id=member_id,
        members=(),
    )


def joined(
    group: ClassicGroup,
    member_id: str,
    members: tuple[JoinGroupResponseMember, ...] = (),
    *,
    leader_id: str | None = None,
    skip_assignment: bool = False,
) -> JoinGroupResponse:
    """Return the response with the current generation for a member.

    Args:
        leader_id: Named in place of the group's leader.
    """
    return JoinGroupResponse(
        error_code=ErrorCode.none,
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name or None,  # an empty name becomes null (`JoinGroupResponse`)
        leader=leader_id or group.leader_id or "",
        skip_assignment=skip_assignment,
        member_id=member_id,
        members=members,
    )


def members_for_leader(group: ClassicGroup) -> tuple[JoinGroupResponseMember, ...]:
    """Return all members, absent ones too, with their metadata for the selected protocol (classic-groups §3.2)."""
    name = group.protocol_name
    return tuple(
        [
            JoinGroupResponseMember(
                member_id=member.member_id, group_instance_id=member.group_instance_id, metadata=member.metadata(name)
            )
            for member in group.members.values()
        ]
    )


def sync_refused(error: ErrorCode) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error, protocol_type=None, protocol_name=None, assignment=b"")


def synced(group: ClassicGroup, member: Member) -> SyncGroupResponse:
    return SyncGroupResponse(
        error_code=ErrorCode.none,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=member.assignment,
    )


def answer_join(group: ClassicGroup, member: Member, response: JoinGroupResponse) -> None:
    ticket = member.join_ticket
    if ticket is not None:
        group.await_join(member, None)
        if ticket is not ANSWERED:
            group.coordinator.effects.append(Reply(ticket, response))


def answer_sync(group: ClassicGroup, member: Member, response: SyncGroupResponse) -> bool:
    """Answer the waiting sync. Return whether there was one."""
    ticket, member.sync_ticket = member.sync_ticket, None
    if ticket is None:
        return False
    group.coordinator.effects.append(Reply(ticket, response))
    return True


def reject_waiting(group: ClassicGroup, error: ErrorCode) -> None:
    """Answer the waiting joins and syncs of all members with an error."""
    for member in group.members.values():
        answer_join(group, member, join_refused(error, member.member_id))
        answer_sync(group, member, sync_refused(error))


def answer_joins(group: ClassicGroup) -> None:
    """Answer all waiting joins with the new generation; the leader's response lists all members."""
    for_leader = joined(group, group.leader_id or "", members_for_leader(group))
    group.coordinator.effects.append(Replies(_joined(group.take_joins(), for_leader)))


def _joined(waiting: list[tuple[Any, str]], for_leader: JoinGroupResponse) -> Iterator[tuple[Any, JoinGroupResponse]]:
    """Yield the responses to members, which contain the values of `for_leader`: the group may have changed since."""
    leader_id, error_code, generation_id = for_leader.member_id, for_leader.error_code, for_leader.generation_id
    protocol_type, protocol_name, leader = for_leader.protocol_type, for_leader.protocol_name, for_leader.leader
    for ticket, member_id in waiting:
        if member_id == leader_id:
            yield ticket, for_leader
        else:
            yield (
                ticket,
                JoinGroupResponse(
                    error_code=error_code,
                    generation_id=generation_id,
                    protocol_type=protocol_type,
                    protocol_name=protocol_name,
                    leader=leader,
                    member_id=member_id,
                    members=(),
                ),
            )


def answer_syncs(group: ClassicGroup, waiting: list[tuple[Any, bytes]]) -> None:
    group.coordinator.effects.append(Replies(_synced(waiting, group.protocol_type, group.protocol_name)))


def _synced(
    waiting: list[tuple[Any, bytes]], protocol_type: str | None, protocol_name: str | None
) -> Iterator[tuple[Any, SyncGroupResponse]]:
    for ticket, assignment in waiting:
        yield (
            ticket,
            SyncGroupResponse(
                error_code=ErrorCode.none,
                protocol_type=protocol_type,
                protocol_name=protocol_name,
                assignment=assignment,
            ),
        )
