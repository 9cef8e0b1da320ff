"""OffsetCommit, the group's part of it (spec §7.2). Whether the topics exist is asked before, in the API's file."""

from dataclasses import dataclass, field
from functools import lru_cache
from uuid import UUID

from kohort.coordinator.classic.group import ClassicGroup
from kohort.coordinator.classic.sessions import extend
from kohort.coordinator.classic.states import COMMIT, State
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Reply
from kohort.coordinator.offsets import NO_EXPIRY, CommittedOffset, GroupOffsets
from kohort.coordinator.records import expiring_offset_value, offset_key
from kohort.protocol.batches import EncodedRecords, encode_record
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

_NONE = ErrorCode.none


@dataclass(slots=True, frozen=True)
class KnownTopic:
    """A topic of the request that exists, with those of its partitions that do."""

    name: str
    topic_id: UUID | None
    topic: OffsetCommitRequestTopic


@dataclass(slots=True, kw_only=True)
class Commit:
    """One OffsetCommit whose topics have been looked up."""

    request: OffsetCommitRequest
    topics: list[KnownTopic]
    refused: list[OffsetCommitResponseTopic] = field(default_factory=list)
    """What was refused before the group was asked; these entries come first in the answer."""
    ticket: object
    missing_group: ErrorCode = ErrorCode.group_id_not_found
    """What a generation of a group that does not exist is told: ILLEGAL_GENERATION up to version 8."""


def offset_commit(coordinator: GroupCoordinator, commit: Commit, now_ms: int) -> OffsetCommitResponse | None:
    """Keeps the offsets. None: answered when they are written.

    One error for all partitions: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS, GROUP_ID_NOT_FOUND; and for single ones OFFSET_METADATA_TOO_LARGE.
    An accepted commit counts as a heartbeat. The empty group id is allowed.
    """
    request = commit.request
    group = coordinator.groups.get(request.group_id)
    if group is None:
        error = coordinator.availability(request.group_id)
        if error is _NONE and request.generation_id_or_member_epoch >= 0:
            error = commit.missing_group
    else:
        error = _check(group, request, now_ms)
    if error is not _NONE:
        return _answer(commit, error)
    return _store(coordinator, commit, now_ms)


def _check(group: ClassicGroup, request: OffsetCommitRequest, now_ms: int) -> ErrorCode:
    generation_id, member_id = request.generation_id_or_member_epoch, request.member_id
    if group.state is State.EMPTY and generation_id < 0:
        return _NONE  # from anybody: the id is not even looked at
    if generation_id < 0 and not member_id and request.group_instance_id is None:
        return ErrorCode.unknown_member_id
    error = group.check_member(member_id, request.group_instance_id)
    if error is not _NONE:
        return error
    if generation_id != group.generation_id:
        return ErrorCode.illegal_generation
    error = COMMIT[group.state]
    if error is _NONE:
        extend(group, group.members[member_id], now_ms)
    return error


