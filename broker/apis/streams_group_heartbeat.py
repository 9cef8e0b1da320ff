"""StreamsGroupHeartbeat (key 88), versions 0 and 1: join, stay in and leave a streams group (KIP-1071).

Not supported, as in Kafka: warm-up tasks, patterns of source topics; before 4.4 also static members and task offsets.
"""

from functools import partial

from kohort.broker.apis.streams_gate import serves_streams_groups
from kohort.broker.cluster.node import Node
from kohort.broker.scheduling.cooperative import Task
from kohort.broker.ticket import Ticket
from kohort.coordinator.modern.epoch_heartbeat import MakesTopics, Sender, make_no_topics
from kohort.coordinator.modern.group_refusals import Refusal
from kohort.coordinator.streams.streams_heartbeating import NOTHING_PREPARED, refused, streams_group_heartbeat
from kohort.coordinator.streams.streams_preparing import large_topology, preparing
from kohort.coordinator.streams.streams_requests import reading_topology
from kohort.coordinator.streams.streams_topologies import Prepared
from kohort.coordinator.streams.streams_values import TopicInfo, Topology
from kohort.coordinator.streams.topology import InvalidTopology, check_topology
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from kohort.protocol.messages.streams_group_heartbeat import Topology as TopologyMessage
from kohort.security.acls import CLUSTER_NAME
from kohort.security.rights import CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_TOPIC, READ_GROUP
from kohort.storage.topic_names import name_refusal

DESCRIPTIONS_SINCE = 1  # version whose response can request a description of the topology

FAILURES_KEPT_FOR = 2  # number of heartbeat intervals for which a failure to create an internal topic is stored


def handle(
    node: Node, request: StreamsGroupHeartbeatRequest, ticket: Ticket
) -> StreamsGroupHeartbeatResponse | Task[StreamsGroupHeartbeatResponse | None] | None:
    """Handle a heartbeat. If it changes the group, the response is sent when the change is written.

    Large topologies are processed in slices.
    """
    if not serves_streams_groups(node):
        return error_response(request, ErrorCode.unsupported_version)
    access = node.cluster.access
    if access is not None and not access.allows(ticket, READ_GROUP, request.group_id):
        return error_response(request, ErrorCode.group_authorization_failed)
    if request.topology is not None:
        return _with_topology(node, request, request.topology, ticket)
    if large_topology(node.coordinator, request.group_id, None) is not None:
        return _prepared(node, request, None, ticket)
    return _beat(node, request, NOTHING_PREPARED, ticket)


def _with_topology(
    node: Node, request: StreamsGroupHeartbeatRequest, message: TopologyMessage, ticket: Ticket
) -> Task[StreamsGroupHeartbeatResponse | None]:
    topology = yield from reading_topology(message)
    try:
        names = yield from check_topology(topology, name_refusal)
    except InvalidTopology as error:
        return refused(Refusal(ErrorCode.streams_invalid_topology, str(error)))
    if node.cluster.access is not None:
        for name in names:
            if not node.cluster.access.allows(ticket, DESCRIBE_TOPIC, name):
                return error_response(request, ErrorCode.topic_authorization_failed)
            yield
    return (yield from _prepared(node, request, topology, ticket))


def _prepared(
    node: Node, request: StreamsGroupHeartbeatRequest, topology: Topology | None, ticket: Ticket
) -> Task[StreamsGroupHeartbeatResponse | None]:
    prepared = yield from preparing(node.coordinator, request.group_id, topology)
    return _beat(node, request, prepared, ticket)


def _beat(
    node: Node, request: StreamsGroupHeartbeatRequest, prepared: Prepared, ticket: Ticket
) -> StreamsGroupHeartbeatResponse | None:
    sender = sender_of(ticket, partial(_make_topics, node, request.group_id, ticket))
    return streams_group_heartbeat(node.coordinator, request, sender, ticket.received_at_ms, prepared)


def sender_of(ticket: Ticket, make_topics: MakesTopics = make_no_topics) -> Sender:
    return Sender(
        ticket,
        ticket.client_id,
        ticket.client_host,
        ticket.version,
        make_topics=make_topics,
        can_describe_topology=ticket.version >= DESCRIPTIONS_SINCE,
    )


def _make_topics(node: Node, group_id: str, ticket: Ticket, missing: tuple[TopicInfo, ...]) -> str:
    """Create all missing topics, or none if the client may not create one; return the status detail for the member."""
    access, names = node.cluster.access, [topic.name for topic in missing]
    if access is not None and not access.shows(ticket, CREATE_CLUSTER, CLUSTER_NAME):
        refused_names = [name for name in names if not access.allows(ticket, CREATE_TOPIC, name)]
        if refused_names:
            return f"; Unauthorized to CREATE on topics {', '.join(refused_names)}."
    interval_ms = node.cluster.group_configs.streams_config(group_id).heartbeat_interval_ms
    return node.cluster.streams_topics.make(missing, FAILURES_KEPT_FOR * interval_ms, node.cluster.clock.now_ms())


def error_response(request: StreamsGroupHeartbeatRequest, error_code: ErrorCode) -> StreamsGroupHeartbeatResponse:
    return refused(Refusal(error_code))
