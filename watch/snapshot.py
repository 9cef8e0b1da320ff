"""What one look at a cluster showed: values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kohort.protocol.topic_partition import TopicPartition

STABLE = "Stable"
CLASSIC = "classic"
CONSUMER = "consumer"
SHARE = "share"
STREAMS = "streams"
AWAY = -2
"""The epoch of a static member that has left for a short time."""


@dataclass(frozen=True)
class SeenMember:
    """A member of a group, as DescribeGroups or ConsumerGroupDescribe describes it."""

    member_id: str
    client_id: str
    host: str
    instance_id: str | None = None
    owns: tuple[TopicPartition, ...] = ()
    """In a classic group known only while the group is stable."""
    target: tuple[TopicPartition, ...] | None = None
    """What it is to own when it has reconciled. None: in a classic group."""
    epoch: int | None = None
    """AWAY: it is static and will come back. None: in a classic group."""
    speaks: str = ""
    """The protocol that it speaks, where a group may have both kinds of members and the broker says so."""
    session_ends_in_ms: int | None = None
    """On the brokers' clock. Only a control address shows this and what follows; None: no timer, or not known."""
    is_alive: bool = True
    waits_for: str = ""
    """`join`: for the others to join; `sync`: for its share."""

    @property
    def name(self) -> str:
        """What a person calls it."""
        return self.instance_id or self.client_id or self.member_id

    @property
    def to_give_up(self) -> tuple[TopicPartition, ...]:
        """Partitions that it owns and is not to own any more; others may wait for them."""
        return () if self.target is None else tuple(each for each in self.owns if each not in self.target)

    @property
    def to_get(self) -> tuple[TopicPartition, ...]:
        """Partitions that it is to own and does not own yet."""
        return tuple(each for each in self.target or () if each not in self.owns)


@dataclass(frozen=True)
class SeenWait:
    """Something that a group waits for."""

    for_whom: str
    """Empty: for time to go by."""
    what: str
    ends_in_ms: int | None
    """When its timer ends it, on the brokers' clock; None: no timer does."""
    then: str


@dataclass(frozen=True)
class SeenRebalance:
    """A rebalance, and why there was one."""

    number: int
    generation: int
    cause: str
    actor: str
    outcome: str
    prepare_ms: float | None
    laggard: str
    began_s_ago: float = field(compare=False)
    counted: str = "generation"
    """What `generation` counts; in a consumer group its epochs."""

    @property
    def is_over(self) -> bool:
        """Whether it came to an end, or to the next one."""
        return self.outcome != "open"

    def __str__(self) -> str:
        who = f" ({self.actor})" if self.actor else ""
        waited = "" if self.prepare_ms is None else f", waited {self.prepare_ms:,.0f} ms"
        last = f" for {self.laggard}" if waited and self.laggard else ""
        end = "" if self.outcome == "completed" else f", {self.outcome}"
        return f"{self.counted} {self.generation}: {self.cause}{who}{waited}{last}{end}"


@dataclass(frozen=True)
class SeenShare:
    """How far a share group is with a partition."""

    where: TopicPartition
    start: int
    """The first offset that is not done with, as it was written down."""
    lag: int | None
    """Records that are not done with; None: not known."""
    held: int | None = None
    """Records that members hold, where a control address shows it."""


@dataclass(frozen=True)
class SeenGroup:
    """A group, as its coordinator describes it."""

    group_id: str
    state: str
    coordinator: int
    """The id of the node that looks after it."""
    protocol: str = ""
    """The assignor; empty while none is chosen."""
    group_type: str = CLASSIC
    members: tuple[SeenMember, ...] | None = ()
    """None: not known, as of streams groups, or from brokers that do not describe groups of its kind."""
    epoch: int | None = None
    """Classic groups have none."""
    target_epoch: int | None = None
    """The epoch for which its target assignment was computed. The group is assigning while this is behind."""
    lags: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Records between what is committed and the end of the partition, where both are known."""
    waits: tuple[SeenWait, ...] = ()
    """Whom it waits for, where a control address shows it."""
    rebalances: tuple[SeenRebalance, ...] = ()
    """The last ones, where a control address shows them; the newest last."""
    shares: tuple[SeenShare, ...] = ()
    """The partitions of a share group."""

    @property
    def lag(self) -> int | None:
        """The lag of all partitions together; None: nothing is committed."""
        return sum(self.lags.values()) if self.lags else None

    @property
    def owners(self) -> dict[TopicPartition, str]:
        """Member ids by partition."""
        return {topic_partition: member.member_id for member in self.members or () for topic_partition in member.owns}

    @property
    def unowned(self) -> tuple[TopicPartition, ...]:
        """Partitions that the group has committed for, and no member has.

        Nobody knows of a classic group that is not stable. Of consumer groups it is always known.
        """
        if not self.members or (self.state != STABLE and self.group_type == CLASSIC):
            return ()
        owners = self.owners
        return tuple(topic_partition for topic_partition in sorted(self.lags) if topic_partition not in owners)


@dataclass(frozen=True)
class Snapshot:
    """One look."""

    at: float
    """Seconds since 1970."""
    brokers: int
    groups: tuple[SeenGroup, ...]
    """By id."""
    problems: tuple[str, ...] = ()
    """What could not be seen, in a sentence each."""
    laboratory: tuple[str, ...] = ()
    """How the clock goes, and what spoils or holds requests. Empty: no control address was asked."""
