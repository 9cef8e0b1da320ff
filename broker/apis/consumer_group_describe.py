"""ConsumerGroupDescribe (key 69), versions 0-1: consumer groups with their members (KIP-848).

v1: whether a member speaks the classic or the consumer protocol (KIP-1099).

Left out on purpose: authorization.
"""

from kohort.broker.apis.describe_groups import ALL_OPERATIONS
from kohort.broker.cluster.node import Node
from kohort.broker.slices import Slices, one_by_one
from kohort.broker.ticket import Ticket
from kohort.coordinator.consumer.checks import is_served
from kohort.coordinator.consumer.consumer_describing import describe_consumer_group
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)


def handle(node: Node, request: ConsumerGroupDescribeRequest, ticket: Ticket) -> Slices[ConsumerGroupDescribeResponse]:
    """Always answered at once. A group that is named twice is described twice."""
    if not is_served(node.coordinator.settings):
        return error_response(request, ErrorCode.unsupported_version)

    def described(group_id: str) -> DescribedGroup:
        group = describe_consumer_group(node.coordinator, group_id)
        if request.include_authorized_operations and group.error_code is ErrorCode.none:
            group.authorized_operations = ALL_OPERATIONS
        return group

    return ConsumerGroupDescribeResponse(groups=(yield from one_by_one(described, request.group_ids)))


def error_response(request: ConsumerGroupDescribeRequest, error_code: ErrorCode) -> ConsumerGroupDescribeResponse:
    """What a request hears that failed here, or that is not served."""
    return ConsumerGroupDescribeResponse(
        groups=tuple(DescribedGroup(error_code=error_code, group_id=group_id) for group_id in request.group_ids)
    )
