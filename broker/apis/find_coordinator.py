"""FindCoordinator (key 10): finds the coordinator of groups, transactional ids and share partitions.

v0
v1  key types; an error message; throttle time
v3  flexible
v4  KIP-699: several keys
v5  a new error of transactions, which is not used here
v6  KIP-932: keys of share partitions

The first request creates `__consumer_offsets` or `__transaction_state`, and returns COORDINATOR_NOT_AVAILABLE until the
topic exists. `__share_group_state` is created before the response, because only brokers request it, and these are one
process here.
Source: classic-groups §1.2; the group id is not checked, even "" has a coordinator.
"""

from typing import Any

from kohort.broker.cluster.coordinated_topic import CoordinatedTopic
from kohort.broker.cluster.node import Node
from kohort.broker.scheduling.cooperative import Task, one_by_one
from kohort.broker.ticket import Ticket
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from kohort.security.rights import CLUSTER_ACTION, DESCRIBE_GROUP, DESCRIBE_TRANSACTIONAL_ID

GROUP, TRANSACTION, SHARE = 0, 1, 2
SHARE_KEYS_FROM = 6

_MESSAGES = {
    ErrorCode.none: "NONE",
    ErrorCode.coordinator_not_available: "The coordinator is not available.",
    ErrorCode.group_authorization_failed: "Group authorization failed.",
    ErrorCode.transactional_id_authorization_failed: "Transactional Id authorization failed.",
    ErrorCode.cluster_authorization_failed: "Cluster authorization failed.",
    ErrorCode.invalid_request: (
        "This most likely occurs because of a request being malformed by the client library or the message was sent to "
        "an incompatible broker. See the broker logs for more details."
    ),
    ErrorCode.illegal_sasl_state: "Request is not valid given the current SASL state.",
}  # messages of Kafka 4.3.0 up to v3; from v4 on they are empty, unless the key type is wrong


_NEEDED = {GROUP: DESCRIBE_GROUP, TRANSACTION: DESCRIBE_TRANSACTIONAL_ID}
_NOT_ALLOWED = {
    GROUP: ErrorCode.group_authorization_failed,
    TRANSACTION: ErrorCode.transactional_id_authorization_failed,
}


def handle(node: Node, request: FindCoordinatorRequest, ticket: Ticket) -> Task[FindCoordinatorResponse]:
    """Return one coordinator for each key, in the order of the keys."""
    access = node.cluster.access
    if access is not None and request.key_type == SHARE and not access.allows_on_cluster(ticket, CLUSTER_ACTION):
        refused = (_none(key, ErrorCode.cluster_authorization_failed, ticket) for key in request.coordinator_keys)
        return FindCoordinatorResponse(coordinators=tuple(map(_with_message, refused)))
    coordinators = yield from one_by_one(
        lambda key: _coordinator(node, key, request.key_type, ticket), request.coordinator_keys
    )
    return FindCoordinatorResponse(coordinators=coordinators)


def error_response(request: FindCoordinatorRequest, error_code: ErrorCode) -> FindCoordinatorResponse:
    message = _MESSAGES.get(error_code)
    return FindCoordinatorResponse(
        coordinators=tuple(
            Coordinator(key=key, node_id=-1, host="", port=-1, error_code=error_code, error_message=message)
            for key in request.coordinator_keys
        )
    )


def _coordinator(node: Node, key: str, key_type: int, ticket: Ticket) -> Coordinator:
    if key_type in (GROUP, TRANSACTION):
        access = node.cluster.access
        if access is not None and not access.allows(ticket, _NEEDED[key_type], key):
            return _none(key, _NOT_ALLOWED[key_type], ticket)
        topic = node.cluster.offsets_topic if key_type == GROUP else node.cluster.transaction_topic
        return _leader(node, topic, key, key, ticket)
    if key_type == SHARE:
        return _share_coordinator(node, key, ticket)
    return _with_message(_none(key, ErrorCode.invalid_request, ticket))


def _share_coordinator(node: Node, key: str, ticket: Ticket) -> Coordinator:
    from kohort.coordinator.share_state.share_partition_key import read_key  # loaded when first needed

    share_partition = read_key(key) if ticket.version >= SHARE_KEYS_FROM else None
    if share_partition is None:
        return _none(key, ErrorCode.invalid_request, ticket)
    topic = node.cluster.share_state_topic
    topic.create(ticket.received_at_ms)
    return _leader(node, topic, key, share_partition.text, ticket)


def _leader(node: Node, topic: CoordinatedTopic[Any], key: str, hashed: str, ticket: Ticket) -> Coordinator:
    """Return the node that leads the partition of `hashed`."""
    home = topic.home_of(hashed)
    leader = None if home is None else node.cluster.node(home)
    if leader is None:
        topic.schedule_creation(ticket.received_at_ms)
        return _none(key, ErrorCode.coordinator_not_available, ticket)
    host, port = leader.address_for(ticket)
    return Coordinator(
        key=key,
        node_id=leader.id,
        host=host,
        port=port,
        error_code=ErrorCode.none,
        error_message=_message(ErrorCode.none, ticket),
    )


def _with_message(refusal: Coordinator) -> Coordinator:
    refusal.error_message = _MESSAGES[refusal.error_code]
    return refusal


def _none(key: str, error_code: ErrorCode, ticket: Ticket) -> Coordinator:
    message = _message(error_code, ticket)
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=error_code, error_message=message)


def _message(error_code: ErrorCode, ticket: Ticket) -> str:
    return _MESSAGES[error_code] if ticket.version < 4 else ""
