"""StreamsGroupDescribe (key 89), version 0: streams groups with their topologies and members (KIP-1071)."""

from kohort.broker.apis.authorized_operations import operations
from kohort.broker.apis.streams_gate import serves_streams_groups
from kohort.broker.cluster.node import Node
from kohort.broker.scheduling.cooperative import Task, once_each
from kohort.broker.ticket import Ticket
from kohort.coordinator.describing import as_answered
from kohort.coordinator.streams.streams_describing import describe_streams_group
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.streams_group_describe import (
    DescribedGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)
from kohort.security.acls import ResourceType
from kohort.security.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC


def handle(node: Node, request: StreamsGroupDescribeRequest, ticket: Ticket) -> Task[StreamsGroupDescribeResponse]:
    """Always answered at once. A group that is named twice is described twice."""
    if not serves_streams_groups(node):
        return error_response(request, ErrorCode.unsupported_version)
    nameless = [group_id for group_id in request.group_ids if not group_id]
    named = as_answered(node.coordinator, (group_id for group_id in request.group_ids if group_id))
    groups = yield from once_each(lambda group_id: _describe(node, group_id, request, ticket), [*nameless, *named])
    if node.cluster.access is not None:  # Kafka refuses first, and then asks the coordinator about the others
        groups = tuple(sorted(groups, key=lambda each: each.error_code is not ErrorCode.group_authorization_failed))
    return StreamsGroupDescribeResponse(groups=groups)


def _describe(node: Node, group_id: str, request: StreamsGroupDescribeRequest, ticket: Ticket) -> DescribedGroup:
    access = node.cluster.access
    if access is not None and not access.allows(ticket, DESCRIBE_GROUP, group_id):
        return DescribedGroup(error_code=ErrorCode.group_authorization_failed, group_id=group_id)
    group = describe_streams_group(node.coordinator, group_id)
    if group.error_code is not ErrorCode.none:
        return group
    if access is not None and not all(access.allows(ticket, DESCRIBE_TOPIC, name) for name in _topics_of(group)):
        refusal = ErrorCode.topic_authorization_failed
        return DescribedGroup(error_code=refusal, error_message=_HIDDEN_TOPICS, group_id=group_id)
    if request.include_authorized_operations:
        group.authorized_operations = operations(node, ticket, ResourceType.GROUP, group_id)
    return group


_HIDDEN_TOPICS = "The described group uses topics that the client is not authorized to describe."


def _topics_of(group: DescribedGroup) -> set[str]:
    """Those of its topology."""
    subtopologies = (group.topology.subtopologies or ()) if group.topology is not None else ()
    return {
        name
        for each in subtopologies
        for name in (
            *each.source_topics,
            *each.repartition_sink_topics,
            *(topic.name for topic in each.repartition_source_topics),
            *(topic.name for topic in each.state_changelog_topics),
        )
    }


def error_response(request: StreamsGroupDescribeRequest, error_code: ErrorCode) -> StreamsGroupDescribeResponse:
    """What a request hears that failed here, or that is not served."""
    return StreamsGroupDescribeResponse(
        groups=tuple(DescribedGroup(error_code=error_code, group_id=group_id) for group_id in request.group_ids)
    )
