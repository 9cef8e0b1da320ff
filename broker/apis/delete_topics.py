"""DeleteTopics (key 20), versions 1 to 6.

v1 and v2 alike · v3 TOPIC_DELETION_DISABLED is possible · v4 tagged fields · v5 error messages (KIP-599) · v6 topics by
id (KIP-516).
Not supported: the controller quota (throttling). Results are in the order of the request; Kafka shuffles them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kohort.broker.apis.deadline import has_passed
from kohort.broker.scheduling.cooperative import one_by_one
from kohort.broker.scheduling.request_chunks import SHORT
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from kohort.security.acls import CLUSTER_NAME
from kohort.security.rights import DELETE_CLUSTER, DELETE_TOPIC, DESCRIBE_TOPIC

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket
    from kohort.protocol.messages.delete_topics import DeleteTopicState
    from kohort.storage.topic import Topic

DISABLED_FROM = 3  # earlier versions don't have TOPIC_DELETION_DISABLED, and return INVALID_REQUEST


def handle(node: Node, request: DeleteTopicsRequest, ticket: Ticket) -> Task[DeleteTopicsResponse]:
    """Delete topics with their records and the groups' offsets for them.

    Source: Kafka's `ControllerApis.deleteTopics`.
    """
    if not node.cluster.settings.delete_topic_enable:
        disabled = ticket.version >= DISABLED_FROM
        return error_response(request, ErrorCode.topic_deletion_disabled if disabled else ErrorCode.invalid_request)
    ambiguous = [entry for entry in request.topics if (entry.name is None) == (entry.topic_id is None)]
    refused = [*(yield from one_by_one(_ambiguous, ambiguous))] if ambiguous else []
    named = Counter(entry.name for entry in request.topics if entry.name is not None and entry.topic_id is None)
    by_id = Counter(entry.topic_id for entry in request.topics if entry.name is None and entry.topic_id is not None)
    refused += [_refused(name, None, _INVALID, "Duplicate topic name.") for name in named if named[name] > 1]
    refused += [_refused(None, entry, _INVALID, "Duplicate topic id.") for entry in by_id if by_id[entry] > 1]
    names = [name for name in named if named[name] == 1]
    ids = [entry for entry in by_id if by_id[entry] == 1]
    if (names or ids) and has_passed(request.timeout_ms):
        return error_response(request, ErrorCode.request_timed_out)
    answers = refused
    for answer in _delete(node, names, ids, set(by_id), ticket):
        if answer is not None:
            answers.append(answer)
        yield
    places = {entry.name or entry.topic_id: place for place, entry in enumerate(request.topics)}
    answers.sort(key=lambda result: places.get(result.name, places.get(result.topic_id, 0)))
    return DeleteTopicsResponse(throttle_time_ms=0, responses=tuple(answers))


_INVALID = ErrorCode.invalid_request


def _ambiguous(topic_request: DeleteTopicState) -> DeletableTopicResult:
    both = topic_request.name is not None
    message = "You may not specify both topic name and topic id." if both else _NEITHER
    return _refused(topic_request.name, topic_request.topic_id, _INVALID, message)


_NEITHER = "Neither topic name nor id were specified."


def _delete(
    node: Node, names: list[str], ids: list[UUID], all_ids: set[UUID], ticket: Ticket
) -> Iterator[DeletableTopicResult | None]:
    """Delete topics by distinct names and ids; yield results, and None in between.

    Each topic is looked up again immediately before its deletion, because another request can delete it meanwhile.

    Args:
        all_ids: All ids in the request, duplicates included.
    """
    topics = node.cluster.topics
    rights = _Rights(node, ticket)
    names_by_id: dict[UUID, str | None] = dict.fromkeys(ids)
    for name in names:
        topic = topics.by_name(name)
        if not rights.may_delete(name):
            yield _refused(name, None, ErrorCode.topic_authorization_failed, _NOT_ALLOWED)
        elif topic is None:
            yield _unknown(name)
        elif topic.topic_id in all_ids:
            names_by_id.pop(topic.topic_id, None)
            message = "The provided topic name maps to an ID that was already supplied."
            yield _refused(name, topic.topic_id, _INVALID, message)
        else:
            names_by_id[topic.topic_id] = name
    for topic_id, given_name in names_by_id.items():
        topic = topics.by_id(topic_id)
        if topic is None and given_name is not None:
            yield _unknown(given_name)
        elif topic is None:
            yield _refused(None, topic_id, ErrorCode.unknown_topic_id, "This server does not host this topic ID.")
        elif not rights.may_delete(topic.name):
            visible_name = topic.name if rights.may_see(topic.name) else None
            yield _refused(visible_name, topic_id, ErrorCode.topic_authorization_failed, _NOT_ALLOWED)
        else:
            yield from delete_topic(node.cluster, topic, ticket.received_at_ms)
            yield DeletableTopicResult(name=topic.name, topic_id=topic.topic_id, error_code=ErrorCode.none)


_NOT_ALLOWED = "Topic authorization failed."


class _Rights:
    """Topics that the sender may delete, and those that it may see: all, with the right on the cluster."""

    def __init__(self, node: Node, ticket: Ticket) -> None:
        access = node.cluster.access
        if access is not None and access.shows(ticket, DELETE_CLUSTER, CLUSTER_NAME):
            access = None
        self._access, self._ticket = access, ticket

    def may_delete(self, name: str) -> bool:
        access, ticket = self._access, self._ticket
        return access is None or (access.allows(ticket, DELETE_TOPIC, name) and self.may_see(name))

    def may_see(self, name: str) -> bool:
        return self._access is None or self._access.shows(self._ticket, DESCRIBE_TOPIC, name)


def delete_topic(cluster: BrokerCluster, topic: Topic, now_ms: int) -> Iterator[None]:
    """Delete a topic, complete the fetches that wait for its records, and delete the groups' offsets for it."""
    cluster.topics.delete(topic)
    for number, partition in enumerate(topic.partitions, 1):
        cluster.purgatory.check(partition, now_ms)
        if not number % SHORT:
            yield
    yield from cluster.topic_deleted(topic, now_ms)


def _unknown(name: str) -> DeletableTopicResult:
    message = "This server does not host this topic-partition."
    return _refused(name, None, ErrorCode.unknown_topic_or_partition, message)


def _refused(
    name: str | None, topic_id: UUID | None, error_code: ErrorCode, message: str | None
) -> DeletableTopicResult:
    return DeletableTopicResult(name=name, topic_id=topic_id, error_code=error_code, error_message=message)


def error_response(request: DeleteTopicsRequest, error_code: ErrorCode) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(
        throttle_time_ms=0,
        responses=tuple(_refused(topic.name, topic.topic_id, error_code, None) for topic in request.topics),
    )
