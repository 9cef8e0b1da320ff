"""Groups: their state and history, and waiting for a state."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel, Field

from kohort.broker.cluster.moving import MoveError
from kohort.control.control_errors import ControlError, unknown
from kohort.control.faults.matching import STATE_NAMES
from kohort.control.groups.any_group import DEAD, UNKNOWN, AnyGroup
from kohort.control.groups.groups_by_id import group_of
from kohort.control.groups.lab_group import Group
from kohort.control.groups.lab_offsets import waited_s
from kohort.control.http.body import Body
from kohort.control.http.documenting import IN_VAIN, NOT_THERE, one_of, refusals
from kohort.control.http.endpoint_context import TheLaboratory, not_found, refused, the_node
from kohort.control.http.lag_metrics import MAX_PARTITIONS
from kohort.control.http.views import view
from kohort.control.laboratory import Laboratory
from kohort.control.waiting import MAX_WAIT_S, PATIENCE_S
from kohort.coordinator.classic.states import State
from kohort.groups.type_words import GROUP_TYPES
from kohort.protocol.topic_partition import TopicPartition

reading = APIRouter(prefix="/groups", tags=["groups"])  # Endpoints that only read; a proxy serves them, too.
router = APIRouter(prefix="/groups", tags=["groups"])
STABLE = State.STABLE.value


class MemberState(BaseModel):
    """A member."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    is_leader: bool
    is_alive: bool = Field(description="its connection is open, and no fault silences it")
    waits_for: str = Field(description="join, sync, partitions that other members still own, or nothing")
    partitions: dict[str, list[int]] = Field(description="by topic")
    speaks: str = Field(
        description="a consumer group may have members of both protocols", json_schema_extra=one_of(GROUP_TYPES)
    )
    epoch: int = Field(description="the member epoch; in a classic group the generation")
    state: str = Field(description="in a consumer group Stable, UnrevokedPartitions or UnreleasedPartitions")
    target: dict[str, list[int]] = Field(description="target assignment; in a classic group the current assignment")
    revoking: dict[str, list[int]] = Field(description="partitions that it must revoke and has not revoked yet")
    topics: list[str] = Field(description="the subscribed topic names")
    topic_regex: str
    assignor: str = Field(description="the server-side assignor that it selects")
    session_ends_in_ms: int | None = Field(description="null while its request waits")
    revocation_ends_in_ms: int | None = Field(description="time until it is removed if it does not revoke them")


class MigrationState(BaseModel):
    """Progress of a group between the classic and the consumer protocol."""

    protocol: str
    classic_members: int
    consumer_members: int


class GroupState(BaseModel):
    """A group."""

    id: str
    type: str = Field(
        description="classic, consumer, share or streams; empty if the group does not exist",
        json_schema_extra=one_of(["", *GROUP_TYPES]),
    )
    state: str = Field(json_schema_extra=one_of(STATE_NAMES | {UNKNOWN}))
    generation: int = Field(description="the group epoch; in a classic group the generation")
    assignment_epoch: int = Field(description="the epoch of the target assignment; in a classic group the generation")
    protocol: str = Field(description="the assignor")
    migration: MigrationState
    coordinator: int | None = Field(description="id of the coordinator's node")
    members: list[MemberState]
    offsets: dict[str, int] = Field(description="committed offsets by `topic-partition`")
    lag: dict[str, int] = Field(
        description="offsets that are still to be committed, or unfinished records, by `topic-partition`"
    )


class PartitionLag(BaseModel):
    """Progress of a group in a partition."""

    topic: str
    partition: int
    offset: int | None = Field(description="committed offset; start offset of a share group; null: none yet")
    lag: int = Field(description="offsets that are still to be committed, or unfinished records")
    seconds: float = Field(description="age of the batch with the next record of the group, or 0")


class RebalanceState(BaseModel):
    """A rebalance."""

    group_type: str = Field(json_schema_extra=one_of(GROUP_TYPES))
    generation: int
    cause: str
    actor: str
    outcome: str = Field(json_schema_extra=one_of(["open", "completed", "superseded"]))
    prepare_ms: float | None
    complete_ms: float | None
    joined: list[str]
    left: list[str]
    evicted: list[str]
    laggard: str = Field(
        description="last member that the group waited for; in a consumer group the slowest to revoke partitions"
    )
    laggard_ms: float | None = Field(description="how long the group waited for it")
    members: int
    moved: int | None = Field(description="partitions that changed their owner")
    fewest_moves: int | None = Field(
        description="minimum number of moves; null if members subscribe to different topics"
    )
    unowned_partition_s: float = Field(description="total time that partitions had no owner")


class NewCoordinator(Body):
    """The node of the new coordinator."""

    node: int


class NewOffsets(Body):
    """Offsets to commit."""

    offsets: dict[str, int] = Field(description="by `topic-partition`", examples=[{"orders-0": 5}])


