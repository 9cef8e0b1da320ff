"""CreatePartitions (key 37), versions 0 to 3.

v0 (KIP-195) and v1 alike · v2 tagged fields · v3 as v2 (THROTTLING_QUOTA_EXCEEDED is possible, KIP-599).
Not supported: the controller quota (throttling).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kohort.broker.apis.deadline import has_passed
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from kohort.security.rights import ALTER_TOPIC
from kohort.storage.refusal import Refusal

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket


def handle(node: Node, request: CreatePartitionsRequest, ticket: Ticket) -> Task[CreatePartitionsResponse]:
    named = Counter(topic.name for topic in request.topics)
    access = node.cluster.access
    refused = set()
    if access is not None:
        refused = {name for name in named if named[name] == 1 and not access.allows(ticket, ALTER_TOPIC, name)}
    if has_passed(request.timeout_ms) and any(named[name] == 1 and name not in refused for name in named):
        return error_response(request, ErrorCode.request_timed_out)
    results = []
    for name, topic_request in {topic.name: topic for topic in request.topics}.items():
        if named[name] > 1:
            refusal: Refusal | None = Refusal(ErrorCode.invalid_request, "Duplicate topic name.")
        elif name in refused:
            refusal = Refusal(ErrorCode.topic_authorization_failed)
        else:
            refusal = yield from _grow(node, topic_request, request.validate_only)
            yield
        results.append(
            CreatePartitionsTopicResult(
                name=name,
                error_code=ErrorCode.none if refusal is None else refusal.error_code,
                error_message=None if refusal is None else refusal.message,
            )
        )
    return CreatePartitionsResponse(throttle_time_ms=0, results=tuple(results))


def _grow(node: Node, topic_request: CreatePartitionsTopic, validate_only: bool) -> Task[Refusal | None]:
    topics = node.cluster.topics
    topic = topics.by_name(topic_request.name)
    if topic is None:
        return Refusal(ErrorCode.unknown_topic_or_partition)
    assignments = None
    if topic_request.assignments is not None:
        assignments = [assignment.broker_ids for assignment in topic_request.assignments]
    return (yield from topics.growing(topic, topic_request.count, assignments, validate_only=validate_only))


def error_response(request: CreatePartitionsRequest, error_code: ErrorCode) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        throttle_time_ms=0,
        results=tuple(
            CreatePartitionsTopicResult(name=topic.name, error_code=error_code, error_message=None)
            for topic in request.topics
        ),
    )
