"""Groups: how they are, what happened to them, and waiting until they are otherwise."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel, Field

from kohort.broker.moving import MoveError
from kohort.control.context import TheLaboratory, not_found, refused
from kohort.control.group import DEAD, Group, GroupMember
from kohort.control.laboratory import Laboratory

router = APIRouter(prefix="/groups", tags=["groups"])
LONGEST_WAIT_S = 600.0


class MemberState(BaseModel):
    """A member."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    is_leader: bool
    is_alive: bool = Field(description="its connection is open, and no fault keeps it silent")
    waits_for: str = Field(description="join, sync, or nothing")
    partitions: dict[str, list[int]] = Field(description="by topic")


class GroupState(BaseModel):
    """A group."""

    id: str
    state: str
    generation: int
    protocol: str
    coordinator: int | None = Field(description="the node that looks after it")
    members: list[MemberState]
    offsets: dict[str, int] = Field(description="what is committed, by `topic-partition`")


class RebalanceState(BaseModel):
    """A rebalance."""

    generation: int
    cause: str
    actor: str
    outcome: str = Field(description="open, completed or superseded")
    prepare_ms: float | None
    complete_ms: float | None
    joined: list[str]
    left: list[str]
    evicted: list[str]
    laggard: str
    members: int


class Move(BaseModel):
    """Where the coordinator is to go."""

    node: int


@router.get("")
async def list_groups(laboratory: TheLaboratory) -> list[GroupState]:
    """All groups that have a coordinator."""
    ids = {group_id for each in laboratory.cluster.coordinators for group_id in each.groups}
    return [_state(Group(laboratory, group_id)) for group_id in sorted(ids)]


@router.get("/{group_id}")
async def read(group_id: str, laboratory: TheLaboratory) -> GroupState:
    """One group, with its members and offsets."""
    return _state(_group(laboratory, group_id))


@router.get("/{group_id}/wait")
async def wait(
    group_id: str,
    laboratory: TheLaboratory,
    state: str = "Stable",
    members: int | None = None,
    timeout: Annotated[float, Query(gt=0, le=LONGEST_WAIT_S)] = 10.0,
) -> GroupState:
    """Answered when the group is in a state and, if that is given, has so many members; 408 after `timeout` seconds."""
    group = Group(laboratory, group_id)
    try:
        await group.wait_for(
            lambda: group.state == state and members in (None, len(group.members)),
            timeout,
            state + (f" with {members} members" if members is not None else ""),
        )
    except TimeoutError as late:
        raise HTTPException(408, str(late)) from None
    return _state(group)


@router.get("/{group_id}/history")
async def history(group_id: str, laboratory: TheLaboratory) -> list[RebalanceState]:
    """Its rebalances since the broker was started, the first one first."""
    return [
        RebalanceState(
            generation=each.generation,
            cause=each.cause,
            actor=each.actor,
            outcome=each.outcome,
            prepare_ms=each.prepare_ms,
            complete_ms=each.complete_ms,
            joined=list(each.joined),
            left=list(each.left),
            evicted=list(each.evicted),
            laggard=each.laggard,
            members=each.members,
        )
        for each in Group(laboratory, group_id).history
    ]


@router.get("/{group_id}/timeline")
async def timeline(group_id: str, laboratory: TheLaboratory) -> list[str]:
    """Everything that happened to it, a line an event."""
    return Group(laboratory, group_id).timeline().splitlines()


@router.get("/{group_id}/explanation")
async def explanation(group_id: str, laboratory: TheLaboratory) -> list[str]:
    """Whom it waits for and until when, what each client should do now, what is badly set: a line each."""
    return str(_group(laboratory, group_id).explain()).splitlines()


@router.post("/{group_id}/coordinator")
async def move(group_id: str, to: Move, laboratory: TheLaboratory) -> GroupState:
    """Let another node look after it, and after all groups of its partition of `__consumer_offsets`."""
    group = _group(laboratory, group_id)
    try:
        group.move_coordinator(to.node)
    except MoveError as problem:
        raise refused(str(problem)) from problem
    return _state(group)


def _group(laboratory: Laboratory, group_id: str) -> Group:
    group = Group(laboratory, group_id)
    if group.state == DEAD:
        raise not_found(f"there is no group {group_id}, or nobody coordinates it at the moment")
    return group


def _state(group: Group) -> GroupState:
    return GroupState(
        id=group.id,
        state=group.state,
        generation=group.generation,
        protocol=group.protocol,
        coordinator=group.coordinator,
        members=[_member(each) for each in group.members],
        offsets={f"{topic}-{partition}": offset for (topic, partition), offset in group.offsets.items()},
    )


def _member(member: GroupMember) -> MemberState:
    return MemberState(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        is_leader=member.is_leader,
        is_alive=member.is_alive,
        waits_for=member.waits_for,
        partitions={topic: list(each) for topic, each in member.partitions.items()},
    )
