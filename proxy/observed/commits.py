"""Offsets committed by an observed OffsetCommit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kohort.protocol.errors import ErrorCode

# errors about the committing member, not the partition
MEMBER_ERRORS: Final = frozenset({
    ErrorCode.unknown_member_id, ErrorCode.illegal_generation, ErrorCode.fenced_instance_id,
    ErrorCode.rebalance_in_progress, ErrorCode.stale_member_epoch, ErrorCode.fenced_member_epoch,
})  # fmt: skip

if TYPE_CHECKING:
    from kohort.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
    from kohort.protocol.topic_partition import TopicPartition


def committed_in(
    request: OffsetCommitRequest, answer: OffsetCommitResponse, names: Mapping[UUID, str]
) -> dict[TopicPartition, int]:
    """Return the accepted offsets. A topic with an unknown name is named by its id."""
    accepted = {
        (topic.name or topic.topic_id, part.partition_index)
        for topic in answer.topics
        for part in topic.partitions
        if part.error_code is ErrorCode.none
    }
    return {
        (topic.name or _name(names, topic.topic_id), part.partition_index): part.committed_offset
        for topic in request.topics
        for part in topic.partitions
        if (topic.name or topic.topic_id, part.partition_index) in accepted
    }


def find_commit_error(answer: OffsetCommitResponse) -> ErrorCode | None:
    """Return the first such error, or None."""
    errors = (part.error_code for topic in answer.topics for part in topic.partitions)
    return next((error for error in errors if error is not ErrorCode.none), None)


def _name(names: Mapping[UUID, str], topic_id: UUID | None) -> str:
    return str(topic_id) if topic_id is None else names.get(topic_id, str(topic_id))
