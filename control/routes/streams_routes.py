"""Streams groups (KIP-1071): who has which tasks, what the topology needs, and waiting until everybody has theirs.

Timeline, explanation and deletion are asked for as those of any other group: see `groups_routes.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel, Field

from kohort.control.documenting import IN_VAIN, NOT_THERE, refusals
from kohort.control.endpoint_context import TheLaboratory, not_found
from kohort.control.laboratory import Laboratory
from kohort.control.views import view
from kohort.control.waiting import LONGEST_WAIT_S, PATIENCE_S

if TYPE_CHECKING:
    from kohort.control.lab_streams_group import StreamsGroup
    from kohort.control.task_members import MemberTasks, TaskMember

router = APIRouter(prefix="/streams-groups", tags=["streams"])


class TaskLists(BaseModel):
    """Tasks by role: `0_3` is partition 3 of subtopology 0."""

    active: list[str]
    standby: list[str]


class StreamsMemberState(BaseModel):
    """A member of a streams group: a thread of an application."""

    member_id: str
    client_id: str
    client_host: str
    process_id: str = Field(description="members of one process share its state")
    epoch: int
    state: str = Field(
        description="Stable, UnrevokedTasks: it is to give some up, or UnreleasedTasks: it waits for some"
    )
    is_alive: bool
    topology_epoch: int
    tasks: TaskLists = Field(description="what it has")
    pending: TaskLists = Field(description="what it is to give up and has not yet")
    target_tasks: TaskLists = Field(description="what it is to have")
    session_ends_in_ms: int | None
    revocation_ends_in_ms: int | None = Field(description="when it is removed if it gives nothing up")


class SubtopologyState(BaseModel):
    """A part of a topology."""

    id: str
    source_topics: list[str]
    repartition_source_topics: list[str]
    repartition_sink_topics: list[str]
    state_changelog_topics: list[str]
    tasks: int | None = Field(description="null: not known, as topics are missing or do not fit")


class TopologyState(BaseModel):
    """What an application does."""

    epoch: int
    is_ready: bool = Field(description="all its topics are there and fit")
    subtopologies: list[SubtopologyState]


class StreamsGroupState(BaseModel):
    """A streams group."""

    id: str
    state: str
    generation: int = Field(description="the group epoch")
    assignment_epoch: int
    members: list[StreamsMemberState]
    topology: TopologyState | None = Field(description="null: nobody has described it")
    status: dict[str, str] = Field(description="what members are told beside their tasks")


@router.get("/{group_id}", responses=refusals(NOT_THERE))
async def read(group_id: str, laboratory: TheLaboratory) -> StreamsGroupState:
    """One streams group: who has which tasks, what the topology needs, and what keeps tasks from being handed out."""
    group = _found(laboratory, group_id)
    if not group.type:
        raise not_found(f"there is no streams group {group_id}, or nobody coordinates it at the moment")
    return _state(group)


@router.get("/{group_id}/wait", responses=refusals(IN_VAIN))
async def wait(
    group_id: str,
    laboratory: TheLaboratory,
    members: Annotated[int | None, Query(description="there are so many of them, too")] = None,
    timeout: Annotated[float, Query(gt=0, le=LONGEST_WAIT_S, description="in seconds")] = PATIENCE_S,
) -> StreamsGroupState:
    """Answered when every member has the tasks that it is to have; 408 when it takes long."""
    group = _found(laboratory, group_id)
    try:
        await group.wait_stable(members, timeout)
    except TimeoutError as late:
        raise HTTPException(408, str(late)) from None
    return _state(group)


def _found(laboratory: Laboratory, group_id: str) -> StreamsGroup:
    from kohort.control.lab_streams_group import StreamsGroup  # not for brokers without such groups

    return StreamsGroup(laboratory, group_id)


def _state(group: StreamsGroup) -> StreamsGroupState:
    topology = group.topology
    shown = None
    if topology is not None:
        parts = [view(SubtopologyState, each) for each in topology.subtopologies]
        shown = view(TopologyState, topology, subtopologies=parts)
    return view(StreamsGroupState, group, members=[_member(each) for each in group.members], topology=shown)


def _member(member: TaskMember) -> StreamsMemberState:
    return view(
        StreamsMemberState,
        member,
        tasks=_lists(member.tasks),
        pending=_lists(member.pending),
        target_tasks=_lists(member.target_tasks),
    )


def _lists(tasks: MemberTasks) -> TaskLists:
    return view(TaskLists, tasks)
