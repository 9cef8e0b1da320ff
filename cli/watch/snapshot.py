"""One snapshot of a cluster, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kohort.protocol.topic_partition import TopicPartition

STABLE = "Stable"
CLASSIC = "classic"
CONSUMER = "consumer"
SHARE = "share"
STREAMS = "streams"
AWAY = -2  # epoch of a static member that has left temporarily


@dataclass(frozen=True)
class SeenMember:
    """Member of a group, as described by DescribeGroups or ConsumerGroupDescribe."""

    member_id: str
    client_id: str
    host: str
    instance_id: str | None = None
    owns: tuple[TopicPartition, ...] = ()  # in a classic group only known while it is stable
    target: tuple[TopicPartition, ...] | None = None  # target assignment; None in a classic group
    epoch: int | None = None  # AWAY for a static member that will return; None in a classic group
    speaks: str = ""  # its protocol, if a group may have members of both and the broker sends it
    session_ends_in_ms: int | None = None
    """On the brokers' clock. This and the next fields are only known from a control address; None without a timer."""
    is_alive: bool = True
    waits_for: str = ""  # `join`: waits for others to join; `sync`: for its assignment

    @property
    def name(self) -> str:
        """Name for display."""
        return self.instance_id or self.client_id or self.member_id

    @property
    def to_give_up(self) -> tuple[TopicPartition, ...]:
        """Partitions that it owns and must revoke; other members may wait for them."""
        return (
            () if self.target is None else tuple(partition for partition in self.owns if partition not in self.target)
        )

    @property
    def to_get(self) -> tuple[TopicPartition, ...]:
        """Partitions of its target assignment that it does not own yet."""
        return tuple(partition for partition in self.target or () if partition not in self.owns)


@dataclass(frozen=True)
class SeenWait:
    """Reason why a group waits."""

    for_whom: str  # member; empty for a time
    what: str
    ends_in_ms: int | None  # expiry of its timer, on the brokers' clock; None without a timer
    then: str


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
        who = f" ({self.actor})" if self.actor else ""
        waited = "" if self.prepare_ms is None else f", waited {self.prepare_ms:,.0f} ms"
        last = f" for {self.laggard}" if waited and self.laggard else ""
        end = "" if self.outcome == "completed" else f", {self.outcome}"
        return f"{self.counted} {self.generation}: {self.cause}{who}{waited}{last}{end}"


@dataclass(frozen=True)
class SeenShare:
    """State of a share group's partition."""

    where: TopicPartition
    start: int  # share-partition start offset as persisted
    lag: int | None  # records before their final state; None if unknown
    held: int | None = None  # acquired records, from a control address


@dataclass(frozen=True)
class SeenGroup:
    """Group as described by its coordinator."""

    group_id: str
    state: str
    coordinator: int  # id of the node
    protocol: str = ""  # assignor; empty before one is chosen
    group_type: str = CLASSIC
    members: tuple[SeenMember, ...] | None = ()
    """None if unknown: for streams groups, and from brokers that do not describe this type of group."""
    epoch: int | None = None  # None for classic groups
    target_epoch: int | None = None
    """Epoch of the target assignment. The group is assigning while this is behind."""
    # end offsets minus committed offsets, where both are known
    lags: Mapping[TopicPartition, int] = field(default_factory=dict)
    waits: tuple[SeenWait, ...] = ()  # from a control address
    rebalances: tuple[SeenRebalance, ...] = ()  # the last ones, from a control address; newest last
    shares: tuple[SeenShare, ...] = ()  # partitions of a share group

    @property
    def lag(self) -> int | None:
        """Lag of all partitions; None without commits."""
        return sum(self.lags.values()) if self.lags else None

    @property
    def owners(self) -> dict[TopicPartition, str]:
        """Member ids by partition."""
        return {topic_partition: member.member_id for member in self.members or () for topic_partition in member.owns}

    @property
    def unowned(self) -> tuple[TopicPartition, ...]:
        """Partitions with commits that no member owns.

        Unknown in a classic group that is not stable; always known in a consumer group.
        """
        if not self.members or (self.state != STABLE and self.group_type == CLASSIC):
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
