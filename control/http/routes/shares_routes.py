"""Share groups (KIP-932): holders of records, undelivered records, and waiting until all records are accepted.

Members, timeline, explanation and deletion use the endpoints of other groups: see `groups_routes.py`.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel, Field

from kohort.control.control_errors import ControlError
from kohort.control.groups.any_group import AnyGroup
from kohort.control.groups.groups_by_id import share_group
from kohort.control.http.body import Body
from kohort.control.http.documenting import IN_VAIN, NOT_THERE, refusals
from kohort.control.http.endpoint_context import TheLaboratory, not_found
from kohort.control.http.routes.topics_routes import RecordState, record_state
from kohort.control.http.views import view
from kohort.control.waiting import MAX_WAIT_S, PATIENCE_S

router = APIRouter(prefix="/share-groups", tags=["shares"])


class SharedPartition(BaseModel):
    """A share partition."""

    topic: str
    partition: int
    leader: int | None = Field(description="id of the leader, which delivers its records; null: no leader")
    is_ready: bool = Field(description="its state is initialized")
    progress: str = Field(description="active, initializing, or not loaded: its leader has not received a fetch yet")
    start_offset: int | None = Field(description="share-partition start offset; null: not decided yet")
    next_offset: int | None = Field(description="first offset that was never delivered")
    log_end_offset: int
    lag: int | None = Field(description="unfinished records; null: not known yet")
    acquired: int = Field(description="records that members hold")
    available: int = Field(description="records that were delivered and are available again")
    done: int = Field(description="accepted or archived records after the start offset")
    fetched_by: list[str] = Field(description="ids of members with the partition in their share sessions")


class RecordsInFlight(BaseModel):
    """A range of offsets of a partition with equal state."""

    topic: str
    partition: int
    first_offset: int
    last_offset: int
    state: str = Field(description="available, acquired, acknowledged or archived")
    delivery_count: int
    holder: str = Field(description="client id or member id of the holder; empty: no holder")
    member_id: str
    ends_in_ms: int | None = Field(description="time until the lock expires, on the brokers' clock")
    is_being_written: bool = Field(description="the acknowledgement of the holder is being stored")


class ShareGroupState(BaseModel):
    """State of a share group."""

    id: str
    state: str
    generation: int = Field(description="the group epoch")
    coordinator: int | None = Field(description="id of the coordinator's node")
    size: int = Field(description="number of members")
    partitions: list[SharedPartition]


class SharedRecord(BaseModel):
    """Delivery count and state of one record."""

    delivery_count: int | None = Field(
        description="null: the record is finished, and no recorded event has its delivery count"
    )
    explanation: str = Field(description="why it is not delivered, or that it is available")


class DeadLetterState(BaseModel):
    """A dead letter: the record that it is for, and the record in the dead-letter topic."""

    topic: str = Field(description="of the record that was rejected or has reached the delivery limit")
    partition: int
    offset: int
    delivery_count: int
    message: str = Field(description="why there is a dead letter, in Kafka's words")
    dead_letter_topic: str
    record: RecordState = Field(description="in the dead-letter topic")


class Redelivery(Body):
    """Which records to take from members; a field that is left out matches any."""

    topic: str | None = None
    partition: int | None = None
    first_offset: int = Field(0, ge=0)
    last_offset: int | None = Field(None, ge=0, description="null: no limit")
    member: str | None = Field(None, description="a member id or a client id")


class Redelivered(BaseModel):
    """The number of released records."""

    records: int


class OwnSettings(Body):
    """Configs of one group."""

    configs: dict[str, str] = Field(examples=[{"share.delivery.count.limit": "3"}])


@router.get("/{group_id}", responses=refusals(NOT_THERE))
async def read(group_id: str, laboratory: TheLaboratory) -> ShareGroupState:
    """Return one share group, with the start offset, the acquired records and the lag of each partition."""
    group = share_group(laboratory, group_id)
    _check_existence(group)
    return view(ShareGroupState, group)


@router.get("/{group_id}/in-flight", responses=refusals(NOT_THERE))
async def in_flight(
    group_id: str,
    laboratory: TheLaboratory,
    topic: Annotated[str | None, Query(description="left out: all")] = None,
    partition: Annotated[int | None, Query(ge=0, description="of `topic`; left out: all")] = None,
) -> list[RecordsInFlight]:
    """Return the holders of records, their locks and delivery counts; equal neighbours are combined."""
    group = share_group(laboratory, group_id)
    _check_existence(group)
    return [view(RecordsInFlight, records) for records in group.in_flight(topic, partition)]


@router.get("/{group_id}/records/{topic}/{partition}/{offset}", responses=refusals(NOT_THERE))
async def record(group_id: str, topic: str, partition: int, offset: int, laboratory: TheLaboratory) -> SharedRecord:
    """Return how often a record was delivered, and why it is not delivered now."""
    group = share_group(laboratory, group_id)
    _check_existence(group)
    explanation = group.explain_record(topic, partition, offset)
    try:
        count = group.delivery_count(topic, partition, offset)
    except ControlError:  # the record is finished, and no event has its delivery count
        return SharedRecord(delivery_count=None, explanation=explanation)
    return SharedRecord(delivery_count=count, explanation=explanation)


@router.get("/{group_id}/dead-letters", responses=refusals(NOT_THERE))
async def dead_letters(group_id: str, laboratory: TheLaboratory) -> list[DeadLetterState]:
    """Return the records of a group in its dead-letter topic, partition by partition."""
    group = share_group(laboratory, group_id)
    _check_existence(group)
    return [
        view(DeadLetterState, letter, record=record_state(letter.record), dead_letter_topic=letter.record.topic)
        for letter in group.dead_letters
    ]


@router.post("/{group_id}/redeliver", responses=refusals(NOT_THERE))
async def redeliver(group_id: str, selection: Redelivery, laboratory: TheLaboratory) -> Redelivered:
    """Release acquired records, as if their locks had expired. Records at the delivery count limit are archived."""
    group = share_group(laboratory, group_id)
    _check_existence(group)
    beyond = {} if selection.last_offset is None else {"last_offset": selection.last_offset}
    count = group.redeliver(
        selection.topic, selection.partition, first_offset=selection.first_offset, member=selection.member, **beyond
    )
    return Redelivered(records=count)


@router.put("/{group_id}/configs")
async def configure(group_id: str, new: OwnSettings, laboratory: TheLaboratory) -> None:
    """Set configs of a group, by Kafka's names; other configs keep their values. The group need not exist yet."""
    share_group(laboratory, group_id).configure(new.configs)


