"""Streams groups (KIP-1071): tasks of members, requirements of the topology, and waiting for all assignments.

Timeline, explanation and deletion use the endpoints of other groups: see `groups_routes.py`.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel, Field

from kohort.control.groups.groups_by_id import streams_group
from kohort.control.http.documenting import IN_VAIN, NOT_THERE, refusals
from kohort.control.http.endpoint_context import TheLaboratory, not_found
from kohort.control.http.views import view
from kohort.control.waiting import MAX_WAIT_S, PATIENCE_S

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
        description="Stable, UnrevokedTasks (it must revoke tasks) or UnreleasedTasks (it waits for tasks)"
    )
    is_alive: bool
    topology_epoch: int
    tasks: TaskLists = Field(description="assigned tasks")
    pending: TaskLists = Field(description="tasks that it must revoke and has not revoked yet")
    target_tasks: TaskLists = Field(description="tasks of its target assignment")
    session_ends_in_ms: int | None
    revocation_ends_in_ms: int | None = Field(description="time until it is removed if it does not revoke them")


class SubtopologyState(BaseModel):
    """A part of a topology."""

    id: str
    source_topics: list[str]
    repartition_source_topics: list[str]
    repartition_sink_topics: list[str]
    state_changelog_topics: list[str]
    tasks: int | None = Field(description="null: not known, because topics are missing or do not match")


class TopologyState(BaseModel):
    """The processing topology of an application."""

    epoch: int
    is_ready: bool = Field(description="all its topics exist and match")
    subtopologies: list[SubtopologyState]


class StreamsGroupState(BaseModel):
    """A streams group."""

    id: str
    state: str
    generation: int = Field(description="the group epoch")
    assignment_epoch: int
    members: list[StreamsMemberState]
    topology: TopologyState | None = Field(description="null: no member has sent it")
    status: dict[str, str] = Field(description="status that members receive with their tasks")


@router.get("/{group_id}", responses=refusals(NOT_THERE))
async def read(group_id: str, laboratory: TheLaboratory) -> StreamsGroupState:
    """Return one streams group: the tasks of members, the topology, and the reasons for unassigned tasks."""
    group = streams_group(laboratory, group_id)
    if not group.type:
        raise not_found(f"streams group {group_id} does not exist or has no coordinator")
    return view(StreamsGroupState, group)


@router.get("/{group_id}/wait", responses=refusals(IN_VAIN))
async def wait(
    group_id: str,
    laboratory: TheLaboratory,
    members: Annotated[int | None, Query(description="exact number of members")] = None,
    timeout: Annotated[float, Query(gt=0, le=MAX_WAIT_S, description="in seconds")] = PATIENCE_S,
) -> StreamsGroupState:
    """Wait until every member has its target tasks. The status is 408 after the timeout."""
    group = streams_group(laboratory, group_id)
    try:
        await group.wait_stable(members, timeout)
    except TimeoutError as error:
        raise HTTPException(408, str(error)) from None
    return view(StreamsGroupState, group)