def _store(coordinator: GroupCoordinator, commit: Commit, now_ms: int) -> OffsetCommitResponse | None:
    """Writes what is not too large, and takes it over once it is written."""
    request = commit.request
    group_id, limit = request.group_id, coordinator.settings.offset_metadata_max_bytes
    group = coordinator.groups.get(group_id)
    kept = {} if group is None or group.offsets is None else group.offsets.topics
    wall_ms = coordinator.wall_ms(now_ms)
    expire_ms = NO_EXPIRY if request.retention_time_ms < 0 else wall_ms + request.retention_time_ms
    records: list[bytes] = []
    accepted: list[tuple[str, int, CommittedOffset, int, int]] = []
    too_large: set[tuple[str, int]] = set()
    for known in commit.topics:
        name, topic_id = known.name, known.topic_id
        before = kept.get(name, {})
        for asked in known.topic.partitions:
            metadata, partition = asked.committed_metadata or "", asked.partition_index
            if 2 * len(metadata) > limit and _utf16_units(metadata) > limit:
                too_large.add((name, partition))
                continue
            committed = before.get(partition)
            if committed is None or not committed.fits(metadata, topic_id):
                committed = CommittedOffset(metadata, topic_id)
            offset, epoch = asked.committed_offset, asked.committed_leader_epoch
            if expire_ms < 0:
                records.append(committed.record(group_id, name, partition, len(records), offset, epoch, wall_ms))
            else:
                value = expiring_offset_value(offset, metadata, wall_ms, expire_ms)
                records.append(encode_record(offset_key(group_id, name, partition), value, len(records)))
            accepted.append((name, partition, committed, offset, epoch))
    if not records:
        return _answer(commit, _NONE, too_large)

    if group is not None:
        group.commits_in_flight += 1

    def written(error: ErrorCode, now_ms: int) -> None:
        if group is not None:
            group.commits_in_flight -= 1
        if error is _NONE:
            offsets = _offsets_of(coordinator, group_id, now_ms)
            for name, partition, committed, offset, epoch in accepted:
                committed.take(offset, epoch, wall_ms, expire_ms)
                offsets.put(name, partition, committed)
        coordinator.effects.append(Reply(commit.ticket, _answer(commit, error, too_large)))

    home = coordinator.partition_of(group_id) if group is None else group.partition
    coordinator.append(home, EncodedRecords(b"".join(records), len(records)), now_ms, written)
    return None


def _offsets_of(coordinator: GroupCoordinator, group_id: str, now_ms: int) -> GroupOffsets:
    """Where a group's offsets are kept. A group that does not exist is a simple one from now on."""
    group = coordinator.groups.get(group_id) or coordinator.create_group(group_id, now_ms)
    if group.offsets is None:
        group.offsets = GroupOffsets()
    return group.offsets


def _utf16_units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _answer(
    commit: Commit, error: ErrorCode, too_large: set[tuple[str, int]] | frozenset[tuple[str, int]] = frozenset()
) -> OffsetCommitResponse:
    topics = [_topic_answer(known, error, too_large) for known in commit.topics]
    if commit.refused:
        topics = _merged(commit.refused, topics)
    return OffsetCommitResponse(topics=tuple(topics))


def _topic_answer(
    known: KnownTopic, error: ErrorCode, too_large: set[tuple[str, int]] | frozenset[tuple[str, int]]
) -> OffsetCommitResponseTopic:
    name = known.name
    indexes = tuple([asked.partition_index for asked in known.topic.partitions])
    if too_large:
        errors = [ErrorCode.offset_metadata_too_large if (name, i) in too_large else error for i in indexes]
        partitions = _partition_answers(indexes, tuple(errors))
    else:
        partitions = _partition_answers(indexes, error)
    # As the client named it: by its name or by its id.
    return OffsetCommitResponseTopic(name=known.topic.name, topic_id=known.topic.topic_id, partitions=partitions)


@lru_cache(maxsize=1024)
def _partition_answers(
    indexes: tuple[int, ...], errors: ErrorCode | tuple[ErrorCode, ...]
) -> tuple[OffsetCommitResponsePartition, ...]:
    """What the partitions of a topic hear, all the same or each its own; consumers ask for the same ones every time."""
    each = errors if isinstance(errors, tuple) else (errors,) * len(indexes)
    return tuple(
        OffsetCommitResponsePartition(partition_index=index, error_code=error)
        for index, error in zip(indexes, each, strict=True)
    )


def _merged(
    refused: list[OffsetCommitResponseTopic], answered: list[OffsetCommitResponseTopic]
) -> list[OffsetCommitResponseTopic]:
    """One entry per topic: what was refused first, then what the group says (spec §7.1)."""
    merged = {(topic.name, topic.topic_id): topic for topic in refused}
    for topic in answered:
        before = merged.get((topic.name, topic.topic_id))
        if before is not None:
            topic.partitions = before.partitions + topic.partitions
        merged[topic.name, topic.topic_id] = topic
    return list(merged.values())
