"""Groups: how they are, what happened to them, and waiting until they are otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel, Field

from kohort.broker.cluster.moving import MoveError
from kohort.control.any_group import DEAD, UNKNOWN
from kohort.control.body import Body
from kohort.control.control_errors import ControlError, unknown
from kohort.control.documenting import IN_VAIN, NOT_THERE, one_of, refusals
from kohort.control.endpoint_context import TheLaboratory, not_found, refused, the_node
from kohort.control.faults.matching import STATE_NAMES
from kohort.control.groups_by_id import group_of
from kohort.control.lab_group import Group, Migration
from kohort.control.laboratory import Laboratory
from kohort.control.views import view
from kohort.control.waiting import LONGEST_WAIT_S, PATIENCE_S
from kohort.coordinator.classic.states import State
from kohort.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kohort.control.lab_share_group import ShareGroup
    from kohort.control.lab_streams_group import StreamsGroup

reading = APIRouter(prefix="/groups", tags=["groups"])
"""What looks at groups and changes nothing: a proxy has it, too."""
router = APIRouter(prefix="/groups", tags=["groups"])
STABLE = State.STABLE.value
TYPES = ("classic", "consumer", "share", "streams")


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
    waits_for: str = Field(description="join, sync, partitions that others still have, or nothing")
    partitions: dict[str, list[int]] = Field(description="by topic")
    speaks: str = Field(
        description="a consumer group may have members of both protocols", json_schema_extra=one_of(TYPES)
    )
    epoch: int = Field(description="in a classic group the generation, else its member epoch")
    state: str = Field(description="in a consumer group Stable, UnrevokedPartitions or UnreleasedPartitions")
    target: dict[str, list[int]] = Field(description="what it is to have; in a classic group what it has")
    revoking: dict[str, list[int]] = Field(description="what it is to give up and has not yet")
    topics: list[str] = Field(description="the names that it subscribes to")
    topic_regex: str
    assignor: str = Field(description="the server-side assignor that it votes for")
    session_ends_in_ms: int | None = Field(description="null: not while its request waits")
    revocation_ends_in_ms: int | None = Field(description="when it is removed if it gives up nothing")


class MigrationState(BaseModel):
    """How far a group is between the classic and the consumer protocol."""

    protocol: str
    classic_members: int
    consumer_members: int


class GroupState(BaseModel):
    """A group."""

    id: str
    type: str = Field(
        description="classic, consumer, share or streams; empty where there is no group",
        json_schema_extra=one_of(["", *TYPES]),
    )
    state: str = Field(json_schema_extra=one_of(STATE_NAMES | {UNKNOWN}))
    generation: int = Field(description="of all groups but classic ones the group epoch")
    assignment_epoch: int = Field(description="the epoch that the target assignment is for; else the generation")
    protocol: str = Field(description="the assignor")
    migration: MigrationState
    coordinator: int | None = Field(description="the node that looks after it")
    members: list[MemberState]
    offsets: dict[str, int] = Field(description="what is committed, by `topic-partition`")
    lag: dict[str, int] = Field(
        description="offsets that are still to be committed, or records that are not done with, by `topic-partition`"
    )


class RebalanceState(BaseModel):
    """A rebalance."""

    group_type: str = Field(json_schema_extra=one_of(TYPES))
    generation: int
    cause: str
    actor: str
    outcome: str = Field(json_schema_extra=one_of(["open", "completed", "superseded"]))
    prepare_ms: float | None
    complete_ms: float | None
    joined: list[str]
    left: list[str]
    evicted: list[str]
    laggard: str = Field(description="who was waited for last; in a consumer group for longest, to give up partitions")
    laggard_ms: float | None = Field(description="for how long it was waited for")
    members: int
    moved: int | None = Field(description="partitions that had an owner and were given another one")
    fewest_moves: int | None = Field(description="how few had to; null where members subscribe to different topics")
    unowned_partition_s: float = Field(description="for how long partitions were nobody's, all added up")


class NewCoordinator(Body):
    """Where the coordinator is to go."""

    node: int


class NewOffsets(Body):
    """What is to be committed."""

    offsets: dict[str, int] = Field(description="by `topic-partition`", examples=[{"orders-0": 5}])


class Reset(Body):
    """Where a group is to go on."""

    to: Literal["earliest", "latest"] | int = Field("earliest", description="or an offset")
    topic: str | None = Field(None, description="in all its partitions; null: where the group has committed")


@reading.get("")
async def list_groups(laboratory: TheLaboratory) -> list[GroupState]:
    """All groups that have a coordinator, of every kind."""
    return [_state(group_of(laboratory, group_id)) for group_id in laboratory.group_ids()]


@reading.get("/{group_id}", responses=refusals(NOT_THERE))
async def read(group_id: str, laboratory: TheLaboratory) -> GroupState:
    """One group, with its members and offsets."""
    return _state(_group(laboratory, group_id))


@reading.get("/{group_id}/wait", responses=refusals(IN_VAIN))
async def wait(
    group_id: str,
    laboratory: TheLaboratory,
    state: Annotated[
        str | None,
        Query(
            description="left out: Stable, or any where offsets are waited for", json_schema_extra=one_of(STATE_NAMES)
        ),
    ] = None,
    members: Annotated[int | None, Query(description="exactly this many of them")] = None,
    member: Annotated[str | None, Query(description="this one is in it: a member id, instance id or client id")] = None,
    waits_for: Annotated[
        Literal["join", "sync", "partitions", "nothing"] | None,
        Query(description="what `member` waits for"),
    ] = None,
    generation: Annotated[int | None, Query(description="it has come to this one, or further")] = None,
    migrated_to: Annotated[
        Literal["classic", "consumer"] | None, Query(description="the group and all its members speak this protocol")
    ] = None,
    caught_up: Annotated[bool, Query(description="it has a lag, and that is 0 everywhere")] = False,
    committed: Annotated[
        str | None,
        Query(description="so much of a partition, or more: `topic-partition:offset`", examples=["orders-0:5"]),
    ] = None,
    timeout: Annotated[float, Query(gt=0, le=LONGEST_WAIT_S, description="in seconds")] = PATIENCE_S,
) -> GroupState:
    """Answered when the group is in a state and all else that is given holds; 408 when that takes too long."""
    if state not in STATE_NAMES | {None}:
        raise unknown("group state", state, STATE_NAMES)
    if waits_for is not None and member is None:
        raise ControlError("waits_for says what one member waits for; say which with member")
    if state is None and not caught_up and committed is None:
        state = STABLE
    offset = None if committed is None else _offset(committed)
    wanted = _Wanted(state, members, member, waits_for, generation, migrated_to, caught_up, offset)
    try:
        await laboratory.waiters.until(
            lambda: wanted.holds(group_of(laboratory, group_id)),
            timeout,
            lambda: f"{group_of(laboratory, group_id)} is not {wanted}",
        )
    except TimeoutError as late:
        raise HTTPException(408, str(late)) from None
    return _state(group_of(laboratory, group_id))


@dataclass(frozen=True)
class _Wanted:
    """What somebody waits for."""

    state: str | None
    members: int | None
    member: str | None
    waits_for: str | None
    generation: int | None
    migrated_to: str | None
    caught_up: bool
    committed: tuple[TopicPartition, int] | None

    def holds(self, group: Group | ShareGroup | StreamsGroup) -> bool:
        if self.state not in (None, group.state) or self.members not in (None, len(group.members)):
            return False
        if self.state == STABLE and not group.is_settled:
            return False
        if self.generation is not None and group.generation < self.generation:
            return False
        if self.migrated_to is not None and not _migration(group).is_at(self.migrated_to):
            return False
        if self.caught_up and not group.is_caught_up:
            return False
        if self.committed is not None and _offsets(group).get(self.committed[0], -1) < self.committed[1]:
            return False
        if self.member is None:
            return True
        found = [each for each in group.members if self.member in (each.member_id, each.instance_id, each.client_id)]
        return any(self.waits_for in (None, each.waits_for or "nothing") for each in found)

    def __str__(self) -> str:
        parts = [self.state or "yet"]
        if self.members is not None:
            parts.append(f"with {self.members} members")
        if self.generation is not None:
            parts.append(f"at generation {self.generation}")
        if self.migrated_to is not None:
            parts.append(f"with all its members migrated to {self.migrated_to}")
        if self.member is not None:
            waiting = f" that waits for {self.waits_for}" if self.waits_for is not None else ""
            parts.append(f"with a member {self.member}{waiting}")
        if self.caught_up:
            parts.append("with nothing left to commit")
        if self.committed is not None:
            (topic, partition), offset = self.committed
            parts.append(f"with offset {offset} of {topic}-{partition} committed")
        return " ".join(parts)


@reading.get("/{group_id}/members/{who}", responses=refusals(NOT_THERE))
async def read_member(group_id: str, who: str, laboratory: TheLaboratory) -> MemberState:
    """One member, by member id, instance id or client id."""
    try:
        return view(MemberState, _group(laboratory, group_id).member(who))
    except LookupError as problem:
        raise not_found(str(problem.args[0])) from problem


@reading.get("/{group_id}/history", responses=refusals(NOT_THERE))
async def history(
    group_id: str,
    laboratory: TheLaboratory,
    last: Annotated[int | None, Query(ge=1, description="at most this many of them, the newest; left out: all")] = None,
) -> list[RebalanceState]:
    """Its rebalances since the broker was started, the first one first."""
    rebalances = _known(laboratory, group_id).history
    return [view(RebalanceState, each) for each in (rebalances if last is None else rebalances[-last:])]


@reading.get("/{group_id}/timeline", responses=refusals(NOT_THERE))
async def timeline(group_id: str, laboratory: TheLaboratory) -> list[str]:
    """Everything that happened to it, a line an event."""
    return _known(laboratory, group_id).timeline().splitlines()


@reading.get("/{group_id}/explanation", responses=refusals(NOT_THERE))
async def explanation(group_id: str, laboratory: TheLaboratory) -> list[str]:
    """Whom it waits for and until when, what each client should do now, what is badly set: a line each."""
    return str(_group(laboratory, group_id).explain()).splitlines()


@router.post("/{group_id}/coordinator", responses=refusals(NOT_THERE))
async def move(group_id: str, to: NewCoordinator, laboratory: TheLaboratory) -> GroupState:
    """Let another node look after it, and after all groups of its partition of `__consumer_offsets`."""
    group = _group(laboratory, group_id)
    the_node(laboratory.server, to.node)
    try:
        group.move_coordinator(to.node)
    except MoveError as problem:
        raise refused(str(problem)) from problem
    return _state(group)


@router.put("/{group_id}/offsets")
async def commit(group_id: str, new: NewOffsets, laboratory: TheLaboratory) -> GroupState:
    """Commit for a group without members, as Kafka's tools do; it is made if it is not there."""
    group = Group(laboratory, group_id)
    await group.commit({_topic_partition(name): offset for name, offset in new.offsets.items()})
    return _state(group)


