"""Members of a group, for every group type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

Partitions = Mapping[str, tuple[int, ...]]  # partition numbers by topic

LEFT_TEMPORARILY = -2  # epoch of a static member that has left and may return


class Evidence(Enum):
    """The origin of what is known about a member."""

    STATE = "the coordinator's state"
    REQUESTS = "its own requests"
    DESCRIPTION = "a list of members in a response of the cluster"


class Role(NamedTuple):
    """Partitions or tasks of a member in one role."""

    name: str  # empty for partitions
    assigned: frozenset[Any]
    revoking: frozenset[Any]
    target: tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class GroupMember:
    """Snapshot of a member."""

    member_id: str
    instance_id: str | None  # the `group.instance.id` of a static member
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    is_leader: bool = False
    is_alive: bool = True  # whether its connection is open and no fault silences it
    # `join`: for other members to join; `sync`: for its assignment; `partitions` or `tasks`: for some that other
    # members still own (KIP-848, KIP-1071); empty: for nothing
    waits_for: str = ""
    partitions: Partitions  # also empty if the group's protocol type is not `consumer`
    speaks: str  # the protocol: `classic`, `consumer`, `share` or `streams`; a consumer group may mix the first two
    epoch: int  # the member epoch, -2 after a static member left temporarily; in a classic group the generation
    state: str = ""  # in a consumer group `Stable`, `UnrevokedPartitions` (must revoke some) or `UnreleasedPartitions`
    target: Partitions  # the target assignment; in a classic group the current one
    revoking: Partitions = field(default_factory=dict)  # partitions that it must still revoke
    topics: tuple[str, ...] = ()  # subscribed topic names, sorted
    topic_regex: str = ""  # the subscribed pattern, or empty
    assignor: str = ""  # the server-side assignor that it votes for, or empty
    # time on the brokers' clock until a silent member is removed; None while its request waits, or if unknown
    session_ends_in_ms: int | None = None
    # time until it is removed if it doesn't revoke; None if nothing is to be revoked, or if unknown
    revocation_ends_in_ms: int | None = None

    # Facts that only explanations use

    process_id: str = ""  # in a streams group the process of the thread: members of one process share its state
    listed_assignors: tuple[str, ...] = field(default=(), repr=False)  # assignors that a classic member supports
    heartbeat_gaps: Mapping[int, int] = field(default_factory=dict, repr=False, compare=False)
    """Number of heartbeats by the time since the previous one in milliseconds; empty if they are not counted."""
    evidence: Evidence = field(default=Evidence.STATE, repr=False)
    silent_ms: int | None = field(default=None, repr=False)  # time since its last observed request; None if unknown

    @property
    def is_away(self) -> bool:
        """Whether it is a static member that has left temporarily."""
        return self.epoch == LEFT_TEMPORARILY

    @property
    def owned(self) -> tuple[tuple[str, int], ...]:
        """Its partitions as pairs, with those that it must revoke."""
        return tuple(sorted(pairs(self.partitions) | pairs(self.revoking)))

    @property
    def missing(self) -> tuple[tuple[str, int], ...]:
        """Partitions of its target assignment that it does not own yet."""
        return tuple(sorted(pairs(self.target) - pairs(self.partitions) - pairs(self.revoking)))

    @property
    def is_observed(self) -> bool:
        """Whether its own requests or the coordinator's state show it."""
        return self.evidence is not Evidence.DESCRIPTION

    @property
    def assignment_text(self) -> str:
        """Its partitions or tasks as text."""
        return list_partitions(self.partitions)

    @property
    def revoking_text(self) -> str:
        """The partitions or tasks that it must revoke, as text; empty without any."""
        return list_partitions(self.revoking) if self.revoking else ""

    @property
    def roles(self) -> tuple[Role, ...]:
        """What it has in each role. Partitions have one role without a name."""
        return (Role("", pairs(self.partitions), pairs(self.revoking), tuple(sorted(pairs(self.target)))),)

    def __str__(self) -> str:
        return self.instance_id or self.client_id or self.member_id


@dataclass(frozen=True)
class MemberTasks:
    """Tasks by role. Task ids are those of Kafka Streams: `0_3` is partition 3 of subtopology 0."""

    active: tuple[str, ...] = ()
    standby: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.active or self.standby)

    def __str__(self) -> str:
        roles = (("active", self.active), ("standby", self.standby))
        return "; ".join(f"{role} {' '.join(tasks)}" for role, tasks in roles if tasks) or "nothing"


@dataclass(frozen=True, kw_only=True)
class TaskMember(GroupMember):
    """A member of a streams group at the moment of the call: a thread of an application."""

    topology_epoch: int | None  # the epoch of the topology that it sent; None if unknown
    tasks: MemberTasks  # assigned tasks
    pending: MemberTasks  # tasks that it must revoke and has not revoked yet
    target_tasks: MemberTasks  # tasks of its target assignment

    @property
    def assignment_text(self) -> str:
        return str(self.tasks)

    @property
    def revoking_text(self) -> str:
        return str(self.pending) if self.pending else ""

    @property
    def roles(self) -> tuple[Role, ...]:
        return tuple(
            Role(name, frozenset(getattr(self.tasks, name)), frozenset(getattr(self.pending, name)), target)
            for name, target in (("active", self.target_tasks.active), ("standby", self.target_tasks.standby))
        )


def member_names(members: Iterable[GroupMember]) -> dict[str, str]:
    """Return display names by member id: the instance id, the client id if it is unique, or the member id."""
    members = list(members)
    count = Counter(member.client_id for member in members)
    return {
        member.member_id: member.instance_id
        or (member.client_id if member.client_id and count[member.client_id] == 1 else member.member_id)
        for member in members
    }


def pairs(partitions: Partitions) -> frozenset[tuple[str, int]]:
    return frozenset((topic, number) for topic, numbers in partitions.items() for number in numbers)


def list_partitions(partitions: Partitions) -> str:
    return "; ".join(f"{topic} {', '.join(map(str, numbers))}" for topic, numbers in partitions.items()) or "nothing"


def by_topic(partitions: Iterable[tuple[str, int]]) -> dict[str, tuple[int, ...]]:
    numbers: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        numbers.setdefault(topic, []).append(number)
    return {topic: tuple(topic_numbers) for topic, topic_numbers in numbers.items()}


def task_names(tasks: Mapping[str, Iterable[int]]) -> Iterator[str]:
    """Yield the ids of tasks, given partitions by subtopology id."""
    for subtopology_id in sorted(tasks):
        for partition in sorted(tasks[subtopology_id]):
            yield f"{subtopology_id}_{partition}"
