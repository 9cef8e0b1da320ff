"""ShareGroupDescribe (key 77), version 1: share groups with their members (KIP-932)."""

from functools import partial

from kohort.broker.apis.described_groups import described_groups
from kohort.broker.cluster.node import Node
from kohort.broker.scheduling.cooperative import Task
from kohort.broker.ticket import Ticket
from kohort.coordinator.groups.group import SHARE
from kohort.coordinator.modern.modern_describing import describe
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)


def handle(node: Node, request: ShareGroupDescribeRequest, ticket: Ticket) -> Task[ShareGroupDescribeResponse]:
    """Describe groups in Kafka's order. A duplicate id is described twice."""
    if not node.cluster.features.serves_share_groups:
        return error_response(request, ErrorCode.unsupported_version)
    groups = yield from described_groups(
        node,
        ticket,
        request.group_ids,
        partial(describe, node.coordinator, SHARE, DescribedGroup),
        DescribedGroup,
        _topics_of,
        hidden_topics=_HIDDEN_TOPICS,
        with_operations=request.include_authorized_operations,
    )
    return ShareGroupDescribeResponse(groups=groups)


_HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."


def _topics_of(group: DescribedGroup) -> set[str]:
    return {partitions.topic_name for member in group.members for partitions in member.assignment.topic_partitions}


def error_response(request: ShareGroupDescribeRequest, error_code: ErrorCode) -> ShareGroupDescribeResponse:
    return ShareGroupDescribeResponse(
        groups=tuple(DescribedGroup(error_code=error_code, group_id=group_id) for group_id in request.group_ids)
    )
