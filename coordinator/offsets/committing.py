"""OffsetCommit in the group coordinator (classic-groups §7.2). The API has already looked up the topics.

It is the most frequent request after Heartbeat. Therefore a commit is one object, and responses are cached.
"""

from collections.abc import Iterable
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.sessions import extend
from kohort.coordinator.classic.states import COMMIT, State
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Reply
from kohort.coordinator.groups.group import Group
from kohort.coordinator.groups.observer import UNOBSERVED
from kohort.coordinator.offsets.offsets import NO_EXPIRY, Accepted, CommittedOffset, GroupOffsets
from kohort.coordinator.offsets.offsets_topic_records import EXPIRING_OFFSET_VALUE, expiring_offset_value, offset_key
from kohort.protocol.batches import EncodedRecords, encode_record
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kohort.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kohort.coordinator.modern.modern_group import ModernGroup

BROKERS_RETENTION: Final = -1  # `retention_time_ms` for the broker's retention; other negative times are in the past

# A requested topic that exists: its name and id, and its entry with the existing partitions.
KnownTopic = tuple[str, UUID | None, OffsetCommitRequestTopic]

_NONE: Final = ErrorCode.none


class Commit:
    """An OffsetCommit with its topics."""

    __slots__ = (
        "_expire_ms",
        "_group",
        "_too_large",
        "accepted",
        "answer_ready",
        "coordinator",
        "generation_id",
        "group_id",
        "knows_epochs",
        "member_id",
        "missing_group",
        "refused",
        "request",
        "ticket",
        "topics",
        "wall_ms",
    )

    def __init__(
        self,
        request: OffsetCommitRequest,
        topics: list[KnownTopic],
        refused: list[OffsetCommitResponseTopic],
        ticket: object,
        *,
        knows_epochs: bool,
    ) -> None:
        """Create a commit that has not been checked yet.

        Args:
            refused: Entries that the API has rejected. They come first in the response.
            knows_epochs: Whether the version has member epochs (from 9 on). Then a generation of a missing group is
                rejected with GROUP_ID_NOT_FOUND, otherwise with ILLEGAL_GENERATION.
        """
        self.request = request
        self.group_id = request.group_id
        self.member_id = request.member_id
        self.generation_id = request.generation_id_or_member_epoch  # or the member's epoch in a consumer group
        self.topics = topics
        self.refused = refused
        self.ticket = ticket
        self.knows_epochs = knows_epochs
        self.missing_group = ErrorCode.group_id_not_found if knows_epochs else ErrorCode.illegal_generation
        self._too_large: set[int] | None = None  # numbers of rejected entries in the request
        self.answer_ready: object = None  # the encoded response for success, or None if it is created for each request
        self.accepted: list[Accepted] | None = None  # None until records are created

    @property
    def is_accepted_whole(self) -> bool:
        """Whether nothing was rejected, and the broker's retention applies."""
        return self.accepted is not None and not self.refused and not self._too_large and self._expire_ms == NO_EXPIRY

    def store(self, coordinator: GroupCoordinator, group: Group | None, now_ms: int) -> bool:
        """Write the offsets whose metadata is not too large. Return whether a write was started."""
        self.coordinator = coordinator
        self._group = group
        self.wall_ms = coordinator.wall_ms(now_ms)
        records = self.records()
        if not records.count:
            # Kafka creates the group before it checks the sizes.
            _offsets_of(coordinator, self.group_id, now_ms)
            return False
        if group is not None:
            group.commits_in_flight += 1
        home = coordinator.partition_of(self.group_id) if group is None else group.partition
        coordinator.append(home, records, now_ms, self._written)
        return True

    def records(self) -> EncodedRecords:
        """Return the records of all offsets whose metadata is not too large."""
        group_id, settings = self.group_id, self.coordinator.settings
        limit, version = settings.offset_metadata_max_bytes, settings.offset_value_version
        retention_ms = self.request.retention_time_ms
        if retention_ms == BROKERS_RETENTION and version == EXPIRING_OFFSET_VALUE:
            retention_ms = settings.offsets_retention_ms
        self._expire_ms = NO_EXPIRY if retention_ms == BROKERS_RETENTION else self.wall_ms + retention_ms
        stored = {} if self._group is None or self._group.offsets is None else self._group.offsets.topics
        records: list[bytes] = []
        wall_ms = self.wall_ms
        accepted: list[Accepted] = []
        self.accepted = accepted
        refused_count = 0
        for name, topic_id, topic in self.topics:
            stored_partitions = stored.get(name)
            for requested in topic.partitions:
                metadata, partition = requested.committed_metadata or "", requested.partition_index
                if metadata and _is_too_large(metadata, limit):
                    self._refuse(len(accepted) + refused_count)
                    refused_count += 1
                    continue
                committed = None if stored_partitions is None else stored_partitions.get(partition)
                if committed is None or not committed.fits(metadata, topic_id):
                    committed = CommittedOffset(metadata, topic_id)
                offset, epoch = requested.committed_offset, requested.committed_leader_epoch
                if self._expire_ms == NO_EXPIRY:
                    records.append(
                        committed.record(group_id, name, partition, len(records), offset, epoch, wall_ms, version)
                    )
                else:
                    value = expiring_offset_value(offset, metadata, wall_ms, self._expire_ms)
                    records.append(encode_record(offset_key(group_id, name, partition), value, len(records)))
                accepted.append((name, partition, committed, offset, epoch))
        return EncodedRecords(b"".join(records), len(records))

    def _refuse(self, number: int) -> None:
        if self._too_large is None:
            self._too_large = set()
            self.answer_ready = None
        self._too_large.add(number)

    def _written(self, error: ErrorCode, now_ms: int) -> None:
        group, coordinator = self._group, self.coordinator
        if group is not None:
            group.commits_in_flight -= 1
        answer = None
        if error is _NONE:
            answer = self.answer_ready
            stored = coordinator.groups.get(self.group_id)  # the usual case; `_offsets_of` finds the other ones
            offsets = None if stored is None else stored.offsets
            topics = (_offsets_of(coordinator, self.group_id, now_ms) if offsets is None else offsets).topics
            if coordinator.observer is not UNOBSERVED:
                coordinator.observer.committed(group, self.member_id, self.count_written())
            self.take_over(topics)
            if group is not None and group.pending_offsets is not None:
                for topic_partition in self.written_partitions():
                    group.pending_offsets.overtake(topic_partition)
        coordinator.effects.append(Reply(self.ticket, self.answer(error) if answer is None else answer))

    def take_over(self, topics: dict[str, dict[int, CommittedOffset]]) -> None:
        """Store the written offsets in `topics` of the group."""
        wall_ms, expire_ms = self.wall_ms, self._expire_ms
        for name, partition, committed, offset, epoch in self.accepted or ():
            committed.take(offset, epoch, wall_ms, expire_ms)
            partitions = topics.get(name)
            if partitions is None:
                partitions = topics[name] = {}
            partitions[partition] = committed

    def count_written(self) -> int:
        return len(self.accepted or ())

    def written_partitions(self) -> Iterable[TopicPartition]:
        return [(name, partition) for name, partition, *_ in self.accepted or ()]

    def answer(self, error: ErrorCode) -> OffsetCommitResponse:
        """Return the response: `error` for every partition that was not rejected before."""
        if self.refused or self._too_large:
            return OffsetCommitResponse(topics=merged(self.refused, self._topics(error)))
        # Topics by name or by id, like in the request.
        return OffsetCommitResponse(
            topics=tuple(
                [
                    _topic_answer(
                        requested.name,
                        requested.topic_id,
                        tuple([p.partition_index for p in requested.partitions]),
                        error,
                    )
                    for _, _, requested in self.topics
                ]
            )
        )

    def _topics(self, error: ErrorCode) -> list[OffsetCommitResponseTopic]:
        too_large, numbers = self._too_large or (), count()
        return [
            OffsetCommitResponseTopic(
                name=requested.name,
                topic_id=requested.topic_id,
                partitions=tuple(
                    OffsetCommitResponsePartition(
                        partition_index=p.partition_index,
                        error_code=ErrorCode.offset_metadata_too_large if next(numbers) in too_large else error,
                    )
                    for p in requested.partitions
                ),
            )
            for _, _, requested in self.topics
        ]


