"""Asks a cluster which groups are in a rebalance, and who is in them.

A classic group writes nothing while it waits for its members: only its coordinator tells that it does. Brokers before
Kafka 2.6 don't list groups by state, so all groups are described there.
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

_BY_STATE = 4
"""The version of ListGroups from which on it takes states and says them."""
_AT_ONCE = 200
"""Groups that one request asks for."""
_CONSUMER, _CLASSIC = "consumer", "classic"
_DENIED = (ErrorCode.cluster_authorization_failed, ErrorCode.group_authorization_failed)


@dataclass(slots=True)
class SeenCluster:
    """Groups that are in a rebalance now. silent: brokers that didn't answer; their groups aren't known.

    closed: why groups can't be asked for at all; empty: they can.
    """

    groups: list[SeenGroup] = field(default_factory=list)
    silent: set[str] = field(default_factory=set)
    closed: str = ""


class SourceGroups:
    """The groups of a cluster. Connections stay open between two looks."""

    def __init__(self, address: str, security: Security = OPEN) -> None:
        self._cluster = SourceCluster(address, security)

    def look(self) -> SeenCluster:
        """Asks each broker. Raises WireError when none of the address answers."""
        seen = SeenCluster()
        for broker in self._cluster.metadata(()).brokers:
            connection = self._cluster.connection(broker.host, broker.port)
            node = f"{broker.host}:{broker.port}"
            try:
                seen.groups += _groups_of(connection, node, seen)
            except OSError:
                seen.silent.add(node)
        return seen

    def close(self) -> None:
        """Hangs up."""
        self._cluster.close()


def _groups_of(connection: Connection, node: str, seen: SeenCluster) -> list[SeenGroup]:
    version = connection.version(LIST_GROUPS)
    if version is None:
        return []
    answer = connection.ask(LIST_GROUPS, ListGroupsRequest(states_filter=IN_REBALANCE if version >= _BY_STATE else ()))
    if answer.error_code in _DENIED:
        seen.closed = "groups can't be listed: that needs Describe on the groups or the cluster"
        return []
    if answer.error_code is not ErrorCode.none:  # it loads its groups, for example
        raise WireError(f"{node} doesn't list its groups: {answer.error_code.name}")
    found: list[SeenGroup] = []
    by_type: dict[str, list[str]] = {}
    for each in answer.groups:
        by_type.setdefault(each.group_type.lower() or _CLASSIC, []).append(each.group_id)
    for names in _portions(by_type.get(_CLASSIC, ())):
        found += _classic(connection, node, names)
    if connection.version(CONSUMER_GROUP_DESCRIBE) is not None:
        for names in _portions(by_type.get(_CONSUMER, ())):
            found += _consumer(connection, node, names)
    return [group for group in found if group.state in IN_REBALANCE]


def _portions(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for start in range(0, len(names), _AT_ONCE):
        yield tuple(names[start : start + _AT_ONCE])


def _classic(connection: Connection, node: str, names: tuple[str, ...]) -> Iterable[SeenGroup]:
    for each in connection.ask(DESCRIBE_GROUPS, DescribeGroupsRequest(groups=names)).groups:
        if each.error_code is ErrorCode.none:
            members = (SeenMember(m.member_id, m.client_id, m.client_host, m.group_instance_id) for m in each.members)
            yield SeenGroup(each.group_id, each.group_state, node, tuple(members))


def _consumer(connection: Connection, node: str, names: tuple[str, ...]) -> Iterable[SeenGroup]:
    for each in connection.ask(CONSUMER_GROUP_DESCRIBE, ConsumerGroupDescribeRequest(group_ids=names)).groups:
        if each.error_code is ErrorCode.none:
            members = (
                SeenMember(
                    m.member_id, m.client_id, m.client_host, m.instance_id, m.member_epoch,
                    _partitions(m.assignment), _partitions(m.target_assignment),
                )
                for m in each.members
            )  # fmt: skip
            yield SeenGroup(each.group_id, each.group_state, node, tuple(members), each.group_epoch)


def _partitions(assignment: Assignment) -> frozenset[TopicPartition]:
    return frozenset((each.topic_name, n) for each in assignment.topic_partitions for n in each.partitions)
