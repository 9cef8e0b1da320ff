"""State of a classic group: members, state and generation (classic-groups §2).

Other modules of this folder change it.
"""

from collections.abc import Iterable
from typing import Any, Final

from kohort.coordinator.classic.classic_member import ANSWERED, Member
from kohort.coordinator.classic.states import ALLOWED_FROM, DELETE, REBALANCES, State
from kohort.coordinator.classic.voting import select_protocol
from kohort.coordinator.effects import Cause, Transition
from kohort.coordinator.events.event_state import GroupEventState
from kohort.coordinator.groups.group import CLASSIC, Group
from kohort.coordinator.groups.group_host import GroupHost
from kohort.coordinator.offsets.offsets import CommittedOffset
from kohort.coordinator.offsets.offsets_topic_records import group_key
from kohort.coordinator.shared_values import (
    Protocols,
    shared_protocols,
    shared_subscription,
    shared_timeout,
    shared_topics,
)
from kohort.protocol.consumer_protocol import ImpossibleLengthError
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation

_NONE: Final = ErrorCode.none
_EMPTY: Final = State.EMPTY
_PREPARING_REBALANCE: Final = State.PREPARING_REBALANCE

# The protocol type of groups whose members send their subscriptions. Those of other groups are unknown.
CONSUMER: Final = "consumer"


