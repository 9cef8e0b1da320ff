"""DescribeShareGroupOffsets (key 90), versions 0-1: how far share groups are with partitions (KIP-932).

v1: lag, the records that are not done yet (KIP-1226).

Nobody asks whether a group exists. Named partitions are described by any node, all of a group by its coordinator.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from kohort.broker.apis.share_offsets_errors import SHARE_OFFSETS_ERRORS
from kohort.coordinator.modern.group_refusals import Refusal
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from kohort.security.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket
    from kohort.coordinator.share.share_host import Outcome
    from kohort.coordinator.share.state_partitions import TopicIdPartition

    Partitions = Mapping[str, tuple[UUID | None, tuple[int, ...]]]
    """By name, the ids of topics that exist, and the partitions that are asked for."""

UNKNOWN = -1
"""As an offset, a lag, a count."""
UNFORESEEN = Refusal(ErrorCode.unknown_server_error, SHARE_OFFSETS_ERRORS[ErrorCode.unknown_server_error])
"""What a group hears of which Kafka can't describe what is asked for (heard from 4.3.0)."""


def handle(
    node: Node, request: DescribeShareGroupOffsetsRequest, ticket: Ticket
) -> Task[DescribeShareGroupOffsetsResponse | None]:
    """None: answered when share coordinators have answered for all groups."""
    if not node.cluster.features.serves_share_groups:
        return error_response(request, ErrorCode.unsupported_version)
    described: dict[int, DescribeShareGroupOffsetsResponseGroup] = {}
    count = len(request.groups)

    def done(number: int, group: DescribeShareGroupOffsetsResponseGroup) -> None:
        described[number] = group
        if len(described) == count:
            groups = tuple(described[each] for each in range(count))
            ticket.reply(DescribeShareGroupOffsetsResponse(groups=groups))

    for number, asked in enumerate(request.groups):
        yield from _describe(node, asked, ticket, partial(done, number))
    return None if count else DescribeShareGroupOffsetsResponse(groups=())


def _describe(
    node: Node,
    asked: DescribeShareGroupOffsetsRequestGroup,
    ticket: Ticket,
    done: Callable[[DescribeShareGroupOffsetsResponseGroup], None],
) -> Task[None]:
    wanted = _wanted(node, asked, ticket)
    if isinstance(wanted, Refusal):
        done(_refused(asked.group_id, *wanted))
        return
    access = node.cluster.access
    hidden = set()
    if access is not None:
        hidden = {name for name in wanted if not access.allows(ticket, DESCRIBE_TOPIC, name)}
    epochs: dict[TopicIdPartition, int] = {}
    for name, (topic_id, indexes) in wanted.items():
        if topic_id is not None and name not in hidden:
            epochs |= {(topic_id, index): _leader_epoch(node, topic_id, index) for index in indexes}
        yield

    if epochs and not asked.group_id:  # nobody can be asked for its state (heard)
        done(_refused(asked.group_id, *UNFORESEEN))
        return

    def summarized(outcomes: Mapping[TopicIdPartition, Outcome], now_ms: int) -> None:
        topics = [
            _hidden_topic(name, each[1]) if name in hidden else _topic(node, name, *each, outcomes)
            for name, each in wanted.items()
        ]
        done(DescribeShareGroupOffsetsResponseGroup(group_id=asked.group_id, topics=tuple(topics)))

    if epochs:
        node.coordinator.share_persister().read_summary(asked.group_id, epochs, summarized, ticket.received_at_ms)
    else:
        summarized({}, ticket.received_at_ms)


def _wanted(node: Node, asked: DescribeShareGroupOffsetsRequestGroup, ticket: Ticket) -> Partitions | Refusal:
    """The partitions that are named, or all of the group."""
    access = node.cluster.access
    if access is not None and not access.allows(ticket, DESCRIBE_GROUP, asked.group_id):
        return Refusal(ErrorCode.group_authorization_failed)
    return _all(node, asked.group_id, ticket) if asked.topics is None else _named(node, asked.topics)


