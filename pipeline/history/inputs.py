"""Input of the analysis of one group, and its basic value types."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from kohort.pipeline.records.offset_commits import Ints
from kohort.pipeline.silver.silver_rows import GroupMember, GroupRecord, MemberPartitions, ShareStateRecord
from kohort.pipeline.sources.source_rows import GroupEvent, ShareLagSample

RowT = TypeVar("RowT", GroupMember, MemberPartitions)

TopicPartition = tuple[str, int]


@dataclass(slots=True)
class PartitionCommits:
    """Commits of one partition in log order (record time, committed offset), without aborted and pending ones."""

    ts_ms: Ints
    committed: Ints
    gone_ms: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # times of tombstones
    expiring: int = 0  # commits with their own retention time

    def position(self, at_ms: int) -> int | None:
        """Return the committed offset at a time, or None before the first commit, after a tombstone or an expiry."""
        deleted_ms = self.gone_ms[self.gone_ms <= at_ms]
        inside = (self.ts_ms <= at_ms) & (self.ts_ms > (deleted_ms[-1] if len(deleted_ms) else -1))
        return int(self.committed[inside][-1]) if inside.any() else None


@dataclass(slots=True)
class LogEnds:
    """Samples of one partition's log by time. `last_stable` is -1 where a sample does not contain it."""

    sampled_ms: Ints
    log_start: Ints
    log_end: Ints
    last_stable: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        if not len(self.last_stable):
            self.last_stable = np.full(len(self.sampled_ms), -1, np.int64)


@dataclass(slots=True)
class GroupInput:
    """Data of one group.

    Attributes:
        intact_from: Offset in the group's partition from which no record is missing; before it the log was compacted.
        coordinator_moves: Times at which the group's partition got a new leader, with its epoch.
        since_ms: Start of the requested period; 0 means everything.
        until_ms: End of the analyzed period: the latest time in any source.
        ahead_ms: Time by which each broker's text log was ahead, by its zone or its clock; its events are already
            moved.
        conflicts: Records that differ between two sources at the same position in the log.
        duplicate_lines: Lines that several text logs contain, beyond the first.
        names: Names of members whose client id isn't unique, by member id.
    """

    group_id: str
    cluster: str = ""
    commits: dict[TopicPartition, PartitionCommits] = field(default_factory=dict)
    records: list[GroupRecord] = field(default_factory=list)
    members: list[GroupMember] = field(default_factory=list)
    parts: list[MemberPartitions] = field(default_factory=list)
    events: list[GroupEvent] = field(default_factory=list)
    share_states: list[ShareStateRecord] = field(default_factory=list)
    share_lags: list[ShareLagSample] = field(default_factory=list)
    ends: dict[TopicPartition, LogEnds] = field(default_factory=dict)
    topic_names: dict[str, str] = field(default_factory=dict)
    coordinator_moves: list[tuple[int, int]] = field(default_factory=list)
    intact_from: int = 0
    since_ms: int = 0
    until_ms: int = 0
    aborted_commits: int = 0
    ahead_ms: dict[str, int] = field(default_factory=dict)
    conflicts: int = 0
    duplicate_lines: int = 0
    names: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Member:
    """A member as one record shows it.

    Attributes:
        owned: Partitions that it reported as owned, or None if its client does not report them.
        called: Name of a member whose client id isn't unique.
    """

    member_id: str
    instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    topics: tuple[str, ...] | None = None
    regex: str | None = None
    owned: frozenset[TopicPartition] | None = None
    speaks: str = "classic"
    is_leader: bool = False
    epoch: int = -1
    state: int = 0
    called: str | None = None

    @property
    def logical(self) -> str:
        """Name that a process or pod keeps across restarts, as far as the log shows it."""
        if not self.is_known:
            return self.member_id
        return self.instance_id or self.called or f"{self.client_id}@{self.client_host.lstrip('/')}"

    @property
    def is_known(self) -> bool:
        """Whether anything but its id is known. If not, it may be static or a restart of another member."""
        return bool(self.instance_id or self.called or self.client_id)

    @property
    def name(self) -> str:
        """Shortest name that no other member has at the same time."""
        return self.called or self.client_id or self.instance_id or self.member_id

    @property
    def identity(self) -> str:
        """Name that the process shares with its earlier and later member ids."""
        return self.instance_id or self.name


@dataclass(slots=True)
class Generation:
    """A generation of a classic group, or an epoch of a consumer group.

    Attributes:
        barrier_ms: End of the join barrier, or None without a barrier or if it is unknown.
        stable_ms: Time at which its assignment was stored.
        end_ms: Time at which the next one was stored or the group was deleted; None for the last.
        conversion: Whether the group became classic again when the last consumer member left; no barrier ended there.
    """

    number: int
    stable_ms: int
    barrier_ms: int | None = None
    members: dict[str, Member] = field(default_factory=dict)
    owners: dict[TopicPartition, str] = field(default_factory=dict)
    kind: str = "classic"
    protocol: str | None = None
    leader: str | None = None
    size: int = 0
    offset: int = -1
    end_ms: int | None = None
    intact: bool = True
    from_events: bool = False
    conversion: bool = False

    def parts_of(self, member_id: str) -> set[TopicPartition]:
        return {topic_partition for topic_partition, owner in self.owners.items() if owner == member_id}

    def shares(self) -> dict[str, set[TopicPartition]]:
        """Return the partitions of each member, empty for a member without any. Computed at each call."""
        partitions: dict[str, set[TopicPartition]] = {member_id: set() for member_id in self.members}
        for topic_partition, owner in self.owners.items():
            partitions.setdefault(owner, set()).add(topic_partition)
        return partitions

    @property
    def rebalance_timeout_ms(self) -> int | None:
        """Timeout of the join barrier: the largest of the members' timeouts."""
        return max((m.rebalance_timeout_ms for m in self.members.values() if m.rebalance_timeout_ms), default=None)


@dataclass(slots=True)
class Swap:
    """A static member that returned with a new member id without a rebalance."""

    ts_ms: int
    old: Member
    new: Member
    generation: Generation

    @property
    def instance_id(self) -> str:
        return self.new.instance_id or ""


def by_offset(rows: Iterable[RowT]) -> dict[int, list[RowT]]:
    result: dict[int, list[RowT]] = {}
    for row in rows:
        result.setdefault(row.offset, []).append(row)
    return result
