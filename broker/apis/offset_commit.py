"""OffsetCommit (key 8), versions 2-10: remember how far a group has got.

v2-4: a retention time of its own. v3: throttle time. v5: without that time. v6: KIP-320, leader epochs.
v7: KIP-345, group instance ids. v8: flexible. v9: KIP-848, a generation of a
group that does not exist hears GROUP_ID_NOT_FOUND, before ILLEGAL_GENERATION. v10: topics by id.

Whether topics exist is asked before the group is looked at: what does not exist is refused by itself, and if nothing is
left the group is not asked at all (classic-groups §7.1).
"""

from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

from kohort.broker.cluster.access import Access
from kohort.broker.cluster.node import Node
from kohort.broker.familiar_request import Familiar
from kohort.broker.scheduling.cooperative import Task
from kohort.broker.scheduling.request_chunks import SHORT, in_chunks, runs
from kohort.broker.ticket import Ticket
from kohort.coordinator.committing import Commit, KnownTopic, RepeatedCommit, merged, offset_commit
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kohort.protocol.shape import changed
from kohort.security.rights import READ_GROUP, READ_TOPIC

IDS_FROM: Final = 10


def handle(node: Node, request: OffsetCommitRequest, ticket: Ticket) -> OffsetCommitResponse | Task[Any] | None:
    """None: answered when the offsets are written."""
    partitions = 0
    for topic in request.topics:  # nearly always one: `sum` would take longer than all of this
        partitions += len(topic.partitions)
    if partitions > SHORT:
        return in_chunks(node, ticket, _parts(request), handle, _merged)
    commit = _looked_up(node, request, ticket)
    if not isinstance(commit, Commit):
        return commit
    return offset_commit(node.coordinator, commit, ticket.received_at_ms)


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
        if not commit.is_repeatable:
            return None
        self.commit = repeated = RepeatedCommit(commit)
        return repeated


def again(node: Node, familiar: Familiar, ticket: Ticket) -> OffsetCommitResponse | None:
    """As `handle`, for a commit that differs from an earlier one of its connection in nothing but its offsets."""
    kept: _Kept | None = familiar.kept
    offsets, familiar.numbers = familiar.numbers, ()  # not kept until the next one comes
    cluster = node.cluster
    repeated: RepeatedCommit | None = None
    try:
        if kept is not None and kept.topics_version == cluster.topics.version:
            repeated = kept.repetition()
        if repeated is not None and (cluster.access is None or _may(cluster.access, ticket, repeated)):
            repeated.ticket, repeated.offsets = ticket, offsets
            return offset_commit(node.coordinator, repeated, ticket.received_at_ms)
        familiar.kept = None
        ticket.request = _with_offsets(familiar.request, offsets)
        commit = _looked_up(node, ticket.request, ticket)
        if not isinstance(commit, Commit):
            return commit
        if not commit.refused:
            commit.answer_ready = ticket.api.write(ticket.version, 0, commit.answer(ErrorCode.none))
            familiar.kept = _Kept(commit, cluster.topics.version)
            familiar.request = ticket.request  # one of them is enough
        return offset_commit(node.coordinator, commit, ticket.received_at_ms)
    except Exception:
        ticket.request = _with_offsets(familiar.request, offsets)  # for the log
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


def _looked_up(node: Node, request: OffsetCommitRequest, ticket: Ticket) -> Commit | OffsetCommitResponse:
    """The commit that the group is asked for; or the response, if it need not be asked."""
    access = node.cluster.access
    if access is not None and not access.allows(ticket, READ_GROUP, request.group_id):
        return error_response(request, ErrorCode.group_authorization_failed)
    known: list[KnownTopic] = []
    refused: list[OffsetCommitResponseTopic] = []
    for asked in request.topics:
        _look_up(node, asked, ticket, known, refused)
    if not known:
        return OffsetCommitResponse(topics=merged(refused, []))
    return Commit(request, known, refused, ticket, knows_epochs=ticket.version >= 9)


def _parts(request: OffsetCommitRequest) -> Iterator[OffsetCommitRequest]:
    for run in runs(request.topics, "partitions"):
        topics = tuple(changed(OffsetCommitRequestTopic, topic, partitions=parts) for topic, parts in run)
        yield changed(OffsetCommitRequest, request, topics=topics)


def _merged(answers: list[OffsetCommitResponse]) -> OffsetCommitResponse:
    partitions: dict[tuple[str, UUID | None], list[OffsetCommitResponsePartition]] = {}
    for answer in answers:
        for topic in answer.topics:
            partitions.setdefault((topic.name, topic.topic_id), []).extend(topic.partitions)
    return OffsetCommitResponse(
        topics=tuple(
            OffsetCommitResponseTopic(name=name, topic_id=topic_id, partitions=tuple(parts))
            for (name, topic_id), parts in partitions.items()
        )
    )


def _look_up(
    node: Node,
    asked: OffsetCommitRequestTopic,
    ticket: Ticket,
    known: list[KnownTopic],
    refused: list[OffsetCommitResponseTopic],
) -> None:
    topics, access, by_id = node.cluster.topics, node.cluster.access, ticket.version >= IDS_FROM
    topic = topics.by_id(asked.topic_id) if by_id else topics.by_name(asked.name)
    if (
        access is not None
        and not (by_id and topic is None)
        and not access.allows(ticket, READ_TOPIC, asked.name if topic is None else topic.name)
    ):
        refused.append(_refusal(asked, ErrorCode.topic_authorization_failed))
        return
    if topic is None:
        error = ErrorCode.unknown_topic_id if by_id else ErrorCode.unknown_topic_or_partition
        refused.append(_refusal(asked, error))
        return
    count = len(topic.partitions)
    for each in asked.partitions:
        if not 0 <= each.partition_index < count:
            asked = _without_missing(asked, count, refused)
            break
    if asked.partitions:
        known.append((topic.name, topic.topic_id, asked))


def _without_missing(
    asked: OffsetCommitRequestTopic, count: int, refused: list[OffsetCommitResponseTopic]
) -> OffsetCommitRequestTopic:
    """The partitions that exist; the others are refused."""
    there = tuple(each for each in asked.partitions if 0 <= each.partition_index < count)
    missing = tuple(each for each in asked.partitions if not 0 <= each.partition_index < count)
    refused.append(_refusal(asked, ErrorCode.unknown_topic_or_partition, missing))
    return OffsetCommitRequestTopic(name=asked.name, topic_id=asked.topic_id, partitions=there)


def _refusal(
    asked: OffsetCommitRequestTopic,
    error: ErrorCode,
    partitions: tuple[OffsetCommitRequestPartition, ...] | None = None,
) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=asked.name,
        topic_id=asked.topic_id,
        partitions=tuple(
            OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error)
            for each in (asked.partitions if partitions is None else partitions)
        ),
    )


def error_response(request: OffsetCommitRequest, error_code: ErrorCode) -> OffsetCommitResponse:
    """What a request hears that failed here."""
    return OffsetCommitResponse(topics=tuple(_refusal(asked, error_code) for asked in request.topics))
