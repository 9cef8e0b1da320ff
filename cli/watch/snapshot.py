"""One snapshot of a cluster, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kohort.groups.explanation import Wait
from kohort.groups.group_view import GroupView
from kohort.protocol.topic_partition import TopicPartition

STABLE = "Stable"


@dataclass(frozen=True)
class SeenRebalance:
    """Rebalance and its cause."""

    number: int
    generation: int
    cause: str
    actor: str
    outcome: str
    prepare_ms: float | None
    laggard: str
    began_s_ago: float = field(compare=False)
    counted: str = "generation"  # unit of `generation`, epochs in a consumer group

    @property
    def is_over(self) -> bool:
        """Whether it completed, or the next one began."""
        return self.outcome != "open"

    def __str__(self) -> str:
        client = f" ({self.actor})" if self.actor else ""
        waited = "" if self.prepare_ms is None else f", waited {self.prepare_ms:,.0f} ms"
        last = f" for {self.laggard}" if waited and self.laggard else ""
        end = "" if self.outcome == "completed" else f", {self.outcome}"
        return f"{self.counted} {self.generation}: {self.cause}{client}{waited}{last}{end}"


@dataclass(frozen=True)
class SeenShare:
    """State of a share group's partition."""

    topic_partition: TopicPartition
    start: int  # share-partition start offset as persisted
    lag: int | None  # records before their final state; None if unknown
    held: int | None = None  # acquired records, from a control address


@dataclass(frozen=True, kw_only=True)
class SeenGroup(GroupView):
    """Group as described by its coordinator, with its lags; incomplete if its members are not available.

    Tasks are like partitions: `("active 0", 3)` is the active task 0_3.
    """

    coordinator: int  # id of the node
    # end offsets minus committed offsets, where both are known
    lags: Mapping[TopicPartition, int] = field(default_factory=dict)
    waits: tuple[Wait, ...] = ()  # from a control address
    rebalances: tuple[SeenRebalance, ...] = ()  # the last ones, from a control address; newest last
    shares: tuple[SeenShare, ...] = ()  # partitions of a share group

    @property
    def epoch(self) -> int | None:
        """The group epoch, or None for classic groups."""
        return self.version if self.about_type.has_epochs else None

    @property
    def lag(self) -> int | None:
        """Lag of all partitions; None without commits."""
        return sum(self.lags.values()) if self.lags else None

    @property
    def owners(self) -> dict[TopicPartition, str]:
        """Member ids by partition."""
        return {topic_partition: member.member_id for member in self.members for topic_partition in member.owned}

    @property
    def unowned(self) -> tuple[TopicPartition, ...]:
        """Partitions with commits that no member owns.

        Unknown in a classic group that is not stable; always known in a consumer group.
        """
        if not self.members or (self.state != STABLE and not self.about_type.has_epochs):
            return ()
        owners = self.owners
        return tuple(topic_partition for topic_partition in sorted(self.lags) if topic_partition not in owners)


@dataclass(frozen=True)
class Snapshot:
    """State of a cluster at one time."""

    at: float  # seconds since 1970
    brokers: int
    groups: tuple[SeenGroup, ...]  # sorted by id
    problems: tuple[str, ...] = ()  # sentences about what is missing
    laboratory: tuple[str, ...] = ()  # speed of the clock, faults and gates; empty without a control address
