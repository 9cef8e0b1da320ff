"""Repeated commits: a consumer commits the same partitions each time, with other offsets.

The topics that were looked up are kept, the records are encoded at once, and the response is cached. Authorization and
the group are checked each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kohort.broker.apis.offset_commit import looked_up
from kohort.broker.fast.repeated_records import RepeatedRecords
from kohort.coordinator.offsets.committing import Commit, offset_commit
from kohort.coordinator.offsets.offsets import CommittedOffset
from kohort.protocol.batches import EncodedRecords
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kohort.protocol.shape import changed
from kohort.protocol.topic_partition import TopicPartition
from kohort.security.rights import READ_GROUP, READ_TOPIC

if TYPE_CHECKING:
    from kohort.broker.cluster.access import Access
    from kohort.broker.cluster.node import Node
    from kohort.broker.fast.cached_request import CachedRequest
    from kohort.broker.ticket import Ticket


class RepeatedCommit(Commit):
    """A commit that differs from earlier ones only in its offsets.

    It is reused: a connection has one request at a time, so the next one only sets ticket and offsets.
    """

    __slots__ = ("_repeated", "offsets")

    def __init__(self, first: Commit) -> None:
        """Create it from a commit of which nothing was rejected."""
        super().__init__(first.request, first.topics, first.refused, first.ticket, knows_epochs=first.knows_epochs)
        self.answer_ready = first.answer_ready
        self.offsets: Sequence[int] = ()  # one per partition
        assert first.accepted is not None, "it has been written"
        version = first.coordinator.settings.offset_value_version
        self._repeated = RepeatedRecords(first.group_id, first.accepted, version)

    def records(self) -> EncodedRecords:
        return self._repeated.at(self.offsets, self.wall_ms)

    def take_over(self, topics: dict[str, dict[int, CommittedOffset]]) -> None:
        self._repeated.take_over(topics, self.offsets, self.wall_ms)

    def count_written(self) -> int:
        return len(self.offsets)

    def written_partitions(self) -> Iterable[TopicPartition]:
        return self._repeated


class _CachedCommit:
    """The last commit, and when its topics were looked up."""

    __slots__ = ("commit", "topics_version")

    def __init__(self, first: Commit, topics_version: int) -> None:
        self.commit = first
        self.topics_version = topics_version

    def repetition(self) -> RepeatedCommit | None:
        """Return the commit for reuse, or None if any part of it was rejected."""
        commit = self.commit
        if isinstance(commit, RepeatedCommit):
            return commit
        if not commit.is_accepted_whole:
            return None
        self.commit = repeated = RepeatedCommit(commit)
        return repeated


def handle_repeated(node: Node, cached: CachedRequest, ticket: Ticket) -> OffsetCommitResponse | None:
    """Handle a commit that differs from an earlier one of its connection only in its offsets."""
    kept: _CachedCommit | None = cached.kept
    offsets, cached.numbers = cached.numbers, ()  # not kept until the next request
    cluster = node.cluster
    repeated: RepeatedCommit | None = None
    try:
        if kept is not None and kept.topics_version == cluster.topics.version:
            repeated = kept.repetition()
        if repeated is not None and (cluster.access is None or _is_authorized(cluster.access, ticket, repeated)):
            repeated.ticket, repeated.offsets = ticket, offsets
            return offset_commit(node.coordinator, repeated, ticket.received_at_ms)
        cached.kept = None
        ticket.request = _with_offsets(cached.request, offsets)
        commit = looked_up(node, ticket.request, ticket)
        if not isinstance(commit, Commit):
            return commit
        if not commit.refused:
            commit.answer_ready = ticket.api.write(ticket.version, 0, commit.answer(ErrorCode.none))
            cached.kept = _CachedCommit(commit, cluster.topics.version)
            cached.request = ticket.request  # drops the earlier, equal request
        return offset_commit(node.coordinator, commit, ticket.received_at_ms)
    except Exception:
        ticket.request = _with_offsets(cached.request, offsets)  # for the log line about the error
        raise


def _is_authorized(access: Access, ticket: Ticket, commit: Commit) -> bool:
    return access.shows(ticket, READ_GROUP, commit.group_id) and all(
        access.shows(ticket, READ_TOPIC, name) for name, _, _ in commit.topics
    )


def _with_offsets(request: OffsetCommitRequest, offsets: tuple[int, ...]) -> OffsetCommitRequest:
    """Return the request with these offsets, one per partition."""
    remaining = iter(offsets)
    topics = []
    for topic in request.topics:
        partitions = tuple(
            changed(OffsetCommitRequestPartition, partition, committed_offset=next(remaining))
            for partition in topic.partitions
        )
        topics.append(changed(OffsetCommitRequestTopic, topic, partitions=partitions))
    return changed(OffsetCommitRequest, request, topics=tuple(topics))
