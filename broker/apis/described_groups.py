"""Shared parts of the APIs that describe groups of the newer protocols: authorization and order."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from kohort.base.logs import log
from kohort.broker.apis.authorized_operations import operations
from kohort.broker.cluster.node import Node
from kohort.broker.scheduling.cooperative import Task, once_each
from kohort.broker.ticket import Ticket
from kohort.coordinator.groups.describing import as_answered
from kohort.protocol.errors import ErrorCode
from kohort.security.acls import ResourceType
from kohort.security.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC


class Described(Protocol):
    """A group in a response."""

    error_code: ErrorCode
    authorized_operations: int


DescribedT = TypeVar("DescribedT", bound=Described)


def described_groups(
    node: Node,
    ticket: Ticket,
    group_ids: Sequence[str],
    describe: Callable[[str], DescribedT],
    make: Callable[..., DescribedT],
    topics_of: Callable[[DescribedT], Iterable[str]],
    *,
    hidden_topics: str,
    with_operations: bool,
) -> Task[tuple[DescribedT, ...]]:
    """Describe groups in Kafka's order. A duplicate id is described twice.

    Args:
        describe: Describes a group that the client may describe.
        make: Creates a group of the response from its fields.
        topics_of: Returns the topics that the client must be allowed to describe, too.
        hidden_topics: Error message if it is not.
    """
    access = node.cluster.access

    def refused(group_id: str, error_code: ErrorCode, message: str | None = None) -> DescribedT:
        return make(error_code=error_code, error_message=message, group_id=group_id)

    def described(group_id: str) -> DescribedT:
        if access is not None and not access.allows(ticket, DESCRIBE_GROUP, group_id):
            return refused(group_id, ErrorCode.group_authorization_failed)
        try:
            group = describe(group_id)
        except Exception as error:  # the other groups of the request are still described
            log.error(f"{group_id}: describing a group failed", error)
            return refused(group_id, ErrorCode.unknown_server_error)
        if group.error_code is not ErrorCode.none:
            return group
        if access is not None and not all(access.allows(ticket, DESCRIBE_TOPIC, name) for name in topics_of(group)):
            return refused(group_id, ErrorCode.topic_authorization_failed, hidden_topics)
        if with_operations:
            group.authorized_operations = operations(node, ticket, ResourceType.GROUP, group_id)
        return group

    nameless = [group_id for group_id in group_ids if not group_id]
    named = yield from as_answered(node.coordinator, (group_id for group_id in group_ids if group_id))
    groups = yield from once_each(described, [*nameless, *named])
    if access is not None:  # Kafka puts unauthorized groups first
        groups = tuple(sorted(groups, key=lambda group: group.error_code is not ErrorCode.group_authorization_failed))
    return groups