def offset_commit(coordinator: GroupCoordinator, commit: Commit, now_ms: int) -> OffsetCommitResponse | None:
    """Store the offsets. Return None if the response follows when they are written.

    Errors of all partitions: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS, GROUP_ID_NOT_FOUND. A single partition can fail with
    OFFSET_METADATA_TOO_LARGE. An accepted commit counts as a heartbeat. The empty group id is allowed.
    """
    group_id = commit.group_id
    group = coordinator.classic_group(group_id)
    if group is None:
        modern = coordinator.committing_group(group_id)
        if modern is not None:
            return _commit_with_epoch(coordinator, modern, commit, now_ms)
        error = coordinator.creatable(group_id)
        if error is _NONE and commit.generation_id >= 0:
            error = commit.missing_group
    else:
        error = _check(group, commit, now_ms)
        if error is not _NONE:
            coordinator.observer.commit_rejected(group, commit.member_id, commit.generation_id, error, commit.ticket)
    if error is _NONE and commit.store(coordinator, group, now_ms):
        return None
    return commit.answer(error)


def _commit_with_epoch(
    coordinator: GroupCoordinator, group: "ModernGroup", commit: Commit, now_ms: int
) -> OffsetCommitResponse | None:
    limit = coordinator.settings.offset_metadata_max_bytes
    error = group.check_commit(
        commit.member_id,
        commit.generation_id,
        (
            (name, topic_id, partition.partition_index)
            for name, topic_id, topic in commit.topics
            for partition in topic.partitions
            if not _is_too_large(partition.committed_metadata or "", limit)  # rejected for their size
        ),
        knows_epochs=commit.knows_epochs,
    )
    if error is not _NONE:
        coordinator.observer.commit_rejected(group, commit.member_id, commit.generation_id, error, commit.ticket)
    elif commit.store(coordinator, group, now_ms):
        return None
    return commit.answer(error)


