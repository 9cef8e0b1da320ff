"""OffsetFetch (key 9), versions 1-10: how far groups have got.

v1: named partitions only; a refusal of the group stands on each partition. v2: null for all, and an error of the
whole. v3: throttle time. v4: as v3. v5: KIP-320, leader epochs. v6: flexible. v7: KIP-447, `require_stable`.
v8: KIP-709, several groups. v9: KIP-848, member ids and epochs, not looked at for classic groups. v10: topics by id.
"""

from itertools import chain
from typing import Final
from uuid import UUID

from kohort.broker.cluster.access import Access
from kohort.broker.cluster.node import Node
from kohort.broker.scheduling.cooperative import Task
from kohort.broker.scheduling.request_chunks import SHORT, runs
from kohort.broker.ticket import Ticket
from kohort.coordinator.fetching_offsets import offset_fetch
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
    """One answer for each group."""
    groups = request.groups
    if len(groups) > 1 or (groups and is_long(node, groups[0])):
        return _in_steps(node, request, ticket)
    return answered(node, request, ticket.version, ticket)


def is_long(node: Node, asked: OffsetFetchRequestGroup) -> bool:
    """Whether too many partitions are asked for, or committed, to be answered at once."""
    if asked.topics is not None:
        partitions = 0
        for topic in asked.topics:  # nearly always one: `sum` would take longer than all of this
            partitions += len(topic.partition_indexes)
        return partitions > SHORT or len(asked.topics) > SHORT
    group = node.coordinator.group(asked.group_id)
    return (
        group is not None
        and group.offsets is not None
        and sum(len(partitions) for partitions in group.offsets.topics.values()) > SHORT
    )


def _in_steps(node: Node, request: OffsetFetchRequest, ticket: Ticket) -> Task[OffsetFetchResponse]:
    groups: list[OffsetFetchResponseGroup] = []
    whole: dict[tuple[str, str | None, int], OffsetFetchResponseGroup] = {}
    """All that groups have committed takes its room once, however often somebody asks for it."""
    for asked in request.groups:
        who = asked.group_id, asked.member_id, asked.member_epoch
        if asked.topics is not None:
            groups.append((yield from _named_in_steps(node, asked, request, ticket)))
        else:
            if who not in whole:
                whole[who] = _answered_one(node, asked, request, ticket)
            groups.append(whole[who])
        yield
    return OffsetFetchResponse(groups=tuple(groups))


def _answered_one(
    node: Node, asked: OffsetFetchRequestGroup, request: OffsetFetchRequest, ticket: Ticket
) -> OffsetFetchResponseGroup:
    one = changed(OffsetFetchRequest, request, groups=(asked,))
    (group,) = answered(node, one, ticket.version, ticket).groups
    return group


def _named_in_steps(
    node: Node, asked: OffsetFetchRequestGroup, request: OffsetFetchRequest, ticket: Ticket
) -> Task[OffsetFetchResponseGroup]:
    """Return what `answered` would for this group, after handling SHORT of its partitions in each step."""
    assert asked.topics is not None, "all that a group has committed is answered at once"
    if not asked.topics:
        return _answered_one(node, asked, request, ticket)
    ranked: tuple[list[OffsetFetchResponseTopic], ...] = ([], [], [])
    last: OffsetFetchRequestTopic | None = None
    for run in runs(asked.topics, "partition_indexes"):
        topics = tuple([changed(OffsetFetchRequestTopic, topic, partition_indexes=indexes) for topic, indexes in run])
        group = _answered_one(node, changed(OffsetFetchRequestGroup, asked, topics=topics), request, ticket)
        if group.error_code is not ErrorCode.none:
            return group
        continued = run[0][0] if run[0][0] is last else None
        last = run[-1][0]
        for topic in group.topics:
            same_rank = ranked[_rank(node, topic, ticket)]
            if continued is not None and _name(topic, ticket) == _name(continued, ticket):
                continued = None  # others of that name are entries of their own
                same_rank[-1].partitions += topic.partitions
            else:
                same_rank.append(topic)
        yield
    return OffsetFetchResponseGroup(
        group_id=asked.group_id, topics=tuple(chain.from_iterable(ranked)), error_code=ErrorCode.none
    )


def _name(topic: OffsetFetchRequestTopic | OffsetFetchResponseTopic, ticket: Ticket) -> str | UUID | None:
    return topic.topic_id if ticket.version >= IDS_FROM else topic.name