class Reset(Body):
    """Offsets to which a group is reset."""

    to: Literal["earliest", "latest"] | int = Field("earliest", description="earliest, latest or an offset")
    topic: str | None = Field(
        None, description="all its partitions are reset; null: all partitions with a committed offset"
    )


@reading.get("")
async def list_groups(laboratory: TheLaboratory) -> list[GroupState]:
    """List all groups of all types that have a coordinator."""
    return [_state(group_of(laboratory, group_id)) for group_id in laboratory.group_ids()]


@reading.get("/{group_id}", responses=refusals(NOT_THERE))
async def read(group_id: str, laboratory: TheLaboratory) -> GroupState:
    """Return one group, with its members and offsets."""
    return _state(_group(laboratory, group_id))


@router.get("/{group_id}/lag", responses=refusals(NOT_THERE))
async def lag(
    group_id: str,
    laboratory: TheLaboratory,
    limit: Annotated[int, Query(ge=1, description="maximum number of partitions")] = MAX_PARTITIONS,
) -> list[PartitionLag]:
    """Return the lag of a group in each partition, in records and in seconds."""
    group = _group(laboratory, group_id)
    positions: dict[TopicPartition, int | None] = {**group.offsets}
    positions |= {(part.topic, part.partition): part.start_offset for part in group.partitions}
    clock, rows = laboratory.cluster.clock, list[PartitionLag]()
    wall_ms = clock.now_ms() + clock.epoch_ms
    for (topic, index), records in islice(sorted(group.lag.items()), limit):
        offset, partition = positions.get((topic, index)), laboratory.topics.find(topic).partition(index)
        assert partition is not None, "it has a lag"
        seconds = waited_s(partition.log, offset or 0, wall_ms) if records else 0.0
        rows.append(PartitionLag(topic=topic, partition=index, offset=offset, lag=records, seconds=seconds))
    return rows


@reading.get("/{group_id}/wait", responses=refusals(IN_VAIN))
async def wait(
    group_id: str,
    laboratory: TheLaboratory,
    state: Annotated[
        str | None,
        Query(
            description="left out: Stable, or any with a condition for offsets", json_schema_extra=one_of(STATE_NAMES)
        ),
    ] = None,
    members: Annotated[int | None, Query(description="exact number of members")] = None,
    member: Annotated[str | None, Query(description="a member, by member id, instance id or client id")] = None,
    waits_for: Annotated[
        Literal["join", "sync", "partitions", "nothing"] | None,
        Query(description="reason for which `member` waits"),
    ] = None,
    generation: Annotated[int | None, Query(description="this generation or a later one")] = None,
    migrated_to: Annotated[
        Literal["classic", "consumer"] | None, Query(description="the group and all its members use this protocol")
    ] = None,
    caught_up: Annotated[bool, Query(description="it has a lag, which is 0 for all partitions")] = False,
    committed: Annotated[
        str | None,
        Query(description="this offset or a higher one, as `topic-partition:offset`", examples=["orders-0:5"]),
    ] = None,
    timeout: Annotated[float, Query(gt=0, le=MAX_WAIT_S, description="in seconds")] = PATIENCE_S,
) -> GroupState:
    """Wait until the group is in a state and all other conditions hold. The status is 408 after the timeout."""
    if state not in STATE_NAMES | {None}:
        raise unknown("group state", state, STATE_NAMES)
    if waits_for is not None and member is None:
        raise ControlError("waits_for requires member, because it is about one member")
    if state is None and not caught_up and committed is None:
        state = STABLE
    offset = None if committed is None else _offset(committed)
    condition = _Condition(state, members, member, waits_for, generation, migrated_to, caught_up, offset)
    try:
        await laboratory.waiters.until(
            lambda: condition.holds(group_of(laboratory, group_id)),
            timeout,
            lambda: f"{group_of(laboratory, group_id)} is not {condition}",
        )
    except TimeoutError as error:
        raise HTTPException(408, str(error)) from None
    return _state(group_of(laboratory, group_id))


@dataclass(frozen=True)
class _Condition:
    """Conditions for which a request waits."""

    state: str | None
    members: int | None
    member: str | None
    waits_for: str | None
    generation: int | None
    migrated_to: str | None
    caught_up: bool
    committed: tuple[TopicPartition, int] | None

    def holds(self, group: AnyGroup) -> bool:
        if self.state not in (None, group.state) or self.members not in (None, len(group.members)):
            return False
        if self.state == STABLE and not group.is_settled:
            return False
        if self.generation is not None and group.generation < self.generation:
            return False
        if self.migrated_to is not None and not group.migration.is_at(self.migrated_to):
            return False
        if self.caught_up and not group.is_caught_up:
            return False
        if self.committed is not None and group.offsets.get(self.committed[0], -1) < self.committed[1]:
            return False
        if self.member is None:
            return True
        candidates = [
            candidate
            for candidate in group.members
            if self.member in (candidate.member_id, candidate.instance_id, candidate.client_id)
        ]
        return any(self.waits_for in (None, candidate.waits_for or "nothing") for candidate in candidates)

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
            parts.append("without a lag")
        if self.committed is not None:
            (topic, partition), offset = self.committed
            parts.append(f"with offset {offset} of {topic}-{partition} committed")
        return " ".join(parts)