@router.get("/{group_id}/wait", responses=refusals(IN_VAIN))
async def wait(
    group_id: str,
    laboratory: TheLaboratory,
    members: Annotated[
        int | None, Query(description="exact number of members, each of which has reached its target assignment")
    ] = None,
    accepted: Annotated[int | None, Query(ge=0, description="minimum number of accepted records")] = None,
    up_to: Annotated[
        int | None, Query(ge=0, description="all records of `partition` below this offset were accepted")
    ] = None,
    topic: Annotated[str | None, Query(description="topic whose records are counted; left out: all")] = None,
    partition: Annotated[int | None, Query(ge=0, description="of `topic`")] = None,
    timeout: Annotated[float, Query(gt=0, le=MAX_WAIT_S, description="in seconds")] = PATIENCE_S,
) -> ShareGroupState:
    """Wait until all conditions hold, or without a condition until no record is left.

    The status is 408 after the timeout.
    """
    group = share_group(laboratory, group_id)
    try:
        if members is not None:
            await group.wait_stable(members, timeout)
        if accepted is not None or up_to is not None:
            await group.wait_accepted(accepted, topic=topic, partition=partition, up_to=up_to, timeout=timeout)
        elif members is None:
            await group.wait_caught_up(timeout)
    except TimeoutError as error:
        raise HTTPException(408, str(error)) from None
    return view(ShareGroupState, group)


def _check_existence(group: AnyGroup) -> None:
    if not group.type:
        raise not_found(f"share group {group.id} does not exist or has no coordinator")
