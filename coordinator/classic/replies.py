"""Answers to those who joined or synced, at once or after a wait."""

from collections.abc import Iterator
from typing import Any

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.classic_member import NOBODY, Member
from kohort.coordinator.effects import Replies, Reply
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from kohort.protocol.messages.sync_group import SyncGroupResponse


def join_refused(error: ErrorCode, member_id: str) -> JoinGroupResponse:
    """A refusal; which id it names is a matter of the error (classic-groups §3.2)."""
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
    """The current generation as one member hears of it. `leader_id`: to be named in place of the group's own."""
    return JoinGroupResponse(
        error_code=ErrorCode.none,
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name or None,  # a name that is empty is answered as null (`JoinGroupResponse`)
        leader=leader_id or group.leader_id or "",
        skip_assignment=skip_assignment,
        member_id=member_id,
        members=members,
    )


def members_for_leader(group: ClassicGroup) -> tuple[JoinGroupResponseMember, ...]:
    """All members with their metadata for the selected protocol, absent ones too (classic-groups §3.2)."""
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
    """A refusal names neither type nor protocol."""
    return SyncGroupResponse(error_code=error, protocol_type=None, protocol_name=None, assignment=b"")


def synced(group: ClassicGroup, member: Member) -> SyncGroupResponse:
    """A member's share in the current generation."""
    return SyncGroupResponse(
        error_code=ErrorCode.none,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=member.assignment,
    )


def answer_join(group: ClassicGroup, member: Member, response: JoinGroupResponse) -> None:
    """Answers the join that waits, if one does."""
    ticket = member.join_ticket
    if ticket is not None:
        group.await_join(member, None)
        if ticket is not NOBODY:
            group.coordinator.effects.append(Reply(ticket, response))


def answer_sync(group: ClassicGroup, member: Member, response: SyncGroupResponse) -> bool:
    """Answers the sync that waits; returns whether one did."""
    ticket, member.sync_ticket = member.sync_ticket, None
    if ticket is None:
        return False
    group.coordinator.effects.append(Reply(ticket, response))
    return True


def answer_joins(group: ClassicGroup) -> None:
    """Answers all joins that wait with the generation that has begun; the leader hears of all members."""
    for_leader = joined(group, group.leader_id or "", members_for_leader(group))
    group.coordinator.effects.append(Replies(_joined(group.take_joins(), for_leader)))


def _joined(waiting: list[tuple[Any, str]], for_leader: JoinGroupResponse) -> Iterator[tuple[Any, JoinGroupResponse]]:
    """Others hear what the leader does, without the list of members: the group may have moved on when they do."""
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
    """Answers syncs that waited, each with a share."""
    group.coordinator.effects.append(Replies(_shares(waiting, group.protocol_type, group.protocol_name)))


def _shares(
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
