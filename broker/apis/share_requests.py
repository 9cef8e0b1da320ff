"""Shared parts of ShareFetch and ShareAcknowledge: authorization, current leaders and grouping by topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from kohort.broker.scheduling.cooperative import begin, is_task
from kohort.coordinator.share.share_checks import is_member_id
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.leaders import LeaderIdAndEpoch, NodeEndpoint
from kohort.security.rights import READ_GROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from uuid import UUID

    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket
    from kohort.coordinator.pace import Pace

TopicT = TypeVar("TopicT")

# value of the current leader without a leader error (observed on Kafka 4.3.0)
NO_LEADER_NAMED: Final = LeaderIdAndEpoch(leader_id=0, leader_epoch=0)


def refusal_of(node: Node, group_id: str | None, member_id: str | None, ticket: Ticket) -> ErrorCode | None:
    """Return the error for a member that is not served, in Kafka's order, or None."""
    if not node.cluster.features.serves_share_groups:
        return ErrorCode.unsupported_version
    if group_id is None:
        return ErrorCode.invalid_request
    access = node.cluster.access
    if access is not None and not access.allows(ticket, READ_GROUP, group_id):
        return ErrorCode.group_authorization_failed
    return None if member_id is not None and is_member_id(member_id) else ErrorCode.invalid_request


class Leaders:
    """Current leaders of partitions, and their endpoints, in a response."""

    def __init__(self, node: Node, ticket: Ticket) -> None:
        self._node = node
        self._ticket = ticket
        self._named: dict[int, NodeEndpoint] = {}

    def of(self, topic_partition: tuple[UUID | None, int], error: ErrorCode) -> LeaderIdAndEpoch:
        """Return the leader of a partition if an error reports a change of leaders."""
        if error not in (ErrorCode.not_leader_or_follower, ErrorCode.fenced_leader_epoch):
            return NO_LEADER_NAMED
        cluster = self._node.cluster
        partition = cluster.topics.partition(*topic_partition)
        if partition is None:
            return NO_LEADER_NAMED
        leader = cluster.node(partition.leader)
        if leader is not None:
            host, port = leader.address_for(self._ticket)
            rack = cluster.settings.broker_rack or None
            self._named[leader.id] = NodeEndpoint(node_id=leader.id, host=host, port=port, rack=rack)
        return LeaderIdAndEpoch(leader_id=partition.leader, leader_epoch=partition.leader_epoch)

    @property
    def endpoints(self) -> tuple[NodeEndpoint, ...]:
        """Endpoints of the leaders that `of` has returned."""
        return tuple(self._named.values())


def topic_responses(
    topics: Mapping[UUID | None, Sequence[object]], of_topic: Callable[..., TopicT], pace: Pace
) -> Task[tuple[TopicT, ...]]:
    """Build the topics of a response; their type has a topic id and partitions."""
    responses = []
    for topic_id, partitions in topics.items():
        responses.append(of_topic(topic_id=topic_id, partitions=tuple(partitions)))
        if pace.add():
            yield
    return tuple(responses)


def reply_in_steps(ticket: Ticket, steps: Task[Any]) -> None:
    """Send the response of `steps`, immediately if they do not yield."""
    response = begin(steps)
    if is_task(response):
        ticket.work_on(response)
    else:
        ticket.reply(response)
