"""`GroupView`: a group of any type at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from kohort.groups.group_members import GroupMember, member_names
from kohort.groups.shared_records import InFlightRecords, SharePartitionState
from kohort.groups.topology import LabTopology
from kohort.groups.type_words import GroupType, words_of

JOIN, SYNC = "join", "sync"


@dataclass(frozen=True, kw_only=True)
class RebalancePhase:
    """Phase of a classic group's rebalance: its members join, or they synchronize."""

    step: str  # JOIN or SYNC
    awaited: tuple[str, ...]  # ids of members that have not sent their requests
    ends_in_ms: int | None = None  # time until a timer ends the phase; None if that is unknown
    since_ms: int | None = None  # duration of the phase so far; None if unknown
    is_assigning: bool = False  # whether the assignment has not been stored yet
    is_initial_delay: bool = False  # whether the first members of a new group wait for others
    next_round_ms: int = 0  # remaining time of the initial delay if a further round follows this one; 0: none
    is_stuck: bool = False  # whether its join phase failed, from which a group does not recover (as in Kafka)


@dataclass(frozen=True)
class TopicProblem:
    """Why tasks of a streams group cannot be assigned."""

    code: str  # Kafka's name: MISSING_SOURCE_TOPICS
    detail: str
    is_internal: bool  # whether the group's heartbeats try to create the topics


@dataclass(frozen=True, kw_only=True)
class StreamsView:
    """What only a streams group has."""

    topology: LabTopology | None  # None if no member has sent one
    problems: tuple[TopicProblem, ...] | None  # None if the topics have not been checked
    status: Mapping[str, str]  # the status that members receive with their tasks: Kafka's names with sentences
    initial_delay_in_ms: int | None  # remaining time of the initial rebalance delay, or None if it does not run
    shutdown_requested_by: str | None  # member id
    standby_replicas: int
    is_stateful: bool  # whether a subtopology has a state store


@dataclass(frozen=True, kw_only=True)
class ShareView:
    """What only a share group has."""

    partitions: tuple[SharePartitionState, ...]
    in_flight: tuple[InFlightRecords, ...]
    delivery_count_limit: int
    max_record_locks: int
    record_lock_ms: int
    expired_locks: Mapping[str, int] = field(default_factory=dict)  # number of expired locks by member id


@dataclass(frozen=True, kw_only=True)
class GroupView:
    """A group at one moment. Unknown facts have the value None, or they are empty."""

    group_id: str
    type: str  # `classic`, `consumer`, `share` or `streams`; empty if the group does not exist
    state: str  # as on the wire; empty if unknown
    version: int | None  # the generation of a classic group, the group epoch of any other; None if unknown
    target_epoch: int | None = None  # epoch of the target assignment; the generation of a classic group
    protocol: str = ""  # the assignor in use, or empty
    members: tuple[GroupMember, ...] = ()  # in the order in which they joined
    leader_id: str | None = None
    phase: RebalancePhase | None = None  # of a rebalance in a classic group
    unused_ids: tuple[tuple[str, int], ...] = ()  # issued member ids with the milliseconds until each expires
    next_target_in_ms: int | None = None  # time until the next target may be computed; None if none is needed
    heartbeat_interval_ms: int | None = None  # setting of the group; None in a classic group
    session_timeout_ms: int | None = None  # setting of the group; None in a classic group
    restarts: Mapping[str, int] = field(default_factory=dict)  # ended memberships of dynamic members by client id
    streams: StreamsView | None = None
    share: ShareView | None = None

    # What is known

    knows_timers: bool = True  # whether the source knows when timers end
    is_complete: bool = True  # whether all members are known
    is_lower_bound: bool = False  # whether the version may be higher
    not_described: str = ""  # why the cluster does not describe the group; empty without an error
    described_ms_ago: int | None = None  # age of the cluster's last description; None: none

    @property
    def about_type(self) -> GroupType:
        return words_of(self.type)

    @cached_property
    def names(self) -> dict[str, str]:
        """Display names by member id."""
        return member_names(self.members)

    @property
    def evidence_text(self) -> str:
        """The origin of members without requests of their own, as text."""
        if self.described_ms_ago is None:
            return "named to the leader"
        return f"described {self.described_ms_ago / 1_000:.1f} s ago"
