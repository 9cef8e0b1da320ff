"""Zombie coordinators: nodes that continue to serve groups after other nodes have taken them over.

This happens to a broker that the controller no longer reaches: it still considers itself the leader. It answers
heartbeats, lets members join, returns itself from FindCoordinator, and its timers run. But its writes are fenced, since
the leader epoch has increased (KIP-101), so its commits and assignments have no effect. Clients receive the error that
Kafka derives from NOT_LEADER_OR_FOLLOWER for such a write: NOT_COORDINATOR.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from kohort.control.faults.actions import StayLeader
from kohort.control.request_facts import NO_GENERATION, RequestFacts
from kohort.coordinator.context import Shard
from kohort.coordinator.groups.group import CLASSIC
from kohort.coordinator.groups.loading import unload

if TYPE_CHECKING:
    from kohort.broker.cluster.group_events import Recorded
    from kohort.broker.cluster.node import Node
    from kohort.control.brokers import Brokers
    from kohort.control.faults.rules import Rule
    from kohort.coordinator.context import CoordinatorContext
    from kohort.coordinator.groups.group import Group
    from kohort.storage.topic import Partition

FIND_COORDINATOR = "FindCoordinator"
GROUP_KEYS = 0  # FindCoordinator's key type of groups


class Zombies:
    """Hides from some leaders of `__consumer_offsets` that they have lost a partition."""

    def __init__(self, brokers: Brokers, rules: Iterable[Rule]) -> None:
        self._brokers = brokers
        self._cluster = brokers.cluster
        self._rules = rules
        self._lingering: set[tuple[int, int]] = set()  # node id and partition

    def __bool__(self) -> bool:
        return bool(self._lingering)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(sorted(self._lingering))

    # Hooks for leaders; see `BrokerHooks`

    def hides_loss(self, partition: Partition) -> bool:
        """Return whether a rule hides the loss of a partition from its leader, which becomes a zombie then."""
        node = self._cluster.node(partition.leader)
        if node is None or not node.running or not self._becomes_zombie(node, partition):
            return False
        self._lingering.add((node.id, partition.index))
        return True

    def elected(self, partition: Partition, now_ms: int) -> None:
        """Handle a new leader: a zombie that is elected again stops being one and loads like any other."""
        self._forget(partition.leader, partition.index, now_ms)

    # Queries of the laboratory

    def includes(self, coordinator: CoordinatorContext, partition: int) -> bool:
        return any(
            index == partition and self._node(node_id).coordinator is coordinator for node_id, index in self._lingering
        )

    def has_rival(self, group: Group) -> bool:
        """Return whether a zombie serves a group in addition to its coordinator."""
        return any(partition == group.partition for _, partition in self._lingering)

    def is_from_zombie(self, recorded: Recorded) -> bool:
        return bool(self._lingering) and (recorded.node_id, recorded.event.co_partition) in self._lingering

    def rewrite_coordinator(self, node: Node, facts: RequestFacts, response: Any) -> None:
        """Replace the coordinator in a zombie's response to FindCoordinator with the zombie itself."""
        if facts.api != FIND_COORDINATOR or facts.request.key_type != GROUP_KEYS:
            return
        for coordinator in response.coordinators:
            if (node.id, node.coordinator.partition_of(coordinator.key)) in self._lingering:
                coordinator.node_id = node.id
                coordinator.host, coordinator.port = node.address_for(facts.ticket)

    # Details

    def _becomes_zombie(self, node: Node, partition: Partition) -> bool:
        coordinator = node.coordinator
        if coordinator.shards.get(partition.index) is not Shard.ACTIVE:
            return False
        groups = [group for group in coordinator.of_type(CLASSIC) if group.partition == partition.index]
        for rule in self._rules:
            action = rule.action
            if isinstance(action, StayLeader) and any(rule.takes(_Loss(node, group)) for group in groups):
                action.ends.append(partial(self._end, node.id, partition.index))
                return True
        return False

    def _end(self, node_id: int, partition: int) -> None:
        self._brokers.act(partial(self._forget, node_id, partition))

    def _forget(self, node_id: int, partition: int, now_ms: int) -> None:
        if (node_id, partition) in self._lingering:
            unload(self._node(node_id).coordinator, partition, now_ms)
            self._lingering.remove((node_id, partition))

    def _node(self, node_id: int) -> Node:
        node = self._cluster.node(node_id)
        assert node is not None, "nodes stop, but are not removed"
        return node


class _Loss(RequestFacts):
    """The loss of a group by a node, in the form that rules match."""

    __slots__ = ("_group",)

    def __init__(self, node: Node, group: Group) -> None:
        self._group = group
        self.node = node.id
        self.group = group.group_id
        self.client_id = ""
        self.members = self.instances = ()
        self.generation = NO_GENERATION

    @property
    def state(self) -> str:
        return self._group.state_name