class ClassicGroup(Group):
    """State of a classic group (classic-groups §2.1). Collections that few groups need are created on first use."""

    __slots__ = (
        "_supporters",
        "coordinator",
        "event_state",
        "generation_id",
        "join_phase",
        "leader_id",
        "members",
        "new_member_added",
        "pending_joins",
        "pending_sync",
        "pending_sync_timer",
        "previous_state",
        "protocol_name",
        "protocol_type",
        "state",
        "state_timestamp_ms",
        "static_members",
        "subscribed_topics",
        "waiting_joins",
    )

    group_type = CLASSIC

    def __init__(self, coordinator: GroupHost, group_id: str, partition: int, wall_ms: int) -> None:
        super().__init__(group_id, partition)
        self.coordinator = coordinator
        self.state = _EMPTY
        self.previous_state = State.DEAD
        self.state_timestamp_ms = wall_ms  # wall clock of the last transition; -1 if an old record does not contain it
        self.protocol_type: str | None = None  # None until the first member is added; kept when the group gets empty
        self.protocol_name: str | None = None
        self.generation_id = 0
        self.leader_id: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] | None = None  # member ids by group instance id
        # Ids issued with MEMBER_ID_REQUIRED and not used yet, with their timers.
        self.pending_joins: dict[str, DelayedOperation] | None = None
        # `supported_protocols` of a group with two members or more; it costs nothing to compute for one member.
        self._supporters: dict[str, int] | None = None
        self.waiting_joins = 0
        self.pending_sync: set[str] | None = None  # members of this generation that have not synced yet
        self.pending_sync_timer: DelayedOperation | None = None
        self.join_phase: DelayedOperation | None = None
        # Subscriptions of all members when the last join phase ended, or None if they are unknown.
        self.subscribed_topics: frozenset[str] | None = None
        self.new_member_added = False
        self.event_state: GroupEventState | None = None  # data of the source of events

    # Queries

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def is_empty(self) -> bool:
        """Whether the group is in state Empty and can be deleted. A rebalancing group without members cannot."""
        return self.state is _EMPTY

    @property
    def version(self) -> int:
        return self.generation_id

    def refuses_delete(self) -> ErrorCode:
        return DELETE[self.state]

    def refuses_offset_delete(self) -> ErrorCode:
        allowed = self.state is _EMPTY or self.protocol_type == CONSUMER
        return _NONE if allowed else ErrorCode.non_empty_group

    def is_in_use(self, topic: str) -> bool:
        return self.state is not _EMPTY and self.is_subscribed_to(topic)

    def ages_since_ms(self, topic: str, committed: CommittedOffset) -> int | None:
        """Return the start of an offset's retention, or None while it is in use.

        It is the time at which the group became empty; for a simple group or an unsubscribed topic, the time of the
        commit.
        """
        if self.state is _EMPTY:
            by_state = self.protocol_type is not None and self.state_timestamp_ms >= 0
            return self.state_timestamp_ms if by_state else committed.commit_timestamp_ms
        has_subscriptions = self.protocol_type == CONSUMER and self.subscribed_topics is not None
        if self.state is not State.STABLE or not has_subscriptions or self.is_subscribed_to(topic):
            return None
        return committed.commit_timestamp_ms

    def record_keys(self) -> list[bytes]:
        return [group_key(self.group_id)]

    @property
    def has_all_members_joined(self) -> bool:
        """Whether the joins of all members wait and every issued member id has been used."""
        return self.waiting_joins == len(self.members) and not self.pending_joins

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of a member, at least 0."""
        return max([0, *[member.rebalance_timeout_ms for member in self.members.values()]])

    @property
    def is_simple(self) -> bool:
        """Whether the group has only offsets and never had a member."""
        return self.protocol_type is None and self.state is _EMPTY and not self.pending_joins

    @property
    def supported_protocols(self) -> dict[str, int]:
        """Number of times that members list a protocol, by name.

        A member that lists a name twice counts twice, as in Kafka.
        """
        return self._counted_protocols() if self._supporters is None else self._supporters

    def supports_protocols(self, protocol_type: str, protocols: Protocols) -> bool:
        """Return whether a client with these protocols may join (classic-groups §2.4).

        The check precedes that of the membership and includes the old protocols of the sender: a sole member cannot
        replace its protocols by others.
        """
        if self.state is _EMPTY:
            return bool(protocol_type) and bool(protocols)
        if protocol_type != self.protocol_type:
            return False
        count, supported = len(self.members), self.supported_protocols
        for name, _ in protocols:  # noqa: SIM110  # nearly always the first one; `any` takes longer
            if supported.get(name, 0) == count:
                return True
        return False

    def accepts(self, member_id: str, max_size: int) -> bool:
        """Return whether the group is below its maximum size (classic-groups §3.8).

        During a rebalance the waiting joins are counted, not the members.
        """
        if self.state is _EMPTY:
            return True
        member = self.members.get(member_id)
        if self.state is _PREPARING_REBALANCE:
            return (member is not None and member.join_ticket is not None) or self.waiting_joins < max_size
        return member is not None or len(self.members) < max_size

    def check_member(self, member_id: str, group_instance_id: str | None) -> ErrorCode:
        """Return NONE, UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID (KIP-345; Kafka: `ClassicGroup.validateMember`)."""
        if group_instance_id is not None:
            current_id = self.static_members.get(group_instance_id) if self.static_members else None
            if current_id is None:
                return ErrorCode.unknown_member_id
            if current_id != member_id:
                self.coordinator.observer.member_fenced(self, member_id, group_instance_id)
                return ErrorCode.fenced_instance_id
        return _NONE if member_id in self.members else ErrorCode.unknown_member_id

    def static_member_id(self, group_instance_id: str | None) -> str | None:
        if group_instance_id is None or self.static_members is None:
            return None
        return self.static_members.get(group_instance_id)

    def is_pending(self, member_id: str) -> bool:
        return self.pending_joins is not None and member_id in self.pending_joins

    def choose_protocol(self) -> str:
        """Return the protocol that a vote selects now. Raises NoCommonProtocol."""
        count = len(self.members)
        candidates = {name for name, supporters in self.supported_protocols.items() if supporters == count}
        return select_protocol(self.members.values(), candidates)

    def is_subscribed_to(self, topic: str) -> bool:
        """Return whether a `consumer` group subscribes to a topic; True if its subscriptions are unknown."""
        return self.protocol_type == CONSUMER and (self.subscribed_topics is None or topic in self.subscribed_topics)

    # Changes

    def add(self, member: Member, ticket: object | None) -> None:
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._count_protocols(member.protocols, 1)
        if member.group_instance_id is not None:
            if self.static_members is None:
                self.static_members = {}
            self.static_members[member.group_instance_id] = member.member_id
        self.await_join(member, ticket)

    def remove(self, member_id: str) -> None:
        """Remove a member or a pending id. The first remaining member replaces a removed leader.

        The caller answers its waiting join; a waiting sync is never answered (classic-groups §6.4).
        """
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count_protocols(member.protocols, -1)
            self.await_join(member, None)
            if member.session is not None:
                self.coordinator.purgatory.cancel(member.session)
                member.session = None
            if member.group_instance_id is not None and self.static_members is not None:
                self.static_members.pop(member.group_instance_id, None)
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        self.forget_pending(member_id)
        if self.pending_sync is not None:
            self.pending_sync.discard(member_id)

    def forget_pending(self, member_id: str) -> None:
        session = self.take_pending(member_id)
        if session is not None:
            self.coordinator.purgatory.cancel(session)

    def take_pending(self, member_id: str) -> DelayedOperation | None:
        """Remove an issued member id and return its running timer, or None if the id was not issued."""
        if self.pending_joins is None:
            return None
        session = self.pending_joins.pop(member_id, None)
        if not self.pending_joins:
            self.pending_joins = None
        return session

    def await_join(self, member: Member, ticket: object | None) -> None:
        """Set the ticket of a member's waiting join, None if it no longer waits.

        An earlier join is never answered (classic-groups §3.5).
        """
        self.waiting_joins += (ticket is not None) - (member.join_ticket is not None)
        member.join_ticket = ticket

    def take_joins(self) -> list[tuple[Any, str]]:
        joins = []
        for member in self.members.values():
            ticket = member.join_ticket
            if ticket is not None:
                member.join_ticket = None
                if ticket is not ANSWERED:
                    joins.append((ticket, member.member_id))
        self.waiting_joins = 0
        return joins

    def update_member(
        self, member: Member, protocols: Protocols, rebalance_timeout_ms: int, session_timeout_ms: int
    ) -> None:
        if protocols != member.protocols:
            self._count_protocols(member.protocols, -1)
            self._count_protocols(protocols, 1)
            member.protocols = shared_protocols(protocols)
        if rebalance_timeout_ms != member.rebalance_timeout_ms:
            member.rebalance_timeout_ms = shared_timeout(rebalance_timeout_ms)
        if session_timeout_ms != member.session_timeout_ms:
            member.session_timeout_ms = shared_timeout(session_timeout_ms)

    def rename_member(self, member: Member, member_id: str) -> None:
        """Give a member another id. It stays the leader and keeps its instance id.

        `pending_sync` keeps the old id, which makes the sync timer start a rebalance (classic-groups §3.6 step 5).
        """
        old_id = member.member_id
        del self.members[old_id]
        member.member_id = member_id
        self.members[member_id] = member
        if self.leader_id == old_id:
            self.leader_id = member_id
        assert member.group_instance_id is not None, "only static members are replaced"
        assert self.static_members is not None, "a static member is registered"
        self.static_members[member.group_instance_id] = member_id

    def start_generation(self) -> None:
        """Start the next generation: select its protocol and read its subscriptions. The caller changes the state.

        Raises:
            NoCommonProtocol: The generation has been incremented already, as for consumer.ImpossibleLengthError: as in
                Kafka, the group stays in PreparingRebalance with the new generation (classic-groups §2.4).
        """
        self.generation_id += 1
        self.protocol_name = self.choose_protocol() if self.members else None
        tolerant = self.coordinator.settings.rules.tolerates_unreadable_subscriptions
        self.subscribed_topics = self.read_subscriptions(tolerant=tolerant)
        self.pending_sync = None

    def read_subscriptions(self, *, tolerant: bool = False) -> frozenset[str] | None:
        """Return the topics of all members' metadata for the selected protocol, or None if they are unknown.

        Args:
            tolerant: Whether metadata that cannot be decoded counts as unknown, as of Kafka 4.4.

        Raises:
            ImpossibleLengthError: Metadata cannot be decoded.
        """
        if self.protocol_type != CONSUMER:
            return None
        subscriptions = []
        # Members of one application send equal metadata: the subscriptions of thousands are read once.
        for metadata in dict.fromkeys(member.metadata(self.protocol_name) for member in self.members.values()):
            try:
                topics = shared_subscription(metadata)
            except ImpossibleLengthError:
                if not tolerant:
                    raise
                return None
            if topics is None:
                return None
            subscriptions.append(topics)
        return subscriptions[0] if len(subscriptions) == 1 else shared_topics(frozenset().union(*subscriptions))

    def move(self, state: State, cause: Cause, now_ms: int) -> None:
        assert self.state in ALLOWED_FROM[state], f"{self.state} -> {state}"
        coordinator = self.coordinator
        self.previous_state = self.state
        self.state = state
        self.state_timestamp_ms = coordinator.wall_ms(now_ms)
        coordinator.effects.append(
            Transition(
                self.group_id,
                self.partition,
                self.previous_state.value,
                state.value,
                self.generation_id,
                len(self.members),
                cause,
            )
        )

    @property
    def can_rebalance(self) -> bool:
        return self.state in REBALANCES

    def _count_protocols(self, protocols: Iterable[tuple[str, bytes]], by: int) -> None:
        supported = self._supporters
        if len(self.members) < 2:
            self._supporters = None
        elif supported is None:
            self._supporters = self._counted_protocols()
        else:  # the counts avoid iterating over many members
            for name, _ in protocols:
                count = supported.get(name, 0) + by
                if count:
                    supported[name] = count
                else:
                    del supported[name]

    def _counted_protocols(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for member in self.members.values():
            for name, _ in member.protocols:
                counts[name] = counts.get(name, 0) + 1
        return counts
