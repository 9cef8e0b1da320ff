"""DescribeClientQuotas (key 48), versions 0 and 1 (KIP-546). kohort has no quotas, so no entries are returned.

v1 flexible. AlterClientQuotas (49) rejects new quotas. `kafka-configs --entity-type users --describe` requests both
quotas and SCRAM credentials. The order of the checks was not compared with a real broker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.apis.quota_entities import CLIENT_ID, IP, USER
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest, DescribeClientQuotasResponse
from kohort.security.rights import DESCRIBE_CONFIGS_CLUSTER

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket

EXACT, DEFAULT, ANY = 0, 1, 2  # types of matches


def handle(node: Node, request: DescribeClientQuotasRequest, ticket: Ticket) -> DescribeClientQuotasResponse:
    """Return no entries, or the error for an invalid filter."""
    access = node.cluster.access
    if access is not None and not access.allows_on_cluster(ticket, DESCRIBE_CONFIGS_CLUSTER):
        return DescribeClientQuotasResponse(error_code=ErrorCode.cluster_authorization_failed)
    entity_types: set[str] = set()
    for component in request.components:
        kind = component.entity_type
        if not kind:
            return _refused(ErrorCode.invalid_request, "Invalid empty entity type.")
        if kind in entity_types:
            return _refused(
                ErrorCode.invalid_request, f"Entity type {kind} cannot appear more than once in the filter."
            )
        if kind not in (USER, CLIENT_ID, IP):
            return _refused(ErrorCode.unsupported_version, f"Custom entity type '{kind}' not supported")
        if component.match_type not in (EXACT, DEFAULT, ANY):
            return _refused(ErrorCode.invalid_request, f"Unknown match type {component.match_type}")
        if component.match_type == EXACT and component.match is None:
            return _refused(
                ErrorCode.invalid_request, "Request specified MATCH_TYPE_EXACT, but set match string to null."
            )
        entity_types.add(kind)
    if IP in entity_types and len(entity_types) > 1:
        return _refused(ErrorCode.invalid_request, "Invalid entity filter component combination.")
    return DescribeClientQuotasResponse(error_code=ErrorCode.none, entries=())


def _refused(error_code: ErrorCode, message: str) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(error_code=error_code, error_message=message)
