"""OffsetFetch (key 9), versions 1-10: committed offsets of groups.

v1: listed partitions only; a group's error is on each partition. v2: null for all, and an error of the whole request.
v3: throttle time. v4: as v3. v5: KIP-320, leader epochs. v6: flexible. v7: KIP-447, `require_stable`. v8: KIP-709,
several groups. v9: KIP-848, member ids and epochs, ignored for classic groups. v10: topics by id.
"""

from itertools import chain
from typing import Final
from uuid import UUID

from kohort.broker.cluster.access import Access
from kohort.broker.cluster.node import Node
from kohort.broker.scheduling.cooperative import Task
from kohort.broker.scheduling.request_chunks import SHORT, runs
from kohort.broker.ticket import Ticket
from kohort.coordinator.offsets.fetching_offsets import offset_fetch
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kohort.protocol.shape import changed
from kohort.security.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC

IDS_FROM: Final = 10


def handle(node: Node, request: OffsetFetchRequest, ticket: Ticket) -> OffsetFetchResponse | Task[OffsetFetchResponse]:
    """Return the offsets of each group."""
    groups = request.groups
    if len(groups) > 1 or (groups and is_long(node, groups[0])):
        return _in_steps(node, request, ticket)
    return answered(node, request, ticket.version, ticket)


def is_long(node: Node, entry: OffsetFetchRequestGroup) -> bool:
    """Return whether a group has too many partitions, in the request or committed, for one slice."""
    if entry.topics is not None:
        partitions = 0
        for topic in entry.topics:  # nearly always one topic, for which `sum` is slower
            partitions += len(topic.partition_indexes)
        return partitions > SHORT or len(entry.topics) > SHORT
    group = node.coordinator.groups.get(entry.group_id)
    return (
        group is not None
        and group.offsets is not None
        and sum(len(partitions) for partitions in group.offsets.topics.values()) > SHORT
    )


def _in_steps(node: Node, request: OffsetFetchRequest, ticket: Ticket) -> Task[OffsetFetchResponse]:
    groups: list[OffsetFetchResponseGroup] = []
    # All offsets of a group are stored once, even if several entries request them.
    whole: dict[tuple[str, str | None, int], OffsetFetchResponseGroup] = {}
    for entry in request.groups:
        key = entry.group_id, entry.member_id, entry.member_epoch
        if entry.topics is not None:
            groups.append((yield from _named_in_steps(node, entry, request, ticket)))
        else:
            if key not in whole:
                whole[key] = _answered_one(node, entry, request, ticket)
            groups.append(whole[key])
        yield
    return OffsetFetchResponse(groups=tuple(groups))


def _answered_one(
    node: Node, entry: OffsetFetchRequestGroup, request: OffsetFetchRequest, ticket: Ticket
) -> OffsetFetchResponseGroup:
    one = changed(OffsetFetchRequest, request, groups=(entry,))
    (group,) = answered(node, one, ticket.version, ticket).groups
    return group


def _named_in_steps(
    node: Node, entry: OffsetFetchRequestGroup, request: OffsetFetchRequest, ticket: Ticket
) -> Task[OffsetFetchResponseGroup]:
    """Return the result of `answered` for this group, with SHORT partitions per slice."""
    assert entry.topics is not None, "requests for all offsets are not sliced"
    if not entry.topics:
        return _answered_one(node, entry, request, ticket)
    ranked: tuple[list[OffsetFetchResponseTopic], ...] = ([], [], [])
    last: OffsetFetchRequestTopic | None = None
    for run in runs(entry.topics, "partition_indexes"):
        topics = tuple([changed(OffsetFetchRequestTopic, topic, partition_indexes=indexes) for topic, indexes in run])
        group = _answered_one(node, changed(OffsetFetchRequestGroup, entry, topics=topics), request, ticket)
        if group.error_code is not ErrorCode.none:
            return group
        continued = run[0][0] if run[0][0] is last else None
        last = run[-1][0]
        for topic in group.topics:
            same_rank = ranked[_rank(node, topic, ticket)]
            if continued is not None and _name(topic, ticket) == _name(continued, ticket):
                continued = None  # other entries of that name are kept separate
                same_rank[-1].partitions += topic.partitions
            else:
                same_rank.append(topic)
        yield
    return OffsetFetchResponseGroup(
        group_id=entry.group_id, topics=tuple(chain.from_iterable(ranked)), error_code=ErrorCode.none
    )


def _name(topic: OffsetFetchRequestTopic | OffsetFetchResponseTopic, ticket: Ticket) -> str | UUID | None:
    return topic.topic_id if ticket.version >= IDS_FROM else topic.name


def _rank(node: Node, topic: OffsetFetchResponseTopic, ticket: Ticket) -> int:
    """Return 0 for a valid topic, 1 for an unauthorized one, 2 for an unknown id: their order in a group."""
    if ticket.version >= IDS_FROM and (topic.topic_id is None or node.cluster.topics.by_id(topic.topic_id) is None):
        return 2
    refused = topic.partitions and topic.partitions[0].error_code is ErrorCode.topic_authorization_failed
    return 1 if refused else 0


