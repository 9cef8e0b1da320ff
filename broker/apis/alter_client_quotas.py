"""AlterClientQuotas (key 49), versions 0 and 1.

v0 (KIP-546) · v1 tagged fields.

kohort throttles no client and stores no quotas: setting one is rejected, after Kafka's checks. Removing a missing quota
succeeds, as in Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.apis.quota_entities import CLIENT_ID, IP, USER
from kohort.broker.scheduling.cooperative import Task, one_by_one
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntryRequest,
    EntryResponse,
)
from kohort.security.rights import ALTER_CONFIGS_CLUSTER

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket

RATES = frozenset({"producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"})
KEYS = {USER: RATES, CLIENT_ID: RATES, IP: frozenset({"connection_creation_rate"})}  # quota keys of each entity type

_NOT_KEPT = "kohort does not support client quotas"


def handle(node: Node, request: AlterClientQuotasRequest, ticket: Ticket) -> Task[AlterClientQuotasResponse]:
    """Return a result for each entry. Source, also of the order: Kafka's `ClientQuotaControlManager`."""
    access = node.cluster.access
    if access is not None and not access.allows_on_cluster(ticket, ALTER_CONFIGS_CLUSTER):
        error, message = ErrorCode.cluster_authorization_failed, "Cluster authorization failed."
        refused = (
            EntryResponse(error_code=error, error_message=message, entity=entry.entity) for entry in request.entries
        )
        return AlterClientQuotasResponse(entries=tuple(refused))
    return AlterClientQuotasResponse(entries=(yield from one_by_one(_answer, request.entries)))


def _answer(entry: EntryRequest) -> EntryResponse:
    message = _error_message(entry)
    error = ErrorCode.none if message is None else ErrorCode.invalid_request
    return EntryResponse(error_code=error, error_message=message, entity=entry.entity)


def _error_message(entry: EntryRequest) -> str | None:
    types = [component.entity_type for component in entry.entity]
    unknown = next((component for component in types if component not in KEYS), None)
    if unknown is not None:
        return f"Unhandled client quota entity type: {unknown}"
    empty = next((component.entity_type for component in entry.entity if component.entity_name == ""), None)
    if empty is not None:
        return f"Empty {empty} not supported"
    if not types or (IP in types and len(types) > 1):
        return "Invalid empty client quota entity"
    to_set = [op.key for op in entry.ops if not op.remove]
    wrong = next((key for key in to_set if key not in KEYS[types[0]]), None)
    if wrong is not None:
        return f"Invalid configuration key {wrong}"
    return _NOT_KEPT if to_set else None
