"""AlterClientQuotas (key 49), versions 0 and 1.

v0 (KIP-546) · v1 tagged fields.

kohort slows nobody down, so it keeps no quotas: one that is to be set is refused, after Kafka's checks. To remove what
is not there is no mistake, as in Kafka.
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
KEYS = {USER: RATES, CLIENT_ID: RATES, IP: frozenset({"connection_creation_rate"})}
"""What may be set for each type."""

_NOT_KEPT = "kohort keeps no quotas: it slows nobody down"


def handle(node: Node, request: AlterClientQuotasRequest, ticket: Ticket) -> Task[AlterClientQuotasResponse]:
    """An answer for each entry. Source, also of the order: Kafka's `ClientQuotaControlManager`."""
    access = node.cluster.access
    if access is not None and not access.allows_on_cluster(ticket, ALTER_CONFIGS_CLUSTER):
        error, message = ErrorCode.cluster_authorization_failed, "Cluster authorization failed."
        refused = (
            EntryResponse(error_code=error, error_message=message, entity=each.entity) for each in request.entries
        )
        return AlterClientQuotasResponse(entries=tuple(refused))
    return AlterClientQuotasResponse(entries=(yield from one_by_one(_answer, request.entries)))


def _answer(entry: EntryRequest) -> EntryResponse:
    problem = _problem(entry)
    error = ErrorCode.none if problem is None else ErrorCode.invalid_request
    return EntryResponse(error_code=error, error_message=problem, entity=entry.entity)


def _problem(entry: EntryRequest) -> str | None:
    types = [each.entity_type for each in entry.entity]
    unknown = next((each for each in types if each not in KEYS), None)
    if unknown is not None:
        return f"Unhandled client quota entity type: {unknown}"
    empty = next((each.entity_type for each in entry.entity if each.entity_name == ""), None)
    if empty is not None:
        return f"Empty {empty} not supported"
    if not types or (IP in types and len(types) > 1):
        return "Invalid empty client quota entity"
    to_set = [op.key for op in entry.ops if not op.remove]
    wrong = next((key for key in to_set if key not in KEYS[types[0]]), None)
    if wrong is not None:
        return f"Invalid configuration key {wrong}"
    return _NOT_KEPT if to_set else None
