"""Commits that come again: a consumer commits the same partitions each time, with other offsets.

Their topics stay looked up, their records are made in one go, and their answer is kept. Rights are asked for each time,
and so is the group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kohort.broker.apis.offset_commit import looked_up
from kohort.broker.fast.repeated_records import RepeatedRecords
from kohort.coordinator.committing import Commit, offset_commit
from kohort.coordinator.offsets import CommittedOffset
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
    """A commit that differs from earlier ones in nothing but its offsets.

    Made once: a connection has one request at a time, so the next one only needs a ticket and offsets of its own.
    """

    __slots__ = ("_repeated", "offsets")

    def __init__(self, first: Commit) -> None:
        """`first`: one that was accepted whole."""
        super().__init__(first.request, first.topics, first.refused, first.ticket, knows_epochs=first.knows_epochs)
        self.answer_ready = first.answer_ready
        self.offsets: Sequence[int] = ()
        """One for each partition."""
        assert first.accepted is not None, "it has been written"
        version = first.coordinator.settings.offset_value_version
        self._repeated = RepeatedRecords(first.group_id, first.accepted, version)

    def records(self) -> EncodedRecords:
        """See `Commit`."""
        return self._repeated.at(self.offsets, self.wall_ms)

    def take_over(self, topics: dict[str, dict[int, CommittedOffset]]) -> None:
        """See `Commit`."""
        self._repeated.take_over(topics, self.offsets, self.wall_ms)

    def count_written(self) -> int:
        """See `Commit`."""
        return len(self.offsets)

    def written_partitions(self) -> Iterable[TopicPartition]:
        """See `Commit`."""
        return self._repeated


class _Kept:
    """What is kept of a commit for the next of its kind."""

    __slots__ = ("commit", "topics_version")

    def __init__(self, first: Commit, topics_version: int) -> None:
        """`topics_version`: when its topics were looked up; see `Topics.version`."""
        self.commit = first
        self.topics_version = topics_version

    def repetition(self) -> RepeatedCommit | None:
        """The commit, to be made again; None: something of it was refused."""
        commit = self.commit
        if isinstance(commit, RepeatedCommit):
            return commit
        if not commit.is_accepted_whole:
            return None
        self.commit = repeated = RepeatedCommit(commit)
        return repeated


def handle_repeated(node: Node, cached: CachedRequest, ticket: Ticket) -> OffsetCommitResponse | None:
    """Handles a commit that differs from an earlier one of its connection in nothing but its offsets."""
    kept: _Kept | None = cached.kept
    offsets, cached.numbers = cached.numbers, ()  # not kept until the next one comes
    cluster = node.cluster
    repeated: RepeatedCommit | None = None
    try:
        if kept is not None and kept.topics_version == cluster.topics.version:
            repeated = kept.repetition()
        if repeated is not None and (cluster.access is None or _may(cluster.access, ticket, repeated)):
            repeated.ticket, repeated.offsets = ticket, offsets
            return offset_commit(node.coordinator, repeated, ticket.received_at_ms)
        cached.kept = None
        ticket.request = _with_offsets(cached.request, offsets)
        commit = looked_up(node, ticket.request, ticket)
        if not isinstance(commit, Commit):
            return commit
        if not commit.refused:
            commit.answer_ready = ticket.api.write(ticket.version, 0, commit.answer(ErrorCode.none))
            cached.kept = _Kept(commit, cluster.topics.version)
            cached.request = ticket.request  # one of them is enough
        return offset_commit(node.coordinator, commit, ticket.received_at_ms)
    except Exception:
        ticket.request = _with_offsets(cached.request, offsets)  # for the log
        raise


def _may(access: Access, ticket: Ticket, commit: Commit) -> bool:
    """Whether who repeats a commit has all rights to it, now too."""
    return access.shows(ticket, READ_GROUP, commit.group_id) and all(
        access.shows(ticket, READ_TOPIC, name) for name, _, _ in commit.topics
    )


def _with_offsets(request: OffsetCommitRequest, offsets: tuple[int, ...]) -> OffsetCommitRequest:
    """The request with these offsets, one for each partition, in the place of its own."""
    left = iter(offsets)
    topics = []
    for topic in request.topics:
        partitions = tuple(
            changed(OffsetCommitRequestPartition, each, committed_offset=next(left)) for each in topic.partitions
        )
        topics.append(changed(OffsetCommitRequestTopic, topic, partitions=partitions))
    return changed(OffsetCommitRequest, request, topics=tuple(topics))
