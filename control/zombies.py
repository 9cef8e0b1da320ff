"""Zombie coordinators: nodes that go on answering for groups after others have taken them over.

So it is with a broker that the controller no longer reaches: to itself it is the leader still. It answers heartbeats,
lets members join, names itself to whoever looks for the coordinator, and its timers run; but what it writes is fenced,
since the leader epoch has moved on (KIP-101), and so no commit and no assignment of its counts. Clients hear of such a
write what Kafka answers after NOT_LEADER_OR_FOLLOWER: NOT_COORDINATOR.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from kohort.control.faults.actions import StayLeader
from kohort.control.request_facts import NO_GENERATION, RequestFacts
from kohort.coordinator.context import Shard
from kohort.coordinator.loading import unload

if TYPE_CHECKING:
    from kohort.broker.cluster.group_events import Recorded
    from kohort.broker.cluster.node import Node
    from kohort.control.brokers import Brokers
    from kohort.control.faults.rules import Rule
    from kohort.coordinator.classic.classic_group import ClassicGroup
    from kohort.coordinator.context import CoordinatorContext
    from kohort.coordinator.group import Group
    from kohort.storage.topic import Partition

FIND_COORDINATOR = "FindCoordinator"
GROUP_KEYS = 0
"""FindCoordinator's key type of groups; transactional ids have others."""


class Zombies:
    """Keeps from some leaders of `__consumer_offsets` that they are none any more."""

    def __init__(self, brokers: Brokers, rules: Iterable[Rule]) -> None:
        self._brokers = brokers
        self._cluster = brokers.cluster
        self._rules = rules
        self._lingering: set[tuple[int, int]] = set()
        """Node id and partition."""

    def __bool__(self) -> bool:
        return bool(self._lingering)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(sorted(self._lingering))

    # What brokers ask of leaders; see `BrokerHooks`

    def hides_loss(self, partition: Partition) -> bool:
        """A leader is about to lose a partition of `__consumer_offsets`: whether a rule keeps that from it."""
        node = self._cluster.node(partition.leader)
        if node is None or not node.running or not self._goes_on(node, partition):
            return False
        self._lingering.add((node.id, partition.index))
        return True

    def elected(self, partition: Partition, now_ms: int) -> None:
        """A partition has another leader: if that was a zombie, it is none any more and loads like any other."""
        self._forget(partition.leader, partition.index, now_ms)

    # What the laboratory asks

    def has(self, coordinator: CoordinatorContext, partition: int) -> bool:
        """Whether this coordinator is a zombie for the groups of a partition."""
        return any(
            where == partition and self._node(node_id).coordinator is coordinator for node_id, where in self._lingering
        )

    def has_rival(self, group: Group) -> bool:
        """Whether there are several who answer for a group, one of them rightly."""
        return any(partition == group.partition for _, partition in self._lingering)

    def is_from_zombie(self, recorded: Recorded) -> bool:
        """Whether an event is a zombie's."""
        return bool(self._lingering) and (recorded.node_id, recorded.event.co_partition) in self._lingering

    def rewrite_coordinator(self, node: Node, facts: RequestFacts, response: Any) -> None:
        """A zombie names itself to whoever asks it for a group's coordinator."""
        if facts.api != FIND_COORDINATOR or facts.request.key_type != GROUP_KEYS:
            return
        for found in response.coordinators:
            if (node.id, node.coordinator.partition_of(found.key)) in self._lingering:
                found.node_id = node.id
                found.host, found.port = node.address_for(facts.ticket)

    # Within

    def _goes_on(self, node: Node, partition: Partition) -> bool:
        coordinator = node.coordinator
        if coordinator.shards.get(partition.index) is not Shard.ACTIVE:
            return False
        groups = [each for each in coordinator.groups.values() if each.partition == partition.index]
        for rule in self._rules:
            action = rule.action
            if isinstance(action, StayLeader) and any(rule.takes(_Loss(node, each)) for each in groups):
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
        assert node is not None, "nodes stop, but they do not vanish"
        return node


class _Loss(RequestFacts):
    """A node that loses a group, as rules look at it."""

    __slots__ = ("_group",)

    def __init__(self, node: Node, group: ClassicGroup) -> None:
        self._group = group
        self.node = node.id
        self.group = group.group_id
        self.client_id = ""
        self.members = self.instances = ()
        self.generation = NO_GENERATION

    @property
    def state(self) -> str:
        return self._group.state.value
