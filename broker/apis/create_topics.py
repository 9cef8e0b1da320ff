"""CreateTopics (key 19), versions 2 to 7.

v2 and v3 alike · v4 -1 partitions or replicas: the broker's default (KIP-464) · v5 tagged fields; the response
describes the topic (KIP-525) · v6 as v5 · v7 the topic's id (KIP-516).
Not supported: the controller quota (throttling). The -1 of v4 also works in v2 and v3, as in Kafka.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kohort.broker.apis.deadline import has_passed
from kohort.broker.settings.topic_defaults import source_of
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kohort.security.acls import CLUSTER_NAME
from kohort.security.rights import CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_CONFIGS_TOPIC
from kohort.storage.refusal import Refusal
from kohort.storage.topic import Topic
from kohort.storage.topic_names import METADATA_TOPIC, name_refusal

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket


MAX_PARTITIONS_PER_BATCH = MAX_RECORDS_PER_USER_OP = 10_000  # limits of one request, named as in Kafka's controller


def handle(node: Node, request: CreateTopicsRequest, ticket: Ticket) -> Task[CreateTopicsResponse]:
    named = Counter(topic.name for topic in request.topics)
    wanted_once = [topic for topic in request.topics if named[topic.name] == 1]
    refused = _not_allowed(node, wanted_once, ticket)
    allowed = [topic for topic in wanted_once if topic.name not in refused]
    if has_passed(request.timeout_ms) and allowed:
        return error_response(request, ErrorCode.request_timed_out)
    too_much = _too_much(node, allowed)
    if too_much is not None:
        return error_response(request, too_much.error_code, too_much.message)
    created: set[str] = set()
    results = []
    for name, topic_request in {topic.name: topic for topic in request.topics}.items():
        if named[name] > 1:
            outcome: Topic | Refusal = Refusal(ErrorCode.invalid_request, "Duplicate topic name.")
        elif name in refused:
            outcome = _METADATA_TOPIC if name == METADATA_TOPIC else _NOT_ALLOWED
        else:
            outcome = yield from _create(node, topic_request, created, request.validate_only)
        results.append(_result(node, name, outcome, ticket))
        yield
    return CreateTopicsResponse(throttle_time_ms=0, topics=tuple(results))


_NOT_ALLOWED = Refusal(ErrorCode.topic_authorization_failed, "Authorization failed.")
_METADATA_TOPIC = Refusal(ErrorCode.invalid_request, f"Creation of internal topic {METADATA_TOPIC} is prohibited.")


def _not_allowed(node: Node, topics: list[CreatableTopic], ticket: Ticket) -> set[str]:
    """Find the topics that the client may not create; they are rejected before any other check."""
    names = [topic.name for topic in topics]
    reserved = {METADATA_TOPIC}.intersection(names)
    access = node.cluster.access
    if access is None or access.shows(ticket, CREATE_CLUSTER, CLUSTER_NAME):
        return reserved
    return reserved | {name for name in names if name not in reserved and not access.allows(ticket, CREATE_TOPIC, name)}


def _too_much(node: Node, topics: list[CreatableTopic]) -> Refusal | None:
    """Return the error of a request that is too large, or None.

    Kafka rejects the whole request, duplicate and reserved names included.
    Source: `ReplicationControlManager.validateTotalNumberOfPartitions`, KAFKA-17870; observed on 4.3.0.
    """
    partitions = records = 0
    for topic in topics:
        count = node.cluster.settings.num_partitions if topic.num_partitions == -1 else topic.num_partitions
        count = len(topic.assignments) or max(count, 0)
        partitions += count
        records += 1 + len(topic.configs) + count
    if partitions > MAX_PARTITIONS_PER_BATCH:
        return Refusal(ErrorCode.policy_violation, "Excessively large number of partitions per request.")
    if records > MAX_RECORDS_PER_USER_OP:
        return Refusal(ErrorCode.policy_violation, "Unable to perform excessively large batch operation.")
    return None


def _create(node: Node, topic_request: CreatableTopic, created: set[str], validate_only: bool) -> Task[Topic | Refusal]:
    """Create a topic and add its name to `created`, the topics of this request."""
    topics = node.cluster.topics
    null = next((config.name for config in topic_request.configs if config.value is None), None)
    if null is not None and name_refusal(topic_request.name) is None and topics.by_name(topic_request.name) is None:
        return Refusal(ErrorCode.invalid_config, f"Null value not supported for topic configs: {null}")
    configs = {config.name: config.value for config in topic_request.configs if config.value is not None}
    outcome: Topic | Refusal = yield from topics.creating(
        topic_request.name,
        topic_request.num_partitions,
        topic_request.replication_factor,
        configs,
        assignments=[(assignment.partition_index, assignment.broker_ids) for assignment in topic_request.assignments],
        siblings=created,
        validate_only=validate_only,
    )
    if isinstance(outcome, Topic):
        created.add(topic_request.name)
    return outcome


def _result(node: Node, name: str, outcome: Topic | Refusal, ticket: Ticket) -> CreatableTopicResult:
    if isinstance(outcome, Refusal):
        return CreatableTopicResult(name=name, error_code=outcome.error_code, error_message=outcome.message, configs=())
    cluster = node.cluster
    if cluster.access is not None and not cluster.access.shows(ticket, DESCRIBE_CONFIGS_TOPIC, name):
        return CreatableTopicResult(
            name=name,
            topic_id=outcome.topic_id,
            error_code=ErrorCode.none,
            error_message=None,
            topic_config_error_code=ErrorCode.topic_authorization_failed,
            configs=(),
        )
    return CreatableTopicResult(
        name=name,
        topic_id=outcome.topic_id,
        error_code=ErrorCode.none,
        error_message=None,
        num_partitions=len(outcome.partitions),
        replication_factor=len(outcome.partitions[0].replicas),
        configs=tuple(
            CreatableTopicConfigs(
                name=config,
                value=value,
                read_only=False,
                config_source=source_of(cluster.settings, outcome, config),
                is_sensitive=False,
            )
            for config, value in cluster.topics.effective_configs(outcome.configs).items()
        ),
    )


def error_response(
    request: CreateTopicsRequest, error_code: ErrorCode, message: str | None = None
) -> CreateTopicsResponse:
    """Return the response for a request that failed: one result for each topic as named, duplicates included."""
    return CreateTopicsResponse(
        throttle_time_ms=0,
        topics=tuple(
            CreatableTopicResult(name=topic.name, error_code=error_code, error_message=message, configs=())
            for topic in request.topics
        ),
    )