def answered(node: Node, request: OffsetFetchRequest, version: int, ticket: Ticket | None) -> OffsetFetchResponse:
    """Return the response without slices. Authorization is not checked without a ticket."""
    if version >= IDS_FROM:
        return OffsetFetchResponse(groups=tuple(_by_id(node, entry, request, ticket) for entry in request.groups))
    groups = tuple(
        [_fetch(node, entry, entry.topics, request, ticket) for entry in request.groups]
    )  # faster than a generator
    if version == 1 and groups[0].error_code is not ErrorCode.none:
        groups = (_on_each_partition(request.groups[0], groups[0].error_code),)
    return OffsetFetchResponse(groups=groups)


def _by_id(
    node: Node, group: OffsetFetchRequestGroup, request: OffsetFetchRequest, ticket: Ticket | None
) -> OffsetFetchResponseGroup:
    topics = node.cluster.topics
    if group.topics is None:
        answer = _fetch(node, group, None, request, ticket)
        for answered in answer.topics:
            topic = topics.by_name(answered.name)
            answered.topic_id = None if topic is None else topic.topic_id
        answer.topics = tuple(answered for answered in answer.topics if answered.topic_id is not None)
        return answer
    named = []
    for entry in group.topics:
        topic = topics.by_id(entry.topic_id)
        if topic is not None:
            named.append(
                OffsetFetchRequestTopic(
                    name=topic.name, topic_id=topic.topic_id, partition_indexes=entry.partition_indexes
                )
            )
    answer = _fetch(node, group, tuple(named), request, ticket)
    if answer.error_code is ErrorCode.none:
        unknown = (_refusal(w, ErrorCode.unknown_topic_id) for w in group.topics if topics.by_id(w.topic_id) is None)
        answer.topics = (*answer.topics, *unknown)
    return answer


def _fetch(
    node: Node,
    entry: OffsetFetchRequestGroup,
    topics: tuple[OffsetFetchRequestTopic, ...] | None,
    request: OffsetFetchRequest,
    ticket: Ticket | None,
) -> OffsetFetchResponseGroup:
    access = node.cluster.access
    if access is not None:
        assert ticket is not None, "authorization needs a ticket"
        return _fetch_allowed(node, access, entry, topics, request, ticket)
    return offset_fetch(
        node.coordinator,
        entry.group_id,
        topics,
        require_stable=request.require_stable,
        member_id=entry.member_id,
        member_epoch=entry.member_epoch,
    )


def _fetch_allowed(
    node: Node,
    access: Access,
    entry: OffsetFetchRequestGroup,
    topics: tuple[OffsetFetchRequestTopic, ...] | None,
    request: OffsetFetchRequest,
    ticket: Ticket,
) -> OffsetFetchResponseGroup:
    """Return a group's offsets without topics that the client may not see; if these were requested, with errors."""
    group_id = entry.group_id
    if not access.allows(ticket, DESCRIBE_GROUP, group_id):
        return OffsetFetchResponseGroup(group_id=group_id, topics=(), error_code=ErrorCode.group_authorization_failed)
    allowed, refused = topics, []
    if topics is not None:
        visible = {topic.name: access.allows(ticket, DESCRIBE_TOPIC, topic.name) for topic in topics}
        allowed = tuple(topic for topic in topics if visible[topic.name])
        refused = [_refusal(topic, ErrorCode.topic_authorization_failed) for topic in topics if not visible[topic.name]]
    answer = offset_fetch(
        node.coordinator,
        group_id,
        allowed,
        require_stable=request.require_stable,
        member_id=entry.member_id,
        member_epoch=entry.member_epoch,
    )
    if topics is None:
        answer.topics = tuple(
            visible_topic for visible_topic in answer.topics if access.shows(ticket, DESCRIBE_TOPIC, visible_topic.name)
        )
    elif answer.error_code is ErrorCode.none:
        answer.topics = (*answer.topics, *refused)
    return answer


def _refusal(entry: OffsetFetchRequestTopic, error: ErrorCode) -> OffsetFetchResponseTopic:
    return OffsetFetchResponseTopic(
        name=entry.name,
        topic_id=entry.topic_id,
        partitions=tuple(
            OffsetFetchResponsePartition(
                partition_index=partition, committed_offset=-1, committed_leader_epoch=-1, metadata="", error_code=error
            )
            for partition in entry.partition_indexes
        ),
    )


def _on_each_partition(entry: OffsetFetchRequestGroup, error: ErrorCode) -> OffsetFetchResponseGroup:
    """Return a group with an error on each partition, because version 1 has no other field for it (KAFKA-19246)."""
    topics = tuple(_refusal(topic, error) for topic in entry.topics or ())
    return OffsetFetchResponseGroup(group_id=entry.group_id, topics=topics, error_code=ErrorCode.none)


def error_response(request: OffsetFetchRequest, error_code: ErrorCode) -> OffsetFetchResponse:
    return OffsetFetchResponse(
        groups=tuple(
            OffsetFetchResponseGroup(group_id=entry.group_id, topics=(), error_code=error_code)
            for entry in request.groups
        )
    )
