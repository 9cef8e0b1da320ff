"""Share groups (KIP-932): who holds which records, why one does not come, and waiting until none is left.

Members, timeline, explanation and deletion are asked for as those of any other group: see `groups_routes.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel, Field

from kohort.control.body import Body
from kohort.control.control_errors import ControlError
from kohort.control.documenting import IN_VAIN, NOT_THERE, refusals
from kohort.control.endpoint_context import TheLaboratory, not_found
from kohort.control.laboratory import Laboratory
from kohort.control.views import view
from kohort.control.waiting import LONGEST_WAIT_S, PATIENCE_S

if TYPE_CHECKING:
    from kohort.control.lab_share_group import ShareGroup

router = APIRouter(prefix="/share-groups", tags=["shares"])


class SharedPartition(BaseModel):
    """A partition as a share group sees it."""

    topic: str
    partition: int
    leader: int | None = Field(description="the node that gives out its records; null: nobody leads it")
    is_ready: bool = Field(description="a heartbeat has had its state begun")
    progress: str = Field(description="active, initializing, or not loaded: nobody has fetched from its leader yet")
    start_offset: int | None = Field(description="the first offset that is not done with; null: not decided yet")
    next_offset: int | None = Field(description="the first offset that nobody was ever given")
    log_end_offset: int
    lag: int | None = Field(description="records that are not done with; null: not known yet")
    acquired: int = Field(description="records that members hold")
    available: int = Field(description="records that were delivered and may be had again")
    done: int = Field(description="records behind the start that were accepted or archived")
    fetched_by: list[str] = Field(description="ids of members whose share sessions have it")


class RecordsInFlight(BaseModel):
    """Neighbouring offsets of a partition that are alike."""

    topic: str
    partition: int
    first_offset: int
    last_offset: int
    state: str = Field(description="available, acquired, acknowledged or archived")
    delivery_count: int
    holder: str = Field(description="the client id of the member that holds them, or its member id; empty: nobody")
    member_id: str
    ends_in_ms: int | None = Field(description="when the lock expires, on the brokers' clock")
    is_being_written: bool = Field(description="its holder has said what is to become of them, which is being written")


class ShareGroupState(BaseModel):
    """How far a share group is."""

    id: str
    state: str
    generation: int = Field(description="the group epoch")
    coordinator: int | None = Field(description="the node that looks after it")
    size: int = Field(description="how many members it has")
    partitions: list[SharedPartition]


class SharedRecord(BaseModel):
    """What there is to say of one record."""

    delivery_count: int | None = Field(description="null: it is done with, and nothing tells it any more")
    explanation: str = Field(description="why it does not come, or that it may be had")


class Redelivery(Body):
    """Which records are taken from members; what is left out may be any."""

    topic: str | None = None
    partition: int | None = None
    first_offset: int = Field(0, ge=0)
    last_offset: int | None = Field(None, ge=0, description="null: all from the first on")
    member: str | None = Field(None, description="a member id or a client id")


class Redelivered(BaseModel):
    """How many records members hold no more."""

    records: int


class OwnSettings(Body):
    """Settings of one group."""

    configs: dict[str, str] = Field(examples=[{"share.delivery.count.limit": "3"}])


@router.get("/{group_id}", responses=refusals(NOT_THERE))
async def read(group_id: str, laboratory: TheLaboratory) -> ShareGroupState:
    """One share group: where it begins in each partition, how many records are held, how many are left."""
    return _state(_group(laboratory, group_id))


@router.get("/{group_id}/in-flight", responses=refusals(NOT_THERE))
async def in_flight(
    group_id: str,
    laboratory: TheLaboratory,
    topic: Annotated[str | None, Query(description="left out: all")] = None,
    partition: Annotated[int | None, Query(ge=0, description="of `topic`; left out: all")] = None,
) -> list[RecordsInFlight]:
    """Who holds which records, until when, and how often each was delivered; neighbours that are alike are one."""
    group = _group(laboratory, group_id)
    return [view(RecordsInFlight, each) for each in group.in_flight(topic, partition)]


@router.get("/{group_id}/records/{topic}/{partition}/{offset}", responses=refusals(NOT_THERE))
async def record(group_id: str, topic: str, partition: int, offset: int, laboratory: TheLaboratory) -> SharedRecord:
    """How often a record was delivered, and why it does not come."""
    group = _group(laboratory, group_id)
    explanation = group.explain_record(topic, partition, offset)
    try:
        count = group.delivery_count(topic, partition, offset)
    except ControlError:  # it is done with, and nothing was recorded
        return SharedRecord(delivery_count=None, explanation=explanation)
    return SharedRecord(delivery_count=count, explanation=explanation)


@router.post("/{group_id}/redeliver", responses=refusals(NOT_THERE))
async def redeliver(group_id: str, which: Redelivery, laboratory: TheLaboratory) -> Redelivered:
    """Let others have what members hold, as if the locks had expired; at the delivery limit it is archived."""
    group = _group(laboratory, group_id)
    beyond = {} if which.last_offset is None else {"last_offset": which.last_offset}
    taken = group.redeliver(
        which.topic, which.partition, first_offset=which.first_offset, member=which.member, **beyond
    )
    return Redelivered(records=taken)


@router.put("/{group_id}/configs")
async def configure(group_id: str, new: OwnSettings, laboratory: TheLaboratory) -> None:
    """Give a group settings of its own, by Kafka's names; others stay. It need not be there yet."""
    _found(laboratory, group_id).configure(new.configs)


@router.get("/{group_id}/wait", responses=refusals(IN_VAIN))
async def wait(
    group_id: str,
    laboratory: TheLaboratory,
    members: Annotated[int | None, Query(description="everybody has a share, and there are so many of them")] = None,
    accepted: Annotated[int | None, Query(ge=0, description="so many records were accepted")] = None,
    up_to: Annotated[int | None, Query(ge=0, description="all records of `partition` below were accepted")] = None,
    topic: Annotated[str | None, Query(description="where records are counted; left out: everywhere")] = None,
    partition: Annotated[int | None, Query(ge=0, description="of `topic`")] = None,
    timeout: Annotated[float, Query(gt=0, le=LONGEST_WAIT_S, description="in seconds")] = PATIENCE_S,
) -> ShareGroupState:
    """Answered when all that is given holds, or with nothing given, when no record is left; 408 when it takes long."""
    group = _found(laboratory, group_id)
    try:
        if members is not None:
            await group.wait_stable(members, timeout)
        if accepted is not None or up_to is not None:
            await group.wait_accepted(accepted, topic=topic, partition=partition, up_to=up_to, timeout=timeout)
        elif members is None:
            await group.wait_caught_up(timeout)
    except TimeoutError as late:
        raise HTTPException(408, str(late)) from None
    return _state(group)


def _found(laboratory: Laboratory, group_id: str) -> ShareGroup:
    from kohort.control.lab_share_group import ShareGroup  # not for brokers without such groups

    return ShareGroup(laboratory, group_id)


def _group(laboratory: Laboratory, group_id: str) -> ShareGroup:
    group = _found(laboratory, group_id)
    if not group.type:
        raise not_found(f"there is no share group {group_id}, or nobody coordinates it at the moment")
    return group


def _state(group: ShareGroup) -> ShareGroupState:
    partitions = [view(SharedPartition, each) for each in group.partitions]
    return view(ShareGroupState, group, partitions=partitions)
