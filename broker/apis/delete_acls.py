"""DeleteAcls (key 31), versions 1 to 3.

v1 (KIP-290) patterns · v2 tagged fields · v3 users as resources (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.apis.acl_requests import MAX_RECORDS_PER_USER_OP, needs_permission, read_filter
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from kohort.security.rights import ALTER_CLUSTER

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket
    from kohort.security.acls import AclBinding, AclFilter


def handle(node: Node, request: DeleteAclsRequest, ticket: Ticket) -> Task[DeleteAclsResponse]:
    """Delete the ACLs that match the filters. An ACL that matches two filters is in the results of both."""
    access = node.cluster.access
    if access is None or not access.keeps_acls:
        return _refused(request, ErrorCode.security_disabled, "No Authorizer is configured.")
    if not access.allows_on_cluster(ticket, ALTER_CLUSTER):
        return _refused(request, ErrorCode.cluster_authorization_failed, needs_permission(ticket, ALTER_CLUSTER))
    results: list[DeleteAclsFilterResult] = []
    deleted: list[AclBinding] = []
    existing = list(access.authorizer.acls)
    for acl_filter in map(read_filter, request.filters):
        message = _error_message(acl_filter)
        if message is not None:
            results.append(_failed(ErrorCode.invalid_request, message))
            continue
        acls = []
        for acl in existing:
            if acl_filter.matches(acl):
                acls.append(acl)
            yield
        if len(deleted) + len(acls) > MAX_RECORDS_PER_USER_OP:
            results.append(_failed(ErrorCode.unknown_server_error, None))
            continue
        deleted += acls
        results.append(DeleteAclsFilterResult(error_code=ErrorCode.none, matching_acls=tuple(map(_deleted, acls))))
        yield
    access.remove(
        acl for acl in deleted if acl in access.authorizer.acls
    )  # other requests may have deleted some meanwhile
    return DeleteAclsResponse(filter_results=tuple(results))


def _error_message(acl_filter: AclFilter) -> str | None:
    """Return Kafka's error message, or None. Source: `AclControlManager.validateFilter`."""
    if 0 in (acl_filter.resource_type, acl_filter.pattern_type):
        return "Unknown patternFilter."
    return "Unknown entryFilter." if 0 in (acl_filter.operation, acl_filter.permission) else None


def _deleted(acl: AclBinding) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        error_code=ErrorCode.none,
        resource_type=acl.resource_type,
        resource_name=acl.name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )


def _failed(error_code: ErrorCode, message: str | None) -> DeleteAclsFilterResult:
    return DeleteAclsFilterResult(error_code=error_code, error_message=message, matching_acls=())


def _refused(request: DeleteAclsRequest, error_code: ErrorCode, message: str | None) -> DeleteAclsResponse:
    return DeleteAclsResponse(filter_results=(_failed(error_code, message),) * len(request.filters))


def error_response(request: DeleteAclsRequest, error_code: ErrorCode) -> DeleteAclsResponse:
    return _refused(request, error_code, None)
