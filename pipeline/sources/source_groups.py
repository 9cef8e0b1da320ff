"""Groups of a cluster that are in a rebalance, with their members.

A classic group writes nothing while it waits for its members, so only its coordinator knows the state. Brokers before
Kafka 2.6 can't list groups by state, so all their groups are described.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from kohort.client.security import OPEN, Security
from kohort.pipeline.sources.seen_groups import IN_REBALANCE, SeenGroup, SeenMember, TopicPartition
from kohort.pipeline.sources.source_cluster import SourceCluster, WireError
from kohort.pipeline.sources.source_connection import (
    CONSUMER_GROUP_DESCRIBE,
    DESCRIBE_GROUPS,
    LIST_GROUPS,
    Connection,
)
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.consumer_group_describe import Assignment, ConsumerGroupDescribeRequest
from kohort.protocol.messages.describe_groups import DescribeGroupsRequest
from kohort.protocol.messages.list_groups import ListGroupsRequest

_BY_STATE = 4  # first version of ListGroups with states
_AT_ONCE = 200  # groups per request
_CONSUMER, _CLASSIC = "consumer", "classic"
_DENIED = (ErrorCode.cluster_authorization_failed, ErrorCode.group_authorization_failed)


@dataclass(slots=True)
class SeenCluster:
    """Groups that are in a rebalance now.

    silent: Brokers that didn't respond; the state of their groups is unknown.
    closed: Reason why groups can't be listed, or empty.
    """

    groups: list[SeenGroup] = field(default_factory=list)
    silent: set[str] = field(default_factory=set)
    closed: str = ""


class SourceGroups:
    """Groups of a cluster, queried over connections that stay open."""

    def __init__(self, address: str, security: Security = OPEN) -> None:
        self._cluster = SourceCluster(address, security)

    def look(self) -> SeenCluster:
        """Query each broker for groups in a rebalance.

        Raises:
            WireError: No broker of the address responded.
        """
        result = SeenCluster()
        for broker in self._cluster.metadata(()).brokers:
            connection = self._cluster.connection(broker.host, broker.port)
            node = f"{broker.host}:{broker.port}"
            try:
                result.groups += _groups_of(connection, node, result)
            except OSError:
                result.silent.add(node)
        return result

    def find_denied(self, names: Sequence[str]) -> list[str]:
        """Return the groups that this user may not describe. ListGroups leaves them out without an error.

        Raises:
            WireError: The broker does not respond.
        """
        # Brokers check the permission first, so any of them can answer.
        broker = self._cluster.metadata(()).brokers[0]
        connection, denied = self._cluster.connection(broker.host, broker.port), list[str]()
        for portion in _portions(names):
            answer = connection.ask(DESCRIBE_GROUPS, DescribeGroupsRequest(groups=portion))
            denied += [group.group_id for group in answer.groups if group.error_code in _DENIED]
        return denied

    def close(self) -> None:
        self._cluster.close()


def _groups_of(connection: Connection, node: str, result: SeenCluster) -> list[SeenGroup]:
    version = connection.version(LIST_GROUPS)
    if version is None:
        return []
    answer = connection.ask(LIST_GROUPS, ListGroupsRequest(states_filter=IN_REBALANCE if version >= _BY_STATE else ()))
    if answer.error_code in _DENIED:
        result.closed = "groups can't be listed: that needs Describe on the groups or the cluster"
        return []
    if answer.error_code is not ErrorCode.none:  # the coordinator is loading its groups, for example
        raise WireError(f"{node} doesn't list its groups: {answer.error_code.name}")
    described: list[SeenGroup] = []
    by_type: dict[str, list[str]] = {}
    for listed_group in answer.groups:
        by_type.setdefault(listed_group.group_type.lower() or _CLASSIC, []).append(listed_group.group_id)
    for names in _portions(by_type.get(_CLASSIC, ())):
        described += _classic(connection, node, names)
    if connection.version(CONSUMER_GROUP_DESCRIBE) is not None:
        for names in _portions(by_type.get(_CONSUMER, ())):
            described += _consumer(connection, node, names)
    return [group for group in described if group.state in IN_REBALANCE]


def _portions(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for start in range(0, len(names), _AT_ONCE):
        yield tuple(names[start : start + _AT_ONCE])


def _classic(connection: Connection, node: str, names: tuple[str, ...]) -> Iterable[SeenGroup]:
    for group in connection.ask(DESCRIBE_GROUPS, DescribeGroupsRequest(groups=names)).groups:
        if group.error_code is ErrorCode.none:
            members = (SeenMember(m.member_id, m.client_id, m.client_host, m.group_instance_id) for m in group.members)
            yield SeenGroup(group.group_id, group.group_state, node, tuple(members))


def _consumer(connection: Connection, node: str, names: tuple[str, ...]) -> Iterable[SeenGroup]:
    for group in connection.ask(CONSUMER_GROUP_DESCRIBE, ConsumerGroupDescribeRequest(group_ids=names)).groups:
        if group.error_code is ErrorCode.none:
            members = (
                SeenMember(
                    m.member_id, m.client_id, m.client_host, m.instance_id, m.member_epoch,
                    _partitions(m.assignment), _partitions(m.target_assignment),
                )
                for m in group.members
            )  # fmt: skip
            yield SeenGroup(group.group_id, group.group_state, node, tuple(members), group.group_epoch)


def _partitions(assignment: Assignment) -> frozenset[TopicPartition]:
    return frozenset((topic.topic_name, n) for topic in assignment.topic_partitions for n in topic.partitions)