def _all(node: Node, group_id: str, ticket: Ticket) -> Partitions | Refusal:
    """The partitions of a group that are ready; topics that one may not see are left out."""
    error = node.coordinator.availability(group_id)
    if error is not ErrorCode.none:
        return Refusal(error, SHARE_OFFSETS_ERRORS.get(error))
    group, access = node.coordinator.share_groups.get(group_id), node.cluster.access
    return {
        topic.name: (topic_id, tuple(sorted(topic.partitions)))
        for topic_id, topic in (group.states.initialized.items() if group is not None else ())
        if access is None or access.shows(ticket, DESCRIBE_TOPIC, topic.name)
    }


def _named(node: Node, topics: Sequence[DescribeShareGroupOffsetsRequestTopic]) -> Partitions | Refusal:
    """A topic that is there without partitions, or with one below 0, fails the group (seen in Kafka 4.3.0)."""
    wanted: dict[str, tuple[UUID | None, tuple[int, ...]]] = {}
    for each in topics:
        topic = node.cluster.topics.by_name(each.topic_name)
        if topic is not None and min(each.partitions, default=-1) < 0:
            return UNFORESEEN
        known = wanted[each.topic_name][1] if each.topic_name in wanted else ()
        if topic is None:
            wanted[each.topic_name] = None, (*known, *each.partitions)
        else:
            wanted[each.topic_name] = topic.topic_id, tuple(sorted({*known, *each.partitions}))
    return wanted


def _leader_epoch(node: Node, topic_id: UUID, index: int) -> int:
    topic = node.cluster.topics.by_id(topic_id)
    partition = topic.partition(index) if topic is not None else None
    return partition.leader_epoch if partition is not None else 0


def _hidden_topic(name: str, indexes: Iterable[int]) -> DescribeShareGroupOffsetsResponseTopic:
    error = ErrorCode.topic_authorization_failed
    message = SHARE_OFFSETS_ERRORS[error]
    partitions = tuple(
        DescribeShareGroupOffsetsResponsePartition(partition_index=index, error_code=error, error_message=message)
        for index in indexes
    )
    return DescribeShareGroupOffsetsResponseTopic(topic_name=name, topic_id=None, partitions=partitions)


def _topic(
    node: Node, name: str, topic_id: UUID | None, indexes: Iterable[int], outcomes: Mapping[TopicIdPartition, Outcome]
) -> DescribeShareGroupOffsetsResponseTopic:
    partitions = tuple(
        DescribeShareGroupOffsetsResponsePartition(partition_index=index)
        if topic_id is None
        else _partition(node, topic_id, index, outcomes.get((topic_id, index)))
        for index in indexes
    )
    return DescribeShareGroupOffsetsResponseTopic(topic_name=name, topic_id=topic_id, partitions=partitions)


def _partition(
    node: Node, topic_id: UUID, index: int, outcome: Outcome | None
) -> DescribeShareGroupOffsetsResponsePartition:
    """What is not known, or could not be found out, is -1."""
    if outcome is None or outcome.error_code is not ErrorCode.none or outcome.start_offset == UNKNOWN:
        return DescribeShareGroupOffsetsResponsePartition(partition_index=index)
    topic = node.cluster.topics.by_id(topic_id)
    partition = topic.partition(index) if topic is not None else None
    lag = UNKNOWN
    if partition is not None and outcome.delivery_complete_count != UNKNOWN:
        lag = partition.log.high_watermark - outcome.start_offset - outcome.delivery_complete_count
    return DescribeShareGroupOffsetsResponsePartition(
        partition_index=index, start_offset=outcome.start_offset, leader_epoch=outcome.leader_epoch, lag=lag
    )


def _refused(group_id: str, error: ErrorCode, message: str | None = None) -> DescribeShareGroupOffsetsResponseGroup:
    """The errors that a client brings about have no message here; those of the coordinator have one."""
    return DescribeShareGroupOffsetsResponseGroup(group_id=group_id, error_code=error, error_message=message)


def error_response(
    request: DescribeShareGroupOffsetsRequest, error_code: ErrorCode
) -> DescribeShareGroupOffsetsResponse:
    """What a request hears that failed here, or that is not served."""
    return DescribeShareGroupOffsetsResponse(
        groups=tuple(_refused(each.group_id, error_code) for each in request.groups)
    )
