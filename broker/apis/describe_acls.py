"""DescribeAcls (key 29), versions 1 to 3.

v1 (KIP-290) patterns · v2 tagged fields · v3 users as resources (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.apis.acl_requests import needs_permission, read_filter
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from kohort.security.rights import DESCRIBE_CLUSTER

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket
    from kohort.security.acls import AclBinding


def handle(node: Node, request: DescribeAclsRequest, ticket: Ticket) -> Task[DescribeAclsResponse]:
    access = node.cluster.access
    if access is None or not access.keeps_acls:
        return _refused(ErrorCode.security_disabled, "No Authorizer is configured on the broker")
    if not access.allows_on_cluster(ticket, DESCRIBE_CLUSTER):
        return _refused(ErrorCode.cluster_authorization_failed, needs_permission(ticket, DESCRIBE_CLUSTER))
    acl_filter = read_filter(request)
    by_resource: dict[tuple[int, int, str], list[AclBinding]] = {}
    for acl in list(access.authorizer.acls):
        if acl_filter.matches(acl):
            by_resource.setdefault(acl[:3], []).append(acl)
        yield
    resources = []
    for (resource_type, pattern_type, name), acls in by_resource.items():
        resources.append(
            DescribeAclsResource(
                resource_type=resource_type, resource_name=name, pattern_type=pattern_type, acls=_described(acls)
            )
        )
        yield
    return DescribeAclsResponse(error_code=ErrorCode.none, error_message="", resources=tuple(resources))


def _described(acls: list[AclBinding]) -> tuple[AclDescription, ...]:
    return tuple(
        AclDescription(principal=acl.principal, host=acl.host, operation=acl.operation, permission_type=acl.permission)
        for acl in acls
    )


def _refused(error_code: ErrorCode, message: str | None) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_code=error_code, error_message=message, resources=())


def error_response(request: DescribeAclsRequest, error_code: ErrorCode) -> DescribeAclsResponse:
    return _refused(error_code, None)
