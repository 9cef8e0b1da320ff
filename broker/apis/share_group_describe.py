"""ShareGroupDescribe (key 77), version 1: share groups with their members (KIP-932)."""

from kohort.broker.apis.authorized_operations import operations
from kohort.broker.cluster.node import Node
from kohort.broker.scheduling.cooperative import Task, once_each
from kohort.broker.ticket import Ticket
from kohort.coordinator.describing import as_answered
from kohort.coordinator.share.share_describing import describe_share_group
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from kohort.security.acls import ResourceType
from kohort.security.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC


def handle(node: Node, request: ShareGroupDescribeRequest, ticket: Ticket) -> Task[ShareGroupDescribeResponse]:
    """Always answered at once. A group that is named twice is described twice."""
    if not node.cluster.features.serves_share_groups:
        return error_response(request, ErrorCode.unsupported_version)
    nameless = [group_id for group_id in request.group_ids if not group_id]
    named = as_answered(node.coordinator, (group_id for group_id in request.group_ids if group_id))
    groups = yield from once_each(lambda group_id: _describe(node, group_id, request, ticket), [*nameless, *named])
    if node.cluster.access is not None:  # Kafka refuses first, and then asks the coordinator about the others
        groups = tuple(sorted(groups, key=lambda each: each.error_code is not ErrorCode.group_authorization_failed))
    return ShareGroupDescribeResponse(groups=groups)


def _describe(node: Node, group_id: str, request: ShareGroupDescribeRequest, ticket: Ticket) -> DescribedGroup:
    access = node.cluster.access
    if access is not None and not access.allows(ticket, DESCRIBE_GROUP, group_id):
        return DescribedGroup(error_code=ErrorCode.group_authorization_failed, group_id=group_id)
    group = describe_share_group(node.coordinator, group_id)
    if group.error_code is not ErrorCode.none:
        return group
    if access is not None and not all(access.allows(ticket, DESCRIBE_TOPIC, name) for name in _topics_of(group)):
        refusal = ErrorCode.topic_authorization_failed
        return DescribedGroup(error_code=refusal, error_message=_HIDDEN_TOPICS, group_id=group_id)
    if request.include_authorized_operations:
        group.authorized_operations = operations(node, ticket, ResourceType.GROUP, group_id)
    return group


_HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."


def _topics_of(group: DescribedGroup) -> set[str]:
    """Those that members have."""
    return {each.topic_name for member in group.members for each in member.assignment.topic_partitions}


def error_response(request: ShareGroupDescribeRequest, error_code: ErrorCode) -> ShareGroupDescribeResponse:
    """What a request hears that failed here, or that is not served."""
    return ShareGroupDescribeResponse(
        groups=tuple(DescribedGroup(error_code=error_code, group_id=group_id) for group_id in request.group_ids)
    )
