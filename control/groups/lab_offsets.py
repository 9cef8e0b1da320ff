"""Committed offsets of a group: reading and changing them in tests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from kohort.control.control_errors import ControlError
from kohort.control.numbers import as_seconds
from kohort.coordinator.effects import Reply
from kohort.coordinator.groups.deleting import delete_group
from kohort.coordinator.offsets.committing import Commit, KnownTopic, offset_commit
from kohort.protocol.batches import read_batch
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kohort.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kohort.control.groups.any_group import AnyGroup
    from kohort.control.groups.lab_group import Group
    from kohort.control.laboratory import Laboratory
    from kohort.control.numbers import Seconds
    from kohort.coordinator.coordinator import GroupCoordinator
    from kohort.groups.group_members import GroupMember
    from kohort.storage.log import PartitionLog

MS_PER_S = 1_000
EARLIEST, LATEST = "earliest", "latest"


class Committing(Protocol):
    """A group whose members commit offsets."""

    @property
    def offsets(self) -> dict[TopicPartition, int]: ...

    @property
    def members(self) -> tuple[GroupMember, ...]: ...


def lag_of(laboratory: Laboratory, group: Committing) -> dict[TopicPartition, int]:
    """Return the number of offsets between the committed offset and the end of each partition; see `Group.lag`."""
    offsets, topics = group.offsets, laboratory.cluster.topics
    names = {topic for member in group.members for topic in (*member.topics, *member.partitions)}
    partitions = {(name, part.index) for name in names if (topic := topics.by_name(name)) for part in topic.partitions}
    lags = {}
    for name, index in sorted(partitions | offsets.keys()):
        topic = topics.by_name(name)
        partition = topic.partition(index) if topic is not None else None
        if partition is not None:
            committed = max(offsets.get((name, index), 0), partition.log.log_start_offset)
            lags[name, index] = max(0, partition.log.high_watermark - committed)
    return lags


def waited_s(log: PartitionLog, offset: int, wall_ms: int) -> float:
    """Return the age of the first record from an offset on, by the first timestamp of its batch, or 0 at the end."""
    offset = max(offset, log.log_start_offset)
    chunks = log.read(offset, 1) if offset < log.high_watermark else []
    return max(0, wall_ms - read_batch(chunks[0]).base_timestamp) / MS_PER_S if chunks else 0.0


async def commit(laboratory: Laboratory, group: Group, offsets: Mapping[TopicPartition, int], timeout: Seconds) -> None:
    seconds = as_seconds(timeout, "a timeout")
    topics = _validate_offsets(laboratory, offsets)
    coordinator = _coordinator(laboratory, group)
    answered: asyncio.Future[OffsetCommitResponse] = asyncio.get_running_loop().create_future()
    request = OffsetCommitRequest(
        group_id=group.id, generation_id_or_member_epoch=-1, member_id="", topics=tuple(entry[2] for entry in topics)
    )
    ticket = _Ticket(answered)

    def write(now_ms: int) -> None:
        _without_members(group, "can commit for it")
        response = offset_commit(coordinator, Commit(request, topics, [], ticket, knows_epochs=True), now_ms)
        if response is not None:
            coordinator.effects.append(Reply(ticket, response))

    laboratory.brokers.act(write)
    try:
        response = await asyncio.wait_for(answered, seconds)
    except TimeoutError:
        raise TimeoutError(f"after {seconds} s the commit of group {group.id} has not been written") from None
    _raise_for(group, "the commit", (part.error_code for topic in response.topics for part in topic.partitions))
    if laboratory.safety is not None:
        laboratory.safety.set_by_test(group.id, offsets)


async def delete(laboratory: Laboratory, group: AnyGroup, timeout: Seconds) -> None:
    seconds = as_seconds(timeout, "a timeout")
    coordinator = _coordinator(laboratory, group)
    written: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()

    def on_outcome(error: ErrorCode, _: int) -> None:
        if not written.done():
            written.set_result(error)

    def start(now_ms: int) -> None:
        _without_members(group, "can delete it")
        refusal = delete_group(coordinator, group.id, now_ms, on_outcome)
        if refusal is not ErrorCode.none:
            written.set_result(refusal)

    laboratory.brokers.act(start)
    try:
        error = await asyncio.wait_for(written, seconds)
    except TimeoutError:
        raise TimeoutError(f"after {seconds} s group {group.id} has not been deleted") from None
    _raise_for(group, "the deletion", [error])


def offsets_at(laboratory: Laboratory, group: Group, to: str | int, topic: str | None) -> dict[TopicPartition, int]:
    if to not in (EARLIEST, LATEST) and (isinstance(to, bool) or not isinstance(to, int) or to < 0):
        raise ControlError(f"expected earliest, latest or an offset to reset the group to, got {to!r}")
    chosen = {key for key in group.offsets if topic in (None, key[0])}
    if topic is not None:
        chosen |= {(topic, part.index) for part in laboratory.topics.find(topic).partitions}
    if not chosen:
        raise ControlError(f"group {group.id} has no committed offsets; name the topic to reset")
    offsets = {}
    for name, index in sorted(chosen):
        known_topic = laboratory.cluster.topics.by_name(name)
        partition = known_topic.partition(index) if known_topic is not None else None
        if partition is None:
            continue  # deleted since
        start, end = partition.log.log_start_offset, partition.log.high_watermark
        offset = start if to == EARLIEST else end if to == LATEST else int(to)
        if not start <= offset <= end:
            raise ControlError(f"{name}-{index} has offsets {start} to {end}; the group cannot be reset to {offset}")
        offsets[name, index] = offset
    return offsets


class _Ticket:
    """The ticket of a request that the test itself sends."""

    client_id, client_host, client_software = "", "", None

    def __init__(self, answered: asyncio.Future[Any]) -> None:
        self._answered = answered

    def reply(self, response: object) -> None:
        if not self._answered.done():
            self._answered.set_result(response)

    def fail(self) -> None:
        if not self._answered.done():
            self._answered.set_exception(ControlError("kohort failed to build the response; this is a bug in kohort"))


def _validate_offsets(laboratory: Laboratory, offsets: Mapping[TopicPartition, int]) -> list[KnownTopic]:
    by_topic: dict[str, list[OffsetCommitRequestPartition]] = {}
    try:
        items = [(name, index, offset) for (name, index), offset in offsets.items()]
    except (AttributeError, TypeError, ValueError):
        raise ControlError(f'offsets must be a mapping, as in {{("orders", 0): 5}}; got {offsets!r:.100}') from None
    if not items:
        raise ControlError('no offsets to commit; pass a mapping, as in {("orders", 0): 5}')
    for name, index, offset in items:
        laboratory.topics.end(name, index)  # raises if the partition does not exist
        if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
            raise ControlError(f"an offset must be a non-negative integer, got {offset!r}")
        part = OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata="")
        by_topic.setdefault(name, []).append(part)
    return [
        (name, laboratory.topics.find(name).topic_id, OffsetCommitRequestTopic(name=name, partitions=tuple(parts)))
        for name, parts in by_topic.items()
    ]


def _coordinator(laboratory: Laboratory, group: AnyGroup) -> GroupCoordinator:
    coordinator = laboratory.cluster.offsets_topic.coordinator_of(group.id)
    if coordinator is None:
        raise ControlError(f"group {group.id} has no coordinator because its node is stopped; start the node first")
    return coordinator


def _without_members(group: AnyGroup, action: str) -> None:
    if group.members:
        names = ", ".join(map(str, group.members))
        raise ControlError(f"group {group.id} has members ({names}), so no other client {action}; stop them first")


def _raise_for(group: AnyGroup, subject: str, errors: Iterable[ErrorCode]) -> None:
    for error in errors:
        if error is not ErrorCode.none:
            raise ControlError(f"{subject} of group {group.id} was rejected: {error.name.upper()}")
