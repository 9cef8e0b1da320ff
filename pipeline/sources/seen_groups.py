"""Group in a rebalance as its coordinator describes it (ListGroups, DescribeGroups, ConsumerGroupDescribe)."""

from __future__ import annotations

from dataclasses import dataclass

PREPARING, COMPLETING, RECONCILING = "PreparingRebalance", "CompletingRebalance", "Reconciling"
IN_REBALANCE = (PREPARING, COMPLETING, RECONCILING)

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class SeenMember:
    """Member of a group; epoch, owned and target are set in groups of the consumer protocol only."""

    member_id: str
    client_id: str
    host: str
    instance_id: str | None = None
    epoch: int = -1
    owned: frozenset[TopicPartition] = frozenset()
    target: frozenset[TopicPartition] = frozenset()

    def __str__(self) -> str:
        """Format for users, as in "hg-1 on /10.0.0.7"."""
        return f"{self.instance_id or self.client_id or self.member_id} on {self.host}"


@dataclass(frozen=True, slots=True)
class SeenGroup:
    """Group in a rebalance.

    node: Address of its coordinator.
    epoch: Group epoch, in groups of the consumer protocol only.
    """

    group_id: str
    state: str
    node: str
    members: tuple[SeenMember, ...] = ()
    epoch: int = -1
