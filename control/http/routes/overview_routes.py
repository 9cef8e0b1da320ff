"""Overview of a cluster in one response, for displays such as `kohort watch`."""

from __future__ import annotations

from fnmatch import fnmatchcase

from fastapi import APIRouter
from pydantic import BaseModel, Field

from kohort.control.groups.any_group import AnyGroup
from kohort.control.groups.groups_by_id import group_of
from kohort.control.history.glance import glance
from kohort.control.http.endpoint_context import TheLaboratory
from kohort.control.http.routes.shares_routes import SharedPartition
from kohort.control.http.views import view
from kohort.control.laboratory import Laboratory
from kohort.groups.group_members import TaskMember

router = APIRouter(prefix="/overview", tags=["overview"])
REBALANCES = 3  # the newest ones of each group


class WaitOverview(BaseModel):
    """Something that a group waits for."""

    for_whom: list[str] = Field(description="empty: it only waits for time to pass")
    what: str
    ends_in_ms: int | None = Field(
        description="time until a timer ends the wait, on the brokers' clock; null: no timer does"
    )
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
    epoch: int = Field(description="the member epoch; in a classic group the generation")
    target: dict[str, list[int]] = Field(description="target assignment; in a classic group the current assignment")
    revoking: dict[str, list[int]] = Field(description="partitions that it must revoke and has not revoked yet")
    session_ends_in_ms: int | None = Field(description="null while its request waits")
    partitions: dict[str, list[int]] = Field(description="by topic")
    tasks: str = Field(description="tasks by role; empty without tasks or in a group of another type")


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


class DeadLetterTopic(BaseModel):
    """The dead-letter topic of a share group."""

    name: str
    records: int | None = Field(description="of all groups; null: the topic does not exist")


class GroupOverview(BaseModel):
    """A group, what it waits for, and its latest rebalances."""

    id: str
    type: str = Field(description="classic, consumer, share or streams")
    state: str
    generation: int = Field(description="the group epoch; in a classic group the generation")
    assignment_epoch: int
    protocol: str
    coordinator: int | None
    members: list[MemberOverview]
    waits: list[WaitOverview]
    rebalances: list[RebalanceOverview] = Field(description="the latest rebalances, the newest last")
    lags: dict[str, dict[int, int]] = Field(
        description="by topic and partition, for partitions with a committed offset"
    )
    shared: list[SharedPartition] = Field(description="of a share group: the state of each partition")
    dead_letter_topic: DeadLetterTopic | None


class Overview(BaseModel):
    """Overview of a cluster."""

    brokers: int = Field(description="number of running nodes")
    now_ms: int
    paused: bool
    scale: float
    rules: list[str] = Field(description="active rules")
    gates: list[str] = Field(description="closed gates with their waiting requests")
    groups: list[GroupOverview]


class GroupSummary(BaseModel):
    """A group in a list."""

    id: str
    type: str = Field(description="classic, consumer, share or streams")
    state: str
    generation: int = Field(description="the group epoch; in a classic group the generation")
    members: int = Field(description="number of members")


@router.get("/groups")
async def list_groups(laboratory: TheLaboratory) -> list[GroupSummary]:
    """List all groups briefly, for clients that poll long lists."""
    groups = [group_of(laboratory, group_id) for group_id in laboratory.group_ids()]
    return [view(GroupSummary, group, members=group.size) for group in groups]


class MarkOverview(BaseModel):
    """A rebalance on the time axis."""

    began_ms_ago: int
    took_ms: float | None = Field(description="null: it is still open")
    cause: str
    laggard: str = Field(description="last member that the group waited for")


class GlanceOverview(BaseModel):
    """A group with recent events."""

    id: str
    type: str = Field(description="classic, consumer, share or streams")
    state: str
    members: int = Field(description="number of members")
    waits: list[WaitOverview]
    since_ms: int | None = Field(description="duration of the current rebalance; null without one")
    marks: list[MarkOverview] = Field(description="its rebalances of the last ten minutes, the newest last")


@router.get("/summary")
async def at_a_glance(laboratory: TheLaboratory) -> list[GlanceOverview]:
    """List at most 30 groups with events in the last ten minutes of the brokers' clock, most problems first."""
    return [
        view(
            GlanceOverview,
            entry.group,
            members=entry.group.size,
            waits=entry.waits,
            since_ms=entry.since_ms,
            marks=entry.marks,
        )
        for entry in glance(laboratory)
    ]


@router.get("")
async def read(laboratory: TheLaboratory, groups: str = "*") -> Overview:
    """Return the clock, the active rules and gates, and the groups whose ids match a pattern (with * and ?)."""
    clock = laboratory.clock
    return view(
        Overview,
        clock,
        brokers=laboratory.brokers_running,
        now_ms=clock.now_ms(),
        rules=laboratory.rules_at_work,
        gates=[f"{gate}: {', '.join(map(str, gate.held)) or 'none'}" for gate in laboratory.gates],
        groups=[_group(laboratory, group_id) for group_id in laboratory.group_ids() if fnmatchcase(group_id, groups)],
    )


def _group(laboratory: Laboratory, group_id: str) -> GroupOverview:
    group = group_of(laboratory, group_id)
    history = list(enumerate(group.history))[-REBALANCES:]
    now_us = laboratory.clock.now_us()
    return view(
        GroupOverview,
        group,
        members=[
            view(MemberOverview, member, tasks=str(member.tasks or "") if isinstance(member, TaskMember) else "")
            for member in group.members
        ],
        waits=group.explain().waits,
        rebalances=[
            view(RebalanceOverview, entry, number=number, began_ms_ago=(now_us - entry.events[0].mono_us) // 1000)
            for number, entry in history
        ],
        lags=_lags(group),
        shared=group.partitions,
        dead_letter_topic=_dead_letter_topic(laboratory, group),
    )


def _dead_letter_topic(laboratory: Laboratory, group: AnyGroup) -> DeadLetterTopic | None:
    name = group.dead_letter_topic
    if not name:
        return None
    topic = laboratory.cluster.topics.by_name(name)
    if topic is None:
        return DeadLetterTopic(name=name, records=None)
    logs = [partition.log for partition in topic.partitions]
    return DeadLetterTopic(name=name, records=sum(log.high_watermark - log.log_start_offset for log in logs))


def _lags(group: AnyGroup) -> dict[str, dict[int, int]]:
    lags: dict[str, dict[int, int]] = {}
    committed, is_shared = group.offsets, bool(group.partitions)
    for (name, number), lag in group.lag.items():
        if is_shared or (name, number) in committed:
            lags.setdefault(name, {})[number] = lag
    return lags
