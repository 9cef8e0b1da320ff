"""DeleteTopics (key 20), versions 1 to 6.

v1 and v2 alike · v3 TOPIC_DELETION_DISABLED may be answered · v4 tagged fields · v5 error messages (KIP-599) ·
v6 topics by id (KIP-516).

Left out: the controller quota (throttling). Answers come in the order of the request; Kafka shuffles them.
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

DISABLED_FROM = 3
"""Before this version clients do not know TOPIC_DELETION_DISABLED and hear INVALID_REQUEST."""


def handle(node: Node, request: DeleteTopicsRequest, ticket: Ticket) -> Task[DeleteTopicsResponse]:
    """Deletes topics, with their records and what groups have committed for them.

    Source: Kafka's `ControllerApis.deleteTopics`.
    """
    if not node.cluster.settings.delete_topic_enable:
        disabled = ticket.version >= DISABLED_FROM
        return error_response(request, ErrorCode.topic_deletion_disabled if disabled else ErrorCode.invalid_request)
    ambiguous = [each for each in request.topics if (each.name is None) == (each.topic_id is None)]
    refused = [*(yield from one_by_one(_ambiguous, ambiguous))] if ambiguous else []
    named = Counter(each.name for each in request.topics if each.name is not None and each.topic_id is None)
    by_id = Counter(each.topic_id for each in request.topics if each.name is None and each.topic_id is not None)
    refused += [_refused(name, None, _INVALID, "Duplicate topic name.") for name in named if named[name] > 1]
    refused += [_refused(None, each, _INVALID, "Duplicate topic id.") for each in by_id if by_id[each] > 1]
    names = [name for name in named if named[name] == 1]
    ids = [each for each in by_id if by_id[each] == 1]
    if (names or ids) and has_passed(request.timeout_ms):
        return error_response(request, ErrorCode.request_timed_out)
    answers = refused
    for answer in _delete(node, names, ids, set(by_id), ticket):
        if answer is not None:
            answers.append(answer)
        yield
    places = {each.name or each.topic_id: place for place, each in enumerate(request.topics)}
    answers.sort(key=lambda each: places.get(each.name, places.get(each.topic_id, 0)))
    return DeleteTopicsResponse(throttle_time_ms=0, responses=tuple(answers))


_INVALID = ErrorCode.invalid_request


def _ambiguous(asked: DeleteTopicState) -> DeletableTopicResult:
    both = asked.name is not None
    message = "You may not specify both topic name and topic id." if both else _NEITHER
    return _refused(asked.name, asked.topic_id, _INVALID, message)


_NEITHER = "Neither topic name nor id were specified."


def _delete(
    node: Node, names: list[str], ids: list[UUID], all_ids: set[UUID], ticket: Ticket
) -> Iterator[DeletableTopicResult | None]:
    """What becomes of names and ids of which each was given once; None in between. `all_ids`: all that were given.

    Each is looked up once more when its turn comes: another request may have deleted it in between.
    """
    topics = node.cluster.topics
    rights = _Rights(node, ticket)
    found: dict[UUID, str | None] = dict.fromkeys(ids)
    for name in names:
        topic = topics.by_name(name)
        if not rights.may_delete(name):
            yield _refused(name, None, ErrorCode.topic_authorization_failed, _NOT_ALLOWED)
        elif topic is None:
            yield _unknown(name)
        elif topic.topic_id in all_ids:
            found.pop(topic.topic_id, None)
            message = "The provided topic name maps to an ID that was already supplied."
            yield _refused(name, topic.topic_id, _INVALID, message)
        else:
            found[topic.topic_id] = name
    for topic_id, given_name in found.items():
        topic = topics.by_id(topic_id)
        if topic is None and given_name is not None:
            yield _unknown(given_name)
        elif topic is None:
            yield _refused(None, topic_id, ErrorCode.unknown_topic_id, "This server does not host this topic ID.")
        elif not rights.may_delete(topic.name):
            shown = topic.name if rights.may_see(topic.name) else None
            yield _refused(shown, topic_id, ErrorCode.topic_authorization_failed, _NOT_ALLOWED)
        else:
            yield from delete_topic(node.cluster, topic, ticket.received_at_ms)
            yield DeletableTopicResult(name=topic.name, topic_id=topic.topic_id, error_code=ErrorCode.none)


_NOT_ALLOWED = "Topic authorization failed."


class _Rights:
    """Which topics who asks may delete, and which they may see: all, with the right on the cluster."""

    def __init__(self, node: Node, ticket: Ticket) -> None:
        access = node.cluster.access
        if access is not None and access.shows(ticket, DELETE_CLUSTER, CLUSTER_NAME):
            access = None
        self._access, self._ticket = access, ticket

    def may_delete(self, name: str) -> bool:
        """Who may not see a topic may not delete it either."""
        access, ticket = self._access, self._ticket
        return access is None or (access.allows(ticket, DELETE_TOPIC, name) and self.may_see(name))

    def may_see(self, name: str) -> bool:
        """Whether its name is told."""
        return self._access is None or self._access.shows(self._ticket, DESCRIBE_TOPIC, name)


def delete_topic(cluster: BrokerCluster, topic: Topic, now_ms: int) -> Iterator[None]:
    """Deletes a topic, lets fetches that wait for its records go, and the groups forget it."""
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
    """What a request hears that failed: every topic as it was named."""
    return DeleteTopicsResponse(
        throttle_time_ms=0,
        responses=tuple(_refused(each.name, each.topic_id, error_code, None) for each in request.topics),
    )