def _check(group: ClassicGroup, commit: Commit, now_ms: int) -> ErrorCode:
    generation_id, member_id, instance_id = commit.generation_id, commit.member_id, commit.request.group_instance_id
    if generation_id < 0:
        if group.state is State.EMPTY:
            return _NONE  # from every client: Kafka ignores the member id
        if not member_id and instance_id is None:
            return ErrorCode.unknown_member_id
    error = group.check_member(member_id, instance_id)
    if error is not _NONE:
        return error
    if generation_id != group.generation_id:
        return ErrorCode.illegal_generation
    error = COMMIT[group.state]
    if error is _NONE:
        extend(group, group.members[member_id], now_ms)
    return error


def _offsets_of(coordinator: GroupCoordinator, group_id: str, now_ms: int) -> GroupOffsets:
    """Return the offsets of a group, which is created as a simple one if it does not exist."""
    group = coordinator.groups.get(group_id)
    if group is None:
        simple = group = coordinator.create_group(group_id, now_ms)
        coordinator.observer.group_created(simple)
    return group.committed_offsets()


def _is_too_large(metadata: str, limit: int) -> bool:
    return 2 * len(metadata) > limit and _utf16_units(metadata) > limit


def _utf16_units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


@lru_cache(maxsize=1024)
def _topic_answer(
    name: str, topic_id: UUID | None, indexes: tuple[int, ...], error: ErrorCode
) -> OffsetCommitResponseTopic:
    """Return a topic's entry with one error. It is cached because consumers commit the same partitions repeatedly."""
    return OffsetCommitResponseTopic(
        name=name,
        topic_id=topic_id,
        partitions=tuple(OffsetCommitResponsePartition(partition_index=i, error_code=error) for i in indexes),
    )


def merged(
    refused: list[OffsetCommitResponseTopic], answered: list[OffsetCommitResponseTopic]
) -> tuple[OffsetCommitResponseTopic, ...]:
    """Return one entry per topic if any was rejected, with the rejected partitions first (classic-groups §7.1).

    Otherwise the answered topics are returned unchanged, even if a topic occurs twice (Kafka:
    `OffsetCommitResponse.Builder`).
    """
    if not refused:
        return tuple(answered)
    topics: dict[tuple[str, UUID | None], OffsetCommitResponseTopic] = {}
    for topic in (*refused, *answered):
        entry = topics.setdefault((topic.name, topic.topic_id), topic)
        if entry is not topic:
            entry.partitions += topic.partitions
    return tuple(topics.values())
