"""OffsetFetch (classic-groups §7.4, consumer-groups §15.3): committed offsets of groups."""

from functools import lru_cache
from typing import Final

from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.offsets.offsets import CommittedOffset, GroupOffsets
from kohort.coordinator.offsets.pending_offsets import PendingOffsets
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.offset_fetch import (
    OffsetFetchRequestTopic,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)

NO_OFFSET: Final = -1


def offset_fetch(
    coordinator: GroupCoordinator,
    group_id: str,
    topics: tuple[OffsetFetchRequestTopic, ...] | None,
    *,
    require_stable: bool = False,
    member_id: str | None = None,
    member_epoch: int = -1,
) -> OffsetFetchResponseGroup:
    """Return the offsets of a group. A partition without a committed offset has offset -1 and no error.

    Errors of the group: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS.

    Args:
        topics: None requests every topic. Topics have a name, and an id where the client sent one.
        require_stable: Answer UNSTABLE_OFFSET_COMMIT for partitions with an offset in an open transaction (KIP-447).
        member_id: Checked with `member_epoch` if members have epochs: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH.
    """
    group = coordinator.described_group(group_id)
    error = coordinator.availability(group_id) if group is None else group.check_fetch(member_id, member_epoch)
    if error is not ErrorCode.none:
        return OffsetFetchResponseGroup(group_id=group_id, topics=(), error_code=error)
    offsets = None if group is None else group.offsets
    answers = _all(offsets) if topics is None else tuple([_named(offsets, topic) for topic in topics])
    if require_stable and group is not None and group.pending_offsets is not None:
        answers = tuple(_stable(answer, group.pending_offsets) for answer in answers)
    return OffsetFetchResponseGroup(group_id=group_id, topics=answers, error_code=ErrorCode.none)


def _stable(answer: OffsetFetchResponseTopic, pending: PendingOffsets) -> OffsetFetchResponseTopic:
    partitions = tuple(
        _unstable(partition.partition_index) if (answer.name, partition.partition_index) in pending else partition
        for partition in answer.partitions
    )
    return OffsetFetchResponseTopic(name=answer.name, topic_id=answer.topic_id, partitions=partitions)


def _unstable(partition: int) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(
        partition_index=partition,
        committed_offset=NO_OFFSET,
        committed_leader_epoch=-1,
        metadata="",
        error_code=ErrorCode.unstable_offset_commit,
    )


def _all(offsets: GroupOffsets | None) -> tuple[OffsetFetchResponseTopic, ...]:
    if offsets is None:
        return ()
    return tuple(
        OffsetFetchResponseTopic(
            name=name,
            partitions=tuple([partition_answer(partition, committed) for partition, committed in partitions.items()]),
        )
        for name, partitions in offsets.topics.items()
    )


def _named(offsets: GroupOffsets | None, topic: OffsetFetchRequestTopic) -> OffsetFetchResponseTopic:
    stored = {} if offsets is None else offsets.topics.get(topic.name, {})
    topic_id = topic.topic_id
    partitions = []
    for partition in topic.partition_indexes:
        committed = stored.get(partition)
        if committed is None or (topic_id is not None and committed.topic_id not in (None, topic_id)):
            partitions.append(never_committed(partition))  # or committed for an earlier topic of that name
        else:
            partitions.append(committed.answer or partition_answer(partition, committed))
    return OffsetFetchResponseTopic(name=topic.name, topic_id=topic_id, partitions=tuple(partitions))


def partition_answer(partition: int, committed: CommittedOffset) -> OffsetFetchResponsePartition:
    """Return the entry of a partition.

    It is cached until the next commit: members that start together need it often.
    """
    if committed.answer is None:
        committed.answer = OffsetFetchResponsePartition(
            partition_index=partition,
            committed_offset=committed.offset,
            committed_leader_epoch=committed.leader_epoch,
            metadata=committed.metadata,
            error_code=ErrorCode.none,
        )
    return committed.answer


@lru_cache(maxsize=1024)
def never_committed(partition: int) -> OffsetFetchResponsePartition:
    """Return the entry of a partition without an offset."""
    return OffsetFetchResponsePartition(
        partition_index=partition,
        committed_offset=NO_OFFSET,
        committed_leader_epoch=-1,
        metadata="",
        error_code=ErrorCode.none,
    )
