"""ConsumerGroupDescribe (key 69), versions 0-1: consumer groups with their members (KIP-848).

v1: whether a member uses the classic or the consumer protocol (KIP-1099).
"""

from functools import partial

from kohort.broker.apis.described_groups import described_groups
from kohort.broker.cluster.node import Node
from kohort.broker.scheduling.cooperative import Task
from kohort.broker.ticket import Ticket
from kohort.coordinator.consumer.checks import is_served
from kohort.coordinator.groups.group import CONSUMER
from kohort.coordinator.modern.modern_describing import describe
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)


def handle(node: Node, request: ConsumerGroupDescribeRequest, ticket: Ticket) -> Task[ConsumerGroupDescribeResponse]:
    """Describe groups in Kafka's order. A duplicate id is described twice."""
    if not is_served(node.coordinator.settings):
        return error_response(request, ErrorCode.unsupported_version)
    groups = yield from described_groups(
        node,
        ticket,
        request.group_ids,
        partial(describe, node.coordinator, CONSUMER, DescribedGroup),
        DescribedGroup,
        _topics_of,
        hidden_topics=_HIDDEN_TOPICS,
        with_operations=request.include_authorized_operations,
    )
    return ConsumerGroupDescribeResponse(groups=groups)


_HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."


def _topics_of(group: DescribedGroup) -> set[str]:
    """Return the topics in assignments and target assignments."""
    return {
        partitions.topic_name
        for member in group.members
        for assignment in (member.assignment, member.target_assignment)
        for partitions in assignment.topic_partitions
    }


def error_response(request: ConsumerGroupDescribeRequest, error_code: ErrorCode) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(
        groups=tuple(DescribedGroup(error_code=error_code, group_id=group_id) for group_id in request.group_ids)
    )
