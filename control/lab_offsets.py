"""What a group has committed, as a test sees and sets it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from kohort.control.control_errors import ControlError
from kohort.control.numbers import as_seconds
from kohort.coordinator.committing import Commit, KnownTopic, offset_commit
from kohort.coordinator.deleting import delete_group
from kohort.coordinator.effects import Reply
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kohort.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kohort.control.any_group import AnyGroup
    from kohort.control.group_members import GroupMember
    from kohort.control.lab_group import Group
    from kohort.control.laboratory import Laboratory
    from kohort.control.numbers import Seconds
    from kohort.coordinator.coordinator import GroupCoordinator

EARLIEST, LATEST = "earliest", "latest"


class Committing(Protocol):
    """A group whose members commit offsets."""

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """What is committed."""
        ...

    @property
    def members(self) -> tuple[GroupMember, ...]:
        """Who reads which topics."""
        ...


def lag_of(laboratory: Laboratory, group: Committing) -> dict[TopicPartition, int]:
    """How many offsets lie between what is committed and the end, by partition; see `Group.lag`."""
    offsets, topics = group.offsets, laboratory.cluster.topics
    names = {topic for member in group.members for topic in (*member.topics, *member.partitions)}
    partitions = {(name, each.index) for name in names if (topic := topics.by_name(name)) for each in topic.partitions}
    found = {}
    for name, index in sorted(partitions | offsets.keys()):
        topic = topics.by_name(name)
        partition = topic.partition(index) if topic is not None else None
        if partition is not None:
            committed = max(offsets.get((name, index), 0), partition.log.log_start_offset)
            found[name, index] = max(0, partition.log.high_watermark - committed)
    return found


async def commit(laboratory: Laboratory, group: Group, offsets: Mapping[TopicPartition, int], timeout: Seconds) -> None:
    """Commits as Kafka's tools do: for a group without members. Raises ControlError for what cannot be."""
    seconds = as_seconds(timeout, "a timeout")
    known = _known(laboratory, offsets)
    coordinator = _coordinator(laboratory, group)
    answered: asyncio.Future[OffsetCommitResponse] = asyncio.get_running_loop().create_future()
    request = OffsetCommitRequest(
        group_id=group.id, generation_id_or_member_epoch=-1, member_id="", topics=tuple(each[2] for each in known)
    )
    ticket = _Ticket(answered)

    def write(now_ms: int) -> None:
        _without_members(group, "commits for it")
        response = offset_commit(coordinator, Commit(request, known, [], ticket, knows_epochs=True), now_ms)
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
    """Deletes a group without members, with all that is kept of it."""
    seconds = as_seconds(timeout, "a timeout")
    coordinator = _coordinator(laboratory, group)
    written: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()

    def done(error: ErrorCode, _: int) -> None:
        if not written.done():
            written.set_result(error)

    def start(now_ms: int) -> None:
        _without_members(group, "deletes it")
        refusal = delete_group(coordinator, group.id, now_ms, done)
        if refusal is not ErrorCode.none:
            written.set_result(refusal)

    laboratory.brokers.act(start)
    try:
        error = await asyncio.wait_for(written, seconds)
    except TimeoutError:
        raise TimeoutError(f"after {seconds} s group {group.id} has not been deleted") from None
    _raise_for(group, "the deletion", [error])


def offsets_at(laboratory: Laboratory, group: Group, to: str | int, topic: str | None) -> dict[TopicPartition, int]:
    """The offsets that `Group.reset` commits."""
    if to not in (EARLIEST, LATEST) and (isinstance(to, bool) or not isinstance(to, int) or to < 0):
        raise ControlError(f"a group is reset to earliest, to latest or to an offset, not to {to!r}")
    chosen = {key for key in group.offsets if topic in (None, key[0])}
    if topic is not None:
        chosen |= {(topic, each.index) for each in laboratory.topics.find(topic).partitions}
    if not chosen:
        raise ControlError(f"group {group.id} has committed nothing; say which topic it is to be reset for")
    found = {}
    for name, index in sorted(chosen):
        there = laboratory.cluster.topics.by_name(name)
        partition = there.partition(index) if there is not None else None
        if partition is None:
            continue  # deleted since
        start, end = partition.log.log_start_offset, partition.log.high_watermark
        offset = start if to == EARLIEST else end if to == LATEST else int(to)
        if not start <= offset <= end:
            raise ControlError(f"{name}-{index} has offsets {start} to {end}; the group cannot be reset to {offset}")
        found[name, index] = offset
    return found


class _Ticket:
    """Stands for the test's own request."""

    client_id, client_host, client_software = "", "", None

    def __init__(self, answered: asyncio.Future[Any]) -> None:
        self._answered = answered

    def reply(self, response: object) -> None:
        """See `broker.ticket.Ticket`."""
        if not self._answered.done():
            self._answered.set_result(response)

    def fail(self) -> None:
        """See `broker.ticket.Ticket`."""
        if not self._answered.done():
            self._answered.set_exception(ControlError("answering failed, which is kohort's fault"))


def _known(laboratory: Laboratory, offsets: Mapping[TopicPartition, int]) -> list[KnownTopic]:
    """By topic, and looked at."""
    by_topic: dict[str, list[OffsetCommitRequestPartition]] = {}
    try:
        items = [(name, index, offset) for (name, index), offset in offsets.items()]
    except (AttributeError, TypeError, ValueError):
        raise ControlError(f'offsets are given as {{("orders", 0): 5}}, not {offsets!r:.100}') from None
    if not items:
        raise ControlError('there is nothing to commit; give offsets as {("orders", 0): 5}')
    for name, index, offset in items:
        laboratory.topics.end(name, index)  # raises for what there is not
        if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
            raise ControlError(f"an offset is a whole number, 0 or more, not {offset!r}")
        asked = OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata="")
        by_topic.setdefault(name, []).append(asked)
    return [
        (name, laboratory.topics.find(name).topic_id, OffsetCommitRequestTopic(name=name, partitions=tuple(parts)))
        for name, parts in by_topic.items()
    ]


def _coordinator(laboratory: Laboratory, group: AnyGroup) -> GroupCoordinator:
    coordinator = laboratory.cluster.offsets_topic.coordinator_of(group.id)
    if coordinator is None:
        raise ControlError(f"nobody coordinates group {group.id}: its node is stopped; start it first")
    return coordinator


def _without_members(group: AnyGroup, what: str) -> None:
    if group.members:
        names = ", ".join(map(str, group.members))
        raise ControlError(f"group {group.id} has members ({names}); nobody else {what} until they have left")


def _raise_for(group: AnyGroup, what: str, errors: Iterable[ErrorCode]) -> None:
    for error in errors:
        if error is not ErrorCode.none:
            raise ControlError(f"{what} of group {group.id} is refused: {error.name.upper()}")