@reading.get("/{group_id}/members/{who}", responses=refusals(NOT_THERE))
async def read_member(group_id: str, who: str, laboratory: TheLaboratory) -> MemberState:
    """Return one member, by member id, instance id or client id."""
    try:
        return view(MemberState, _group(laboratory, group_id).member(who))
    except LookupError as error:
        raise not_found(str(error.args[0])) from error


@reading.get("/{group_id}/history", responses=refusals(NOT_THERE))
async def history(
    group_id: str,
    laboratory: TheLaboratory,
    last: Annotated[int | None, Query(ge=1, description="maximum number, the newest rebalances; left out: all")] = None,
) -> list[RebalanceState]:
    """Return the group's rebalances since the broker was started, the oldest first."""
    rebalances = _known_group(laboratory, group_id).history
    return [view(RebalanceState, rebalance) for rebalance in (rebalances if last is None else rebalances[-last:])]


@reading.get("/{group_id}/timeline", responses=refusals(NOT_THERE))
async def timeline(group_id: str, laboratory: TheLaboratory) -> list[str]:
    """Return all events of the group, a line for each."""
    return _known_group(laboratory, group_id).timeline().splitlines()


@reading.get("/{group_id}/explanation", responses=refusals(NOT_THERE))
async def explanation(group_id: str, laboratory: TheLaboratory) -> list[str]:
    """Return what the group waits for and until when, what each client should do, and wrong settings, in lines."""
    return str(_group(laboratory, group_id).explain()).splitlines()


@router.post("/{group_id}/coordinator", responses=refusals(NOT_THERE))
async def move(group_id: str, to: NewCoordinator, laboratory: TheLaboratory) -> GroupState:
    """Move the coordinator of the group to another node, with all groups of its `__consumer_offsets` partition."""
    group = _group(laboratory, group_id)
    the_node(laboratory.server, to.node)
    try:
        group.move_coordinator(to.node)
    except MoveError as error:
        raise refused(str(error)) from error
    return _state(group)


@router.put("/{group_id}/offsets")
async def commit(group_id: str, new: NewOffsets, laboratory: TheLaboratory) -> GroupState:
    """Commit offsets for a group without members, as Kafka's tools do. The group is created if it does not exist."""
    group = Group(laboratory, group_id)
    await group.commit({_topic_partition(name): offset for name, offset in new.offsets.items()})
    return _state(group)


@router.post("/{group_id}/reset", responses=refusals(NOT_THERE))
async def reset(group_id: str, how: Reset, laboratory: TheLaboratory) -> GroupState:
    """Reset a group without members to the earliest offsets, to the latest, or to one offset."""
    group = Group(laboratory, group_id)
    await group.reset(how.to, how.topic)
    return _state(group)


@router.delete("/{group_id}", responses=refusals(NOT_THERE))
async def delete(group_id: str, laboratory: TheLaboratory) -> None:
    """Delete a group without members, with its committed offsets."""
    await _group(laboratory, group_id).delete()


def _topic_partition(name: str) -> TopicPartition:
    topic, _, partition = name.rpartition("-")
    if not topic or not partition.isdecimal():
        raise ControlError(f"expected TOPIC-PARTITION, as in orders-0; got {name!r}")
    return topic, int(partition)


def _offset(committed: str) -> tuple[TopicPartition, int]:
    name, _, offset = committed.rpartition(":")
    if not offset.isdecimal():
        raise ControlError(f"expected TOPIC-PARTITION:OFFSET, as in orders-0:5; got {committed!r}")
    return _topic_partition(name), int(offset)


def _known_group(laboratory: Laboratory, group_id: str) -> AnyGroup:
    group = group_of(laboratory, group_id)
    if group.state == DEAD and not group.events:
        raise not_found(f"group {group_id} does not exist and has no recorded events")
    return group


def _group(laboratory: Laboratory, group_id: str) -> AnyGroup:
    group = group_of(laboratory, group_id)
    if group.state == DEAD:
        raise not_found(f"group {group_id} does not exist or has no coordinator")
    return group


def _state(group: AnyGroup) -> GroupState:
    return view(
        GroupState,
        group,
        offsets={f"{topic}-{partition}": offset for (topic, partition), offset in group.offsets.items()},
        lag={f"{topic}-{partition}": lag for (topic, partition), lag in group.lag.items()},
    )
