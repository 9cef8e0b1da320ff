"""Everything at one look, for whoever draws it: `kohort watch`."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from fastapi import APIRouter
from pydantic import BaseModel, Field

from kohort.control.endpoint_context import TheLaboratory
from kohort.control.glance import glance
from kohort.control.groups_by_id import group_of
from kohort.control.lab_group import Group
from kohort.control.laboratory import Laboratory
from kohort.control.routes.shares_routes import SharedPartition
from kohort.control.views import view

if TYPE_CHECKING:
    from kohort.control.group_members import GroupMember
    from kohort.control.lab_share_group import ShareGroup
    from kohort.control.lab_streams_group import StreamsGroup

router = APIRouter(prefix="/overview", tags=["overview"])
REBALANCES = 3
"""The last ones of each group."""


class WaitOverview(BaseModel):
    """Something that a group waits for."""

    for_whom: list[str] = Field(description="nobody: it waits for time to go by")
    what: str
    ends_in_ms: int | None = Field(description="when a timer ends it, on the brokers' clock; null: none does")
    then: str


class MemberOverview(BaseModel):
    """A member."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    waits_for: str = Field(description="join, sync, partitions, tasks, or nothing")
    is_alive: bool
    speaks: str = Field(description="classic, consumer, share or streams")
    epoch: int = Field(description="in a classic group the generation, else its member epoch")
    target: dict[str, list[int]] = Field(description="what it is to have; in a classic group what it has")
    revoking: dict[str, list[int]] = Field(description="what it is to give up and has not yet")
    session_ends_in_ms: int | None = Field(description="null: not while its request waits")
    partitions: dict[str, list[int]] = Field(description="by topic")
    tasks: str = Field(description="of a streams group's member: its tasks by role; empty: it is none, or has none")


class RebalanceOverview(BaseModel):
    """A rebalance."""

    number: int = Field(description="counted from 0 in each group")
    generation: int
    cause: str
    actor: str
    outcome: str = Field(description="open, completed or superseded")
    prepare_ms: float | None
    complete_ms: float | None
    laggard: str
    began_ms_ago: int


class GroupOverview(BaseModel):
    """A group, whom it waits for, and what happened to it last."""

    id: str
    type: str = Field(description="classic, consumer, share or streams")
    state: str
    generation: int = Field(description="of all groups but classic ones the group epoch")
    assignment_epoch: int
    protocol: str
    coordinator: int | None
    members: list[MemberOverview]
    waits: list[WaitOverview]
    rebalances: list[RebalanceOverview] = Field(description="the last ones, the newest last")
    lags: dict[str, dict[int, int]] = Field(description="by topic and partition, where something is committed")
    shared: list[SharedPartition] = Field(description="of a share group: how far it is with each partition")


class Overview(BaseModel):
    """A cluster at one look."""

    brokers: int = Field(description="how many run")
    now_ms: int
    paused: bool
    scale: float
    rules: list[str] = Field(description="faults at work")
    gates: list[str] = Field(description="gates that hold, and who waits there")
    groups: list[GroupOverview]


class GroupSummary(BaseModel):
    """A group in a list."""

    id: str
    type: str = Field(description="classic, consumer, share or streams")
    state: str
    generation: int = Field(description="of all groups but classic ones the group epoch")
    members: int = Field(description="how many")


@router.get("/groups")
async def list_groups(laboratory: TheLaboratory) -> list[GroupSummary]:
    """All groups in a word each, for whoever lists many of them again and again."""
    groups = [group_of(laboratory, group_id) for group_id in laboratory.group_ids()]
    return [view(GroupSummary, each, members=each.size) for each in groups]


class MarkOverview(BaseModel):
    """A rebalance on the axis of time."""

    began_ms_ago: int
    took_ms: float | None = Field(description="null: it is not over")
    cause: str
    laggard: str = Field(description="who was waited for last")


class GlanceOverview(BaseModel):
    """A group that something has happened to lately."""

    id: str
    type: str = Field(description="classic, consumer, share or streams")
    state: str
    members: int = Field(description="how many")
    waits: list[WaitOverview]
    since_ms: int | None = Field(description="for how long its rebalance has been going on; null: it is in none")
    marks: list[MarkOverview] = Field(description="its rebalances of the last ten minutes, the newest last")


@router.get("/summary")
async def at_a_glance(laboratory: TheLaboratory) -> list[GlanceOverview]:
    """The groups of the last ten minutes by the brokers' clock, at most 30, the most troubled first."""
    return [
        view(
            GlanceOverview,
            each.group,
            members=each.group.size,
            waits=[view(WaitOverview, wait) for wait in each.waits],
            since_ms=each.since_ms,
            marks=[view(MarkOverview, mark) for mark in each.marks],
        )
        for each in glance(laboratory)
    ]


@router.get("")
async def read(laboratory: TheLaboratory, groups: str = "*") -> Overview:
    """The clock, what spoils and holds requests, and the groups whose ids are like a pattern (with * and ?)."""
    clock = laboratory.clock
    return view(
        Overview,
        clock,
        brokers=laboratory.brokers_running,
        now_ms=clock.now_ms(),
        rules=laboratory.rules_at_work,
        gates=[f"{gate}: {', '.join(map(str, gate.held)) or 'nobody'}" for gate in laboratory.gates],
        groups=[_group(laboratory, each) for each in laboratory.group_ids() if fnmatchcase(each, groups)],
    )


def _group(laboratory: Laboratory, group_id: str) -> GroupOverview:
    group = group_of(laboratory, group_id)
    explanation = group.explain()
    history = list(enumerate(group.history))[-REBALANCES:]
    now_us = laboratory.clock.now_us()
    return view(
        GroupOverview,
        group,
        members=[
            view(MemberOverview, member, session_ends_in_ms=advice.session_ends_in_ms, tasks=_tasks(member))
            for member, advice in zip(group.members, explanation.clients, strict=True)
        ],
        waits=[view(WaitOverview, each) for each in explanation.waits],
        rebalances=[
            view(RebalanceOverview, each, number=number, began_ms_ago=(now_us - each.events[0].mono_us) // 1000)
            for number, each in history
        ],
        lags=_lags(laboratory, group),
        shared=[view(SharedPartition, each) for each in getattr(group, "partitions", ())],
    )


def _tasks(member: GroupMember) -> str:
    tasks = getattr(member, "tasks", None)
    return str(tasks) if tasks else ""


def _lags(laboratory: Laboratory, group: Group | ShareGroup | StreamsGroup) -> dict[str, dict[int, int]]:
    lags: dict[str, dict[int, int]] = {}
    if not isinstance(group, Group):
        for (name, number), lag in group.lag.items():
            lags.setdefault(name, {})[number] = lag
        return lags
    for (name, number), offset in group.offsets.items():
        topic = laboratory.cluster.topics.by_name(name)
        partition = topic.partition(number) if topic is not None else None
        if partition is not None:
            lags.setdefault(name, {})[number] = max(0, partition.log.log_end_offset - offset)
    return lags