def _rank(node: Node, topic: OffsetFetchResponseTopic, ticket: Ticket) -> int:
    """Return 0 for a topic that is answered, 1 for one that is refused, 2 for an unknown id: their order in a group."""
    if ticket.version >= IDS_FROM and (topic.topic_id is None or node.cluster.topics.by_id(topic.topic_id) is None):
        return 2
    refused = topic.partitions and topic.partitions[0].error_code is ErrorCode.topic_authorization_failed
    return 1 if refused else 0


def answered(node: Node, request: OffsetFetchRequest, version: int, ticket: Ticket | None) -> OffsetFetchResponse:
    """The answer at once. `ticket`: None where nobody asks for rights."""
    if version >= IDS_FROM:
        return OffsetFetchResponse(groups=tuple(_by_id(node, asked, request, ticket) for asked in request.groups))
    groups = tuple(
        [_fetch(node, asked, asked.topics, request, ticket) for asked in request.groups]
    )  # quicker than a generator
    if version == 1 and groups[0].error_code is not ErrorCode.none:
        groups = (_on_each_partition(request.groups[0], groups[0].error_code),)
    return OffsetFetchResponse(groups=groups)


def _by_id(
    node: Node, asked: OffsetFetchRequestGroup, request: OffsetFetchRequest, ticket: Ticket | None
) -> OffsetFetchResponseGroup:
    topics = node.cluster.topics
    if asked.topics is None:
        answer = _fetch(node, asked, None, request, ticket)
        for answered in answer.topics:
            there = topics.by_name(answered.name)
            answered.topic_id = None if there is None else there.topic_id
        answer.topics = tuple(answered for answered in answer.topics if answered.topic_id is not None)
        return answer
    named = []
    for wanted in asked.topics:
        there = topics.by_id(wanted.topic_id)
        if there is not None:
            named.append(
                OffsetFetchRequestTopic(
                    name=there.name, topic_id=there.topic_id, partition_indexes=wanted.partition_indexes
                )
            )
    answer = _fetch(node, asked, tuple(named), request, ticket)
    if answer.error_code is ErrorCode.none:
        unknown = (_refusal(w, ErrorCode.unknown_topic_id) for w in asked.topics if topics.by_id(w.topic_id) is None)
        answer.topics = (*answer.topics, *unknown)
    return answer


def _fetch(
    node: Node,
    asked: OffsetFetchRequestGroup,
    topics: tuple[OffsetFetchRequestTopic, ...] | None,
    request: OffsetFetchRequest,
    ticket: Ticket | None,
) -> OffsetFetchResponseGroup:
    access = node.cluster.access
    if access is not None:
        assert ticket is not None, "or else nobody knows who asks"
        return _fetch_allowed(node, access, asked, topics, request, ticket)
    return offset_fetch(
        node.coordinator,
        asked.group_id,
        topics,
        require_stable=request.require_stable,
        member_id=asked.member_id,
        member_epoch=asked.member_epoch,
    )


def _fetch_allowed(
    node: Node,
    access: Access,
    asked: OffsetFetchRequestGroup,
    topics: tuple[OffsetFetchRequestTopic, ...] | None,
    request: OffsetFetchRequest,
    ticket: Ticket,
) -> OffsetFetchResponseGroup:
    """As `_fetch`. Of all topics those are left out that one may not see; those that were named are refused."""
    group_id = asked.group_id
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
        member_id=asked.member_id,
        member_epoch=asked.member_epoch,
    )
    if topics is None:
        answer.topics = tuple(each for each in answer.topics if access.shows(ticket, DESCRIBE_TOPIC, each.name))
    elif answer.error_code is ErrorCode.none:
        answer.topics = (*answer.topics, *refused)
    return answer


def _refusal(asked: OffsetFetchRequestTopic, error: ErrorCode) -> OffsetFetchResponseTopic:
    return OffsetFetchResponseTopic(
        name=asked.name,
        topic_id=asked.topic_id,
        partitions=tuple(
            OffsetFetchResponsePartition(
                partition_index=partition, committed_offset=-1, committed_leader_epoch=-1, metadata="", error_code=error
            )
            for partition in asked.partition_indexes
        ),
    )


def _on_each_partition(asked: OffsetFetchRequestGroup, error: ErrorCode) -> OffsetFetchResponseGroup:
    """Version 1 has no other place for an error (KAFKA-19246)."""
    topics = tuple(_refusal(topic, error) for topic in asked.topics or ())
    return OffsetFetchResponseGroup(group_id=asked.group_id, topics=topics, error_code=ErrorCode.none)


def error_response(request: OffsetFetchRequest, error_code: ErrorCode) -> OffsetFetchResponse:
    """What a request hears that failed here."""
    return OffsetFetchResponse(
        groups=tuple(
            OffsetFetchResponseGroup(group_id=asked.group_id, topics=(), error_code=error_code)
            for asked in request.groups
        )
    )
