"""OffsetCommit, the group's part of it (classic-groups §7.2). The API's file has asked whether the topics exist.

The most frequent request after Heartbeat, hence little ceremony: one object a commit, and answers that are kept.
"""

from collections.abc import Iterable
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.observer import UNOBSERVED
from kohort.coordinator.classic.sessions import extend
from kohort.coordinator.classic.states import COMMIT, State
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Reply
from kohort.coordinator.group import Group
from kohort.coordinator.offsets import NO_EXPIRY, Accepted, CommittedOffset, GroupOffsets
from kohort.coordinator.offsets_topic_records import EXPIRING_OFFSET_VALUE, expiring_offset_value, offset_key
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
    from kohort.coordinator.streams.streams_group import StreamsGroup

BROKERS_RETENTION: Final = -1
"""As `retention_time_ms`: as long as the broker keeps offsets. Other negative times are in the past."""

KnownTopic = tuple[str, UUID | None, OffsetCommitRequestTopic]
"""A topic of the request that exists: its name and id, and those of the partitions asked for that exist."""

_NONE: Final = ErrorCode.none


class Commit:
    """One OffsetCommit whose topics have been looked up."""

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
        """`refused`: what was refused before the group is asked; these entries come first in the answer.

        `knows_epochs`: whether the request's version has member epochs (from 9 on). Then a generation of a group that
        does not exist hears GROUP_ID_NOT_FOUND, before ILLEGAL_GENERATION.
        """
        self.request = request
        self.group_id = request.group_id
        self.member_id = request.member_id
        self.generation_id = request.generation_id_or_member_epoch
        """Or the member's epoch, in a consumer group."""
        self.topics = topics
        self.refused = refused
        self.ticket = ticket
        self.knows_epochs = knows_epochs
        self.missing_group = ErrorCode.group_id_not_found if knows_epochs else ErrorCode.illegal_generation
        self._too_large: set[int] | None = None
        """The entries that were refused, by their number in the request."""
        self.answer_ready: object = None
        """What the client hears when all is written, ready to be sent; None: it is made each time."""
        self.accepted: list[Accepted] | None = None
        """What is written; None: nothing has been yet."""

    @property
    def is_accepted_whole(self) -> bool:
        """Whether all of it was written, without a time of its own to be kept: nothing of it was refused."""
        return self.accepted is not None and not self.refused and not self._too_large and self._expire_ms == NO_EXPIRY

    def store(self, coordinator: GroupCoordinator, group: Group | None, now_ms: int) -> bool:
        """Writes what is not too large. Returns whether there is anything to wait for."""
        self.coordinator = coordinator
        self._group = group
        self.wall_ms = coordinator.wall_ms(now_ms)
        records = self.records()
        if not records.count:
            _offsets_of(
                coordinator, self.group_id, now_ms
            )  # Kafka makes the group before it looks at what is too large
            return False
        if group is not None:
            group.commits_in_flight += 1
        home = coordinator.partition_of(self.group_id) if group is None else group.partition
        coordinator.append(home, records, now_ms, self._written)
        return True

    def records(self) -> EncodedRecords:
        """What is written of it: all that is not too large."""
        group_id, settings = self.group_id, self.coordinator.settings
        limit, version = settings.offset_metadata_max_bytes, settings.offset_value_version
        retention_ms = self.request.retention_time_ms
        if retention_ms == BROKERS_RETENTION and version == EXPIRING_OFFSET_VALUE:
            retention_ms = settings.offsets_retention_ms
        self._expire_ms = NO_EXPIRY if retention_ms == BROKERS_RETENTION else self.wall_ms + retention_ms
        kept = {} if self._group is None or self._group.offsets is None else self._group.offsets.topics
        records: list[bytes] = []
        wall_ms = self.wall_ms
        accepted: list[Accepted] = []
        self.accepted = accepted
        refused = 0
        for name, topic_id, topic in self.topics:
            before = kept.get(name)
            for asked in topic.partitions:
                metadata, partition = asked.committed_metadata or "", asked.partition_index
                if metadata and _is_too_large(metadata, limit):
                    self._refuse(len(accepted) + refused)
                    refused += 1
                    continue
                committed = None if before is None else before.get(partition)
                if committed is None or not committed.fits(metadata, topic_id):
                    committed = CommittedOffset(metadata, topic_id)
                offset, epoch = asked.committed_offset, asked.committed_leader_epoch
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
        """Takes over what the log holds now, and answers."""
        group, coordinator = self._group, self.coordinator
        if group is not None:
            group.commits_in_flight -= 1
        answer = None
        if error is _NONE:
            answer = self.answer_ready
            known = coordinator.groups.get(self.group_id)  # nearly always; the others are found by the function
            offsets = None if known is None else known.offsets
            topics = (_offsets_of(coordinator, self.group_id, now_ms) if offsets is None else offsets).topics
            if coordinator.observer is not UNOBSERVED:
                _tell_commit(coordinator, group, self.member_id, self.count_written())
            self.take_over(topics)
            if group is not None and group.pending_offsets is not None:
                for place in self.written_partitions():
                    group.pending_offsets.overtake(place)
        coordinator.effects.append(Reply(self.ticket, self.answer(error) if answer is None else answer))

    def take_over(self, topics: dict[str, dict[int, CommittedOffset]]) -> None:
        """Puts what was written among the group's offsets."""
        wall_ms, expire_ms = self.wall_ms, self._expire_ms
        for name, partition, committed, offset, epoch in self.accepted or ():
            committed.take(offset, epoch, wall_ms, expire_ms)
            partitions = topics.get(name)
            if partitions is None:
                partitions = topics[name] = {}
            partitions[partition] = committed

    def count_written(self) -> int:
        """How many partitions were written."""
        return len(self.accepted or ())

    def written_partitions(self) -> Iterable[TopicPartition]:
        """The partitions that were written."""
        return [(name, partition) for name, partition, *_ in self.accepted or ()]

    def answer(self, error: ErrorCode) -> OffsetCommitResponse:
        """What the client hears: `error` for every partition, but for those that were refused by themselves."""
        if self.refused or self._too_large:
            return OffsetCommitResponse(topics=merged(self.refused, self._topics(error)))
        # Topics as the client named them: by name or by id.
        return OffsetCommitResponse(
            topics=tuple(
                [
                    _topic_answer(
                        asked.name, asked.topic_id, tuple([p.partition_index for p in asked.partitions]), error
                    )
                    for _, _, asked in self.topics
                ]
            )
        )

    def _topics(self, error: ErrorCode) -> list[OffsetCommitResponseTopic]:
        too_large, numbers = self._too_large or (), count()
        return [
            OffsetCommitResponseTopic(
                name=asked.name,
                topic_id=asked.topic_id,
                partitions=tuple(
                    OffsetCommitResponsePartition(
                        partition_index=p.partition_index,
                        error_code=ErrorCode.offset_metadata_too_large if next(numbers) in too_large else error,
                    )
                    for p in asked.partitions
                ),
            )
            for _, _, asked in self.topics
        ]