@router.post("/{group_id}/reset", responses=refusals(NOT_THERE))
async def reset(group_id: str, how: Reset, laboratory: TheLaboratory) -> GroupState:
    """Set a group without members to the earliest offsets, to the latest, or to one."""
    group = Group(laboratory, group_id)
    await group.reset(how.to, how.topic)
    return _state(group)


@router.delete("/{group_id}", responses=refusals(NOT_THERE))
async def delete(group_id: str, laboratory: TheLaboratory) -> None:
    """Delete a group without members, with what it has committed."""
    await _group(laboratory, group_id).delete()


def _topic_partition(name: str) -> TopicPartition:
    topic, _, partition = name.rpartition("-")
    if not topic or not partition.isdecimal():
        raise ControlError(f"a partition is named as in orders-0, not {name!r}")
    return topic, int(partition)


def _offset(committed: str) -> tuple[TopicPartition, int]:
    name, _, offset = committed.rpartition(":")
    if not offset.isdecimal():
        raise ControlError(f"an offset of a partition is given as in orders-0:5, not {committed!r}")
    return _topic_partition(name), int(offset)


def _known(laboratory: Laboratory, group_id: str) -> Group | ShareGroup | StreamsGroup:
    """One that is there, or was."""
    group = group_of(laboratory, group_id)
    if group.state == DEAD and not group.events:
        raise not_found(f"nothing was ever heard of a group {group_id}")
    return group


def _group(laboratory: Laboratory, group_id: str) -> Group | ShareGroup | StreamsGroup:
    group = group_of(laboratory, group_id)
    if group.state == DEAD:
        raise not_found(f"there is no group {group_id}, or nobody coordinates it at the moment")
    return group


def _migration(group: Group | ShareGroup | StreamsGroup) -> Migration:
    """Share groups and streams groups do not migrate."""
    return group.migration if isinstance(group, Group) else Migration(group.type, 0, 0)


def _offsets(group: Group | ShareGroup | StreamsGroup) -> dict[TopicPartition, int]:
    """Share groups commit nothing."""
    return getattr(group, "offsets", {})


def _state(group: Group | ShareGroup | StreamsGroup) -> GroupState:
    return view(
        GroupState,
        group,
        members=[view(MemberState, each) for each in group.members],
        migration=view(MigrationState, _migration(group)),
        offsets={f"{topic}-{partition}": offset for (topic, partition), offset in _offsets(group).items()},
        lag={f"{topic}-{partition}": lag for (topic, partition), lag in group.lag.items()},
    )
