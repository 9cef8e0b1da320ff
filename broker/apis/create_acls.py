"""CreateAcls (key 30), versions 1 to 3.

v1 (KIP-290) patterns · v2 tagged fields · v3 users as resources (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.apis.acl_requests import MAX_RECORDS_PER_USER_OP, needs_permission
from kohort.broker.ticket import CloseConnection
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from kohort.security.acls import (
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    known_or_unknown,
)
from kohort.security.principal import PrincipalError, parse_principal
from kohort.security.rights import ALTER_CLUSTER

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket

_OK = AclCreationResult(error_code=ErrorCode.none, error_message="")


def handle(node: Node, request: CreateAclsRequest, ticket: Ticket) -> Task[CreateAclsResponse]:
    """Create ACLs independently of each other.

    Raises:
        CloseConnection: A code is unknown, as in Kafka.
    """
    acls = []
    for creation in request.creations:
        acls.append(_read(creation))
        yield
    access = node.cluster.access
    if access is None or not access.keeps_acls:
        return _refused(request, ErrorCode.security_disabled, "No Authorizer is configured.")
    if not access.allows_on_cluster(ticket, ALTER_CLUSTER):
        return _refused(request, ErrorCode.cluster_authorization_failed, needs_permission(ticket, ALTER_CLUSTER))
    if any(_is_for_filters(acl) for acl in acls):
        return error_response(request, ErrorCode.unknown_server_error)  # Kafka fails the whole request
    if len(acls) > MAX_RECORDS_PER_USER_OP:
        too_much = "Unable to perform excessively large batch operation."
        return _refused(request, ErrorCode.policy_violation, too_much)
    messages = [_error_message(acl) for acl in acls]
    yield
    access.add(acl for acl, message in zip(acls, messages, strict=True) if message is None)
    return CreateAclsResponse(
        results=tuple(
            _OK if message is None else AclCreationResult(error_code=ErrorCode.invalid_request, error_message=message)
            for message in messages
        )
    )


def _read(creation: AclCreation) -> AclBinding:
    acl = AclBinding(
        known_or_unknown(ResourceType, creation.resource_type),
        known_or_unknown(PatternType, creation.resource_pattern_type),
        creation.resource_name,
        creation.principal,
        creation.host,
        known_or_unknown(Operation, creation.operation),
        known_or_unknown(Permission, creation.permission_type),
    )
    if 0 in (acl.resource_type, acl.pattern_type, acl.operation, acl.permission):
        raise CloseConnection("CreateAcls request with an unknown code")
    return acl


def _is_for_filters(acl: AclBinding) -> bool:
    return (
        acl.resource_type == ResourceType.ANY
        or acl.pattern_type in (PatternType.ANY, PatternType.MATCH)
        or acl.operation == Operation.ANY
        or acl.permission == Permission.ANY
    )


def _error_message(acl: AclBinding) -> str | None:
    """Return Kafka's error message, or None (checks of `AclApis`, then of the controller)."""
    if acl.resource_type == ResourceType.CLUSTER and acl.name != CLUSTER_NAME:
        return f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    if not acl.name:
        return "Invalid empty resource name"
    try:
        parse_principal(acl.principal)
    except PrincipalError as error:
        return str(error)
    return None


def _refused(request: CreateAclsRequest, error_code: ErrorCode, message: str | None) -> CreateAclsResponse:
    result = AclCreationResult(error_code=error_code, error_message=message)
    return CreateAclsResponse(results=(result,) * len(request.creations))


def error_response(request: CreateAclsRequest, error_code: ErrorCode) -> CreateAclsResponse:
    return _refused(request, error_code, None)