def offset_commit(coordinator: GroupCoordinator, commit: Commit, now_ms: int) -> OffsetCommitResponse | None:
    """Keeps the offsets. None: answered when they are written.

    One error for all partitions: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS, GROUP_ID_NOT_FOUND; and for single ones OFFSET_METADATA_TOO_LARGE.
    An accepted commit counts as a heartbeat. The empty group id is allowed.
    """
    group_id = commit.group_id
    group = coordinator.groups.get(group_id)
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
    coordinator: GroupCoordinator, group: "ConsumerGroup | StreamsGroup", commit: Commit, now_ms: int
) -> OffsetCommitResponse | None:
    limit = coordinator.settings.offset_metadata_max_bytes
    error = group.check_commit(
        commit.member_id,
        commit.generation_id,
        (
            (name, topic_id, each.partition_index)
            for name, topic_id, topic in commit.topics
            for each in topic.partitions
            if not _is_too_large(each.committed_metadata or "", limit)  # refused for that alone
        ),
        knows_epochs=commit.knows_epochs,
    )
    if error is not _NONE:
        if isinstance(group, ConsumerGroup):
            observer = coordinator.consumer_observer
            observer.commit_rejected(group, commit.member_id, commit.generation_id, error, commit.ticket)
    elif commit.store(coordinator, group, now_ms):
        return None
    return commit.answer(error)


def _tell_commit(coordinator: GroupCoordinator, group: Group | None, member_id: str, partitions: int) -> None:
    """Reports a commit to the observer."""
    if isinstance(group, ConsumerGroup):
        coordinator.consumer_observer.committed(group, member_id, partitions)
    elif group is None or isinstance(group, ClassicGroup):
        coordinator.observer.committed(group, member_id, partitions)


def _check(group: ClassicGroup, commit: Commit, now_ms: int) -> ErrorCode:
    generation_id, member_id, instance_id = commit.generation_id, commit.member_id, commit.request.group_instance_id
    if generation_id < 0:
        if group.state is State.EMPTY:
            return _NONE  # from anybody: the id is not even looked at
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
    """Where a group's offsets are kept. A group that does not exist is a simple one from now on."""
    group = coordinator.group(group_id)
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
    """A topic's answer with one error for all partitions. Cached: consumers commit the same partitions every time."""
    return OffsetCommitResponseTopic(
        name=name,
        topic_id=topic_id,
        partitions=tuple(OffsetCommitResponsePartition(partition_index=i, error_code=error) for i in indexes),
    )


def merged(
    refused: list[OffsetCommitResponseTopic], answered: list[OffsetCommitResponseTopic]
) -> tuple[OffsetCommitResponseTopic, ...]:
    """One entry per topic, if anything was refused: that first, then what the group says (classic-groups §7.1).

    Else what the group says stays, a topic that was named twice included (Kafka: `OffsetCommitResponse.Builder`).
    """
    if not refused:
        return tuple(answered)
    topics: dict[tuple[str, UUID | None], OffsetCommitResponseTopic] = {}
    for topic in (*refused, *answered):
        before = topics.setdefault((topic.name, topic.topic_id), topic)
        if before is not topic:
            before.partitions += topic.partitions
    return tuple(topics.values())
