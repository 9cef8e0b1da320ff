"""ConsumerGroupDescribe (key 69), versions 0-1: consumer groups with their members (KIP-848).

v1: whether a member speaks the classic or the consumer protocol (KIP-1099).
"""

from kohort.broker.apis.authorized_operations import operations
from kohort.broker.cluster.node import Node
from kohort.broker.scheduling.cooperative import Task, once_each
from kohort.broker.ticket import Ticket
from kohort.coordinator.consumer.checks import is_served
from kohort.coordinator.consumer.consumer_describing import describe_consumer_group
from kohort.coordinator.describing import as_answered
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from kohort.security.acls import ResourceType
from kohort.security.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC


def handle(node: Node, request: ConsumerGroupDescribeRequest, ticket: Ticket) -> Task[ConsumerGroupDescribeResponse]:
    """Always answered at once, in Kafka's order. A group that is named twice is described twice."""
    if not is_served(node.coordinator.settings):
        return error_response(request, ErrorCode.unsupported_version)

    access = node.cluster.access

    def described(group_id: str) -> DescribedGroup:
        if access is not None and not access.allows(ticket, DESCRIBE_GROUP, group_id):
            return DescribedGroup(error_code=ErrorCode.group_authorization_failed, group_id=group_id)
        group = describe_consumer_group(node.coordinator, group_id)
        if group.error_code is not ErrorCode.none:
            return group
        if access is not None and not all(access.allows(ticket, DESCRIBE_TOPIC, name) for name in _topics_of(group)):
            return DescribedGroup(
                error_code=ErrorCode.topic_authorization_failed, error_message=_HIDDEN_TOPICS, group_id=group_id
            )
        if request.include_authorized_operations:
            group.authorized_operations = operations(node, ticket, ResourceType.GROUP, group_id)
        return group

    nameless = [group_id for group_id in request.group_ids if not group_id]
    named = as_answered(node.coordinator, (group_id for group_id in request.group_ids if group_id))
    groups = yield from once_each(described, [*nameless, *named])
    if access is not None:  # Kafka refuses first, and then asks the coordinator about the others
        groups = tuple(sorted(groups, key=lambda each: each.error_code is not ErrorCode.group_authorization_failed))
    return ConsumerGroupDescribeResponse(groups=groups)


_HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."


def _topics_of(group: DescribedGroup) -> set[str]:
    """Those that members have or are to have."""
    return {
        each.topic_name
        for member in group.members
        for assignment in (member.assignment, member.target_assignment)
        for each in assignment.topic_partitions
    }


def error_response(request: ConsumerGroupDescribeRequest, error_code: ErrorCode) -> ConsumerGroupDescribeResponse:
    """What a request hears that failed here, or that is not served."""
    return ConsumerGroupDescribeResponse(
        groups=tuple(DescribedGroup(error_code=error_code, group_id=group_id) for group_id in request.group_ids)
    )
