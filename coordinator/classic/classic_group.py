"""A classic group: who is in it, in which state and generation (classic-groups §2). The files beside change it."""

from collections.abc import Iterable
from typing import Any, Final

from kohort.coordinator.classic.classic_host import ClassicHost
from kohort.coordinator.classic.classic_member import NOBODY, Member
from kohort.coordinator.classic.states import ALLOWED_FROM, DELETE, REBALANCES, State
from kohort.coordinator.classic.voting import select_protocol
from kohort.coordinator.effects import Cause, Transition
from kohort.coordinator.events.event_state import GroupEventState
from kohort.coordinator.group import Group
from kohort.coordinator.offsets import CommittedOffset
from kohort.coordinator.offsets_topic_records import group_key
from kohort.coordinator.shared_values import Protocols, shared_protocols, shared_timeout, shared_topics
from kohort.protocol.consumer_protocol import subscribed_topics
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation

_NONE: Final = ErrorCode.none
_EMPTY: Final = State.EMPTY
_PREPARING_REBALANCE: Final = State.PREPARING_REBALANCE

CONSUMER: Final = "consumer"
"""The protocol type of groups whose members say which topics they subscribe to; of others they are not known."""


class ClassicGroup(Group):
    """Its state, as classic-groups §2.1 lists it. Collections that most groups never need are made when needed."""

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

    def __init__(self, coordinator: ClassicHost, group_id: str, partition: int, wall_ms: int) -> None:
        super().__init__(group_id, partition)
        self.coordinator = coordinator
        self.state = _EMPTY
        self.previous_state = State.DEAD
        self.state_timestamp_ms = wall_ms
        """Wall clock of the last change of state; -1 where an old record does not say."""
        self.protocol_type: str | None = None
        """None until the first member is added; an empty group keeps it."""
        self.protocol_name: str | None = None
        self.generation_id = 0
        self.leader_id: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] | None = None
        """Group instance id to member id."""
        self.pending_joins: dict[str, DelayedOperation] | None = None
        """Ids handed out with MEMBER_ID_REQUIRED and not used yet, with the timers that end them."""
        self._supporters: dict[str, int] | None = None
        """`supported_protocols` where there are two members or more; what a sole one lists is seen at once."""
        self.waiting_joins = 0
        self.pending_sync: set[str] | None = None
        """Members of this generation that have not synced yet."""
        self.pending_sync_timer: DelayedOperation | None = None
        self.join_phase: DelayedOperation | None = None
        self.subscribed_topics: frozenset[str] | None = None
        """What members subscribed to when the last join phase ended; None: not known."""
        self.new_member_added = False
        self.event_state: GroupEventState | None = None
        """What whoever makes events of this has to remember."""

    # What is so

    @property
    def is_empty(self) -> bool:
        """Whether it is a group without members that may be deleted; one that rebalances without any may not."""
        return self.state is _EMPTY

    @property
    def version(self) -> int:
        """Its generation."""
        return self.generation_id

    def refuses_delete(self) -> ErrorCode:
        """What `states.DELETE` says."""
        return DELETE[self.state]

    def refuses_offset_delete(self) -> ErrorCode:
        """NON_EMPTY_GROUP if it has members of whom it is not known what they subscribe to."""
        allowed = self.state is _EMPTY or self.protocol_type == CONSUMER
        return _NONE if allowed else ErrorCode.non_empty_group

    def is_in_use(self, topic: str) -> bool:
        """Whether members subscribe to a topic, or may."""
        return self.state is not _EMPTY and self.is_subscribed_to(topic)

    def ages_since_ms(self, topic: str, committed: CommittedOffset) -> int | None:
        """Since the group became empty; those of a simple group, or that nobody needs, since they were committed."""
        if self.state is _EMPTY:
            by_state = self.protocol_type is not None and self.state_timestamp_ms >= 0
            return self.state_timestamp_ms if by_state else committed.commit_timestamp_ms
        known = self.protocol_type == CONSUMER and self.subscribed_topics is not None
        if self.state is not State.STABLE or not known or self.is_subscribed_to(topic):
            return None
        return committed.commit_timestamp_ms

    def record_keys(self) -> list[bytes]:
        """Its one record."""
        return [group_key(self.group_id)]

    @property
    def has_all_members_joined(self) -> bool:
        """All members' joins wait, and nobody holds an id that is still to be used."""
        return self.waiting_joins == len(self.members) and not self.pending_joins

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest of the members', never below 0."""
        return max([0, *[member.rebalance_timeout_ms for member in self.members.values()]])

    @property
    def is_simple(self) -> bool:
        """Holds offsets and never had a member."""
        return self.protocol_type is None and self.state is _EMPTY and not self.pending_joins

    @property
    def supported_protocols(self) -> dict[str, int]:
        """Protocol name to how often members list it. One that lists a name twice counts twice, as in Kafka."""
        return self._counted_protocols() if self._supporters is None else self._supporters

    def supports_protocols(self, protocol_type: str, protocols: Protocols) -> bool:
        """Whether somebody with these protocols may join (classic-groups §2.4).

        Judged before membership is, and counting the own, old list of whoever asks: a sole member cannot trade its
        protocols for others.
        """
        if self.state is _EMPTY:
            return bool(protocol_type) and bool(protocols)
        if protocol_type != self.protocol_type:
            return False
        count, supported = len(self.members), self.supported_protocols
        for name, _ in protocols:  # noqa: SIM110  # nearly always the first one, and `any` takes longer
            if supported.get(name, 0) == count:
                return True
        return False

    def accepts(self, member_id: str, max_size: int) -> bool:
        """Whether there is room (classic-groups §3.8). In a rebalance the waiting joins count, not the members."""
        if self.state is _EMPTY:
            return True
        member = self.members.get(member_id)
        if self.state is _PREPARING_REBALANCE:
            return (member is not None and member.join_ticket is not None) or self.waiting_joins < max_size
        return member is not None or len(self.members) < max_size

    def check_member(self, member_id: str, group_instance_id: str | None) -> ErrorCode:
        """NONE, UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID (KIP-345; Kafka: `ClassicGroup.validateMember`)."""
        if group_instance_id is not None:
            known = self.static_members.get(group_instance_id) if self.static_members else None
            if known is None:
                return ErrorCode.unknown_member_id
            if known != member_id:
                self.coordinator.observer.member_fenced(self, member_id, group_instance_id)
                return ErrorCode.fenced_instance_id
        return _NONE if member_id in self.members else ErrorCode.unknown_member_id

    def static_member_id(self, group_instance_id: str | None) -> str | None:
        """The member that an instance id stands for."""
        if group_instance_id is None or self.static_members is None:
            return None
        return self.static_members.get(group_instance_id)

    def is_pending(self, member_id: str) -> bool:
        """Whether this id was handed out and not used yet."""
        return self.pending_joins is not None and member_id in self.pending_joins

    def choose_protocol(self) -> str:
        """The outcome of a vote now. Raises NoCommonProtocol."""
        count = len(self.members)
        candidates = {name for name, supporters in self.supported_protocols.items() if supporters == count}
        return select_protocol(self.members.values(), candidates)

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a `consumer` group uses this topic; one whose subscriptions are not known uses all."""
        return self.protocol_type == CONSUMER and (self.subscribed_topics is None or topic in self.subscribed_topics)

    # What changes it

    def add(self, member: Member, ticket: object | None) -> None:
        """Takes a member in; the first one decides on the group's type and leads."""
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
        """Forgets a member or a pending id. The one who led is followed by the first of those who remain.

        Its waiting requests are the caller's to answer; a waiting sync never is (classic-groups §6.4).
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
        """Takes an id off the list of those handed out, and stops its timer."""
        if self.pending_joins is not None:
            session = self.pending_joins.pop(member_id, None)
            if session is not None:
                self.coordinator.purgatory.cancel(session)
            if not self.pending_joins:
                self.pending_joins = None

    def await_join(self, member: Member, ticket: object | None) -> None:
        """Lets a member's join wait; None: no longer. An earlier one is never answered (classic-groups §3.5)."""
        self.waiting_joins += (ticket is not None) - (member.join_ticket is not None)
        member.join_ticket = ticket

    def take_joins(self) -> list[tuple[Any, str]]:
        """The tickets of all joins that wait, each with the member's id. They wait no longer."""
        taken = []
        for member in self.members.values():
            ticket = member.join_ticket
            if ticket is not None:
                member.join_ticket = None
                if ticket is not NOBODY:
                    taken.append((ticket, member.member_id))
        self.waiting_joins = 0
        return taken

    def update_member(
        self, member: Member, protocols: Protocols, rebalance_timeout_ms: int, session_timeout_ms: int
    ) -> None:
        """What a member says of itself when it joins again."""
        if protocols != member.protocols:
            self._count_protocols(member.protocols, -1)
            self._count_protocols(protocols, 1)
            member.protocols = shared_protocols(protocols)
        if rebalance_timeout_ms != member.rebalance_timeout_ms:
            member.rebalance_timeout_ms = shared_timeout(rebalance_timeout_ms)
        if session_timeout_ms != member.session_timeout_ms:
            member.session_timeout_ms = shared_timeout(session_timeout_ms)

    def rename_member(self, member: Member, member_id: str) -> None:
        """Gives a member another id; it keeps everything else, leadership and instance id included.

        `pending_sync` stays: a stale id in it makes the sync timer start a rebalance (classic-groups §3.6 step 5).
        """
        old = member.member_id
        del self.members[old]
        member.member_id = member_id
        self.members[member_id] = member
        if self.leader_id == old:
            self.leader_id = member_id
        assert member.group_instance_id is not None, "only static members are replaced"
        assert self.static_members is not None, "a static member is registered"
        self.static_members[member.group_instance_id] = member_id

    def start_generation(self) -> None:
        """The next generation: its protocol, what it subscribes to, and nobody synced. The state is the caller's.

        Raises NoCommonProtocol and consumer.ImpossibleLengthError when the generation has already been counted: as in
        Kafka, a phase that fails here leaves the group rebalancing at the new generation (classic-groups §2.4).
        """
        self.generation_id += 1
        self.protocol_name = self.choose_protocol() if self.members else None
        self.subscribed_topics = self.read_subscriptions()
        self.pending_sync = None

    def read_subscriptions(self) -> frozenset[str] | None:
        """The topics of all members, from their metadata for the selected protocol; None: not known."""
        if self.protocol_type != CONSUMER:
            return None
        topics: set[str] = set()
        # Members of one application say the same: thousands of them are read at once.
        for metadata in dict.fromkeys(member.metadata(self.protocol_name) for member in self.members.values()):
            subscription = subscribed_topics(metadata)
            if subscription is None:
                return None
            topics.update(subscription)
        return shared_topics(frozenset(topics))

    def move(self, state: State, cause: Cause, now_ms: int) -> None:
        """Changes the state, and says so."""
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
        """Whether a rebalance may start from here."""
        return self.state in REBALANCES

    def _count_protocols(self, protocols: Iterable[tuple[str, bytes]], by: int) -> None:
        """Takes note of who lists what. Counts are kept where they save looking at many members."""
        supported = self._supporters
        if len(self.members) < 2:
            self._supporters = None
        elif supported is None:
            self._supporters = self._counted_protocols()
        else:
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
