"""Metadata (key 3), versions 0 to 13.

v0 an empty list means all topics · v1 null does; controller, racks, internal topics · v2 cluster id · v3 throttle time
· v4 whether topics may be created (KIP-204) · v5 offline replicas (KIP-112) · v6 as v5 · v7 leader epochs (KIP-320) ·
v8 authorized operations (KIP-430) · v9 tagged fields · v10 topic ids in the response (KIP-516) · v11 without authorized
operations of the cluster (KIP-700) · v12 topics by id · v13 an error for the whole response (KIP-1102).
REBOOTSTRAP_REQUIRED (v13) is never returned.

A topic that the request creates is still unknown in its response, as in Kafka; clients retry.

Before v12, ids or null names fail the whole request: INVALID_REQUEST. From v12 on, if one topic has an id, topics
without ids are ignored. A null name fails the request if no topic has an id: UNKNOWN_SERVER_ERROR.
(`KafkaApis.handleTopicMetadataRequest`, `MetadataRequest.getErrorResponse`; observed on 4.3.0.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.apis.authorized_operations import cluster_operations, operations
from kohort.broker.scheduling.cooperative import Task
from kohort.broker.scheduling.request_chunks import SHORT
from kohort.coordinator.effects import OFFSETS_TOPIC
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kohort.security.acls import CLUSTER_NAME, ResourceType
from kohort.security.rights import CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_TOPIC
from kohort.storage.placement import NO_LEADER
from kohort.storage.topic import Topic
from kohort.storage.topic_names import METADATA_TOPIC, name_refusal
from kohort.storage.topics import INTERNAL_TOPICS, Topics

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket

TOPIC_IDS_FROM = 12


def handle(node: Node, request: MetadataRequest, ticket: Ticket) -> Task[MetadataResponse]:
    """Return nodes and topics, and create missing topics."""
    cluster, access = node.cluster, node.cluster.access
    topics: list[MetadataResponseTopic] = []
    if request.topics is None or (ticket.version == 0 and not request.topics):
        existing = list(cluster.topics)
        if access is not None:
            existing = [topic for topic in existing if access.shows(ticket, DESCRIBE_TOPIC, topic.name)]
        for topic in existing:
            topics.append((yield from _described(cluster.topics, topic)))
            yield
    else:
        refusal = _refusal(request.topics, ticket.version)
        if refusal is not None:
            return error_response(request, refusal)
        created: set[str] = set()
        for entry in _once(request.topics):
            topics.append((yield from _describe_or_create(node, entry, request, created, ticket)))
            yield
    if request.include_topic_authorized_operations:
        for described in topics:
            if described.error_code not in _WITHOUT_OPERATIONS:
                assert described.name is not None, "only unknown ids have no name"
                allowed = operations(node, ticket, ResourceType.TOPIC, described.name)
                described.topic_authorized_operations = allowed
            yield
    response = MetadataResponse(
        brokers=tuple(
            MetadataResponseBroker(
                node_id=broker.id,
                host=(at := broker.address_for(ticket))[0],
                port=at[1],
                rack=cluster.settings.broker_rack or None,
            )
            for broker in cluster.running_nodes
        ),
        cluster_id=cluster.cluster_id,
        controller_id=cluster.controller_id,
        topics=tuple(topics),
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = cluster_operations(node, ticket)
    return response


_WITHOUT_OPERATIONS = (ErrorCode.unknown_topic_id, ErrorCode.topic_authorization_failed)


def error_response(request: MetadataRequest, error_code: ErrorCode) -> MetadataResponse:
    """Return the response for a failed request, without brokers.

    Null names become empty, because no version allows them.
    """
    return MetadataResponse(
        error_code=error_code,
        brokers=(),
        topics=tuple(
            MetadataResponseTopic(error_code=error_code, name=entry.name or "", topic_id=entry.topic_id, partitions=())
            for entry in request.topics or ()
        ),
    )


def _refusal(topics: tuple[MetadataRequestTopic, ...], version: int) -> ErrorCode | None:
    by_id = any(topic.topic_id is not None for topic in topics)
    nameless = any(topic.name is None for topic in topics)
    if version < TOPIC_IDS_FROM:
        return ErrorCode.invalid_request if by_id or nameless else None
    return ErrorCode.unknown_server_error if nameless and not by_id else None


def _once(topics: tuple[MetadataRequestTopic, ...]) -> list[MetadataRequestTopic]:
    """Remove duplicates; also topics without an id if another one has an id."""
    with_id = [topic for topic in topics if topic.topic_id is not None]
    return list({(topic.topic_id or topic.name): topic for topic in with_id or topics}.values())


def _describe_or_create(
    node: Node, entry: MetadataRequestTopic, request: MetadataRequest, created: set[str], ticket: Ticket
) -> Task[MetadataResponseTopic]:
    """Describe a topic, or create it if it is missing and add its name to `created`, the topics of this request."""
    topics = node.cluster.topics
    access = node.cluster.access
    topic = topics.find(entry.name, entry.topic_id)
    if (
        access is not None
        and (topic is not None or entry.topic_id is None)
        and not access.allows(ticket, DESCRIBE_TOPIC, topic.name if topic is not None else entry.name or "")
    ):
        return _not_allowed(entry)
    if topic is not None:
        return (yield from _described(topics, topic))
    if entry.topic_id is not None:
        return _unknown(None, ErrorCode.unknown_topic_id, entry)
    name, creates = entry.name or "", request.allow_auto_topic_creation
    creates = creates and node.cluster.settings.auto_create_topics_enable
    if (
        creates
        and access is not None
        and not access.shows(ticket, CREATE_CLUSTER, CLUSTER_NAME)
        and not access.allows(ticket, CREATE_TOPIC, name)
    ):
        return _not_allowed(entry)
    if name_refusal(name) is not None:
        return _unknown(name, ErrorCode.invalid_topic_exception, entry)
    if creates:
        _create(node, name, created, ticket)
    return _unknown(name, ErrorCode.unknown_topic_or_partition, entry)


def _not_allowed(entry: MetadataRequestTopic) -> MetadataResponseTopic:
    """Return the error for an unauthorized client, which is the same for missing topics."""
    return MetadataResponseTopic(
        error_code=ErrorCode.topic_authorization_failed,
        name=None if entry.topic_id is not None else entry.name,
        topic_id=entry.topic_id,
        partitions=(),
    )


def _create(node: Node, name: str, created: set[str], ticket: Ticket) -> None:
    """Create a topic with the defaults; one that cannot be created stays unknown."""
    cluster = node.cluster
    if name == OFFSETS_TOPIC:
        cluster.offsets_topic.schedule_creation(ticket.received_at_ms)
    elif name not in INTERNAL_TOPICS and name != METADATA_TOPIC:  # kohort does not create these
        outcome = cluster.topics.create(name, siblings=created)
        if isinstance(outcome, Topic):
            created.add(name)


def _described(topics: Topics, topic: Topic) -> Task[MetadataResponseTopic]:
    partitions: list[MetadataResponsePartition] = []
    for start in range(0, len(topic.partitions), SHORT):
        partitions += [
            MetadataResponsePartition(
                error_code=ErrorCode.none if partition.leader != NO_LEADER else ErrorCode.leader_not_available,
                partition_index=partition.index,
                leader_id=partition.leader,
                leader_epoch=partition.leader_epoch,
                replica_nodes=partition.replicas,
                isr_nodes=topics.placement.in_sync(partition.replicas),
                offline_replicas=topics.placement.offline(partition.replicas),
            )
            for partition in topic.partitions[start : start + SHORT]
        ]
        if len(partitions) < len(topic.partitions):
            yield
    return MetadataResponseTopic(
        error_code=ErrorCode.none,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.internal,
        partitions=tuple(partitions),
    )


def _unknown(name: str | None, error_code: ErrorCode, entry: MetadataRequestTopic) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=error_code,
        name=name,
        topic_id=entry.topic_id,
        is_internal=name in INTERNAL_TOPICS,
        partitions=(),
    )
