"""A coordinator with its clients: named members, a clock moved by hand, and a log whose writes the test completes.

    world = World()
    ada, bob = world.stable("ada", "bob")
    bob.leaves()
    assert ada.beats() is E.rebalance_in_progress

A request returns a `Ticket`, which stores its response. Members remember the id and the generation that they received.
"""

from dataclasses import dataclass, field, replace
from struct import pack
from typing import Any, TypeVar, cast

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.context import Shard
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.coordinator_settings import GroupSettings
from kohort.coordinator.effects import Append, Effect, GroupWarning, Replies, Reply, Transition
from kohort.coordinator.events.event_tracer import EventObserver
from kohort.coordinator.events.group_event import GroupEvent
from kohort.coordinator.groups.deleting import delete_group, offset_delete, sweep
from kohort.coordinator.groups.loading import load, unload
from kohort.coordinator.offsets.fetching_offsets import offset_fetch
from kohort.coordinator.requesting_client import NOBODY_KNOWN, Client
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.offset_fetch import OffsetFetchRequestTopic
from kohort.purgatory import Purgatory
from kohort.whatif.clients.calling import Caller, call
from kohort.whatif.clients.classic_group_member import ClassicMember
from kohort.whatif.clients.group_member import GroupMember, Said
from tests.support.coordinator_records import Record, compacted, keyed
from tests.support.frames import message

EPOCH_MS = 1_700_000_000_000  # the wall clock when a world starts


def subscription(*topics: str) -> bytes:
    """Return the metadata of a consumer that joins (offsets-topic §5.3, version 0)."""
    names = b"".join(pack(">h", len(raw)) + raw for raw in map(str.encode, topics))
    return pack(">hi", 0, len(topics)) + names + pack(">i", -1)


@dataclass(eq=False)
class Ticket:
    """One request and its response."""

    asked: str
    speaker: "Talker | None" = None
    heard: Any = None
    answers: int = 0

    def answer(self, response: object) -> None:
        self.answers += 1
        assert self.answers == 1, f"{self.asked}: answered twice, {self.heard} and {response}"
        self.heard = response
        if self.speaker is not None:
            self.speaker.hear(self)

    @property
    def error(self) -> E | None:
        """The error code of the response, or None before the response."""
        return None if self.heard is None else self.heard.error_code


WorldT = TypeVar("WorldT", bound="World")


class World:
    """One coordinator that leads all partitions of the offsets topic, with its log."""

    def __init__(self, *, partitions: int = 1, lead: bool = True, **settings: Any) -> None:
        """Create a coordinator.

        Args:
            settings: Fields of GroupSettings. In contrast to Kafka the initial rebalance delay is 0 by default.
        """
        settings.setdefault("group_initial_rebalance_delay_ms", 0)
        self.now_ms = 0
        self.log: dict[int, list[Record]] = {partition: [] for partition in range(partitions)}
        self.transitions: list[str] = []  # such as `Stable -> PreparingRebalance: join_new`
        self.warnings: list[str] = []
        self.events: list[GroupEvent] = []  # group events since `listen`
        self.kinds_told: set[str] = set()
        self.holding = False
        self.failing = E.none
        self.held: list[Append] = []
        self._ids = 0
        self.purgatory = Purgatory()
        self.coordinator = GroupCoordinator(
            GroupSettings(**settings), self.purgatory, self._new_uuid, partitions=partitions, epoch_ms=EPOCH_MS
        )
        if lead:
            self.coordinator.shards = dict.fromkeys(range(partitions), Shard.ACTIVE)

    def _new_uuid(self) -> str:
        self._ids += 1
        return f"u{self._ids}"

    def listen(self) -> None:
        """Collect group events from now on."""
        EventObserver(self.coordinator, lambda: self.now_ms * 1000, _client_of, lambda _: 7).listen()

    def events_of(self, *kinds: str) -> list[GroupEvent]:
        """Return the events of these types so far."""
        return [event for event in self.events if event.kind in kinds]

    # Time and the log

    def after(self, span_ms: int) -> None:
        """Let time pass; deadlines expire in order, each at its own time."""
        until_ms = self.now_ms + span_ms
        while (wakeup_ms := self.purgatory.next_wakeup_ms) is not None and wakeup_ms <= until_ms:
            self.now_ms = max(self.now_ms, wakeup_ms)
            self.purgatory.advance(self.now_ms)
            self.settle()
        self.now_ms = until_ms
        self.purgatory.advance(until_ms)
        self.settle()

    def settle(self) -> None:
        """Execute the effects of the coordinator."""
        effects = self.coordinator.effects
        while effects:
            self._do(effects.pop(0))

    def _do(self, effect: Effect) -> None:
        match effect:
            case Reply():
                assert isinstance(effect.ticket, Ticket)
                effect.ticket.answer(effect.response)
            case Replies(answers):
                for ticket, response in answers:
                    self._do(Reply(ticket, response))
            case Append():
                self.held.append(effect)
                if not self.holding:
                    self.write()
            case Transition():
                self.transitions.append(f"{effect.from_state} -> {effect.to_state}: {effect.cause.name}")
            case GroupEvent():
                self.events.append(effect)
                self.kinds_told.add(effect.kind)
            case GroupWarning():
                self.warnings.append(effect.text)

    def write(self, error: E | None = None, count: int | None = None) -> None:
        """Complete or fail the held writes: all, or only the first `count`."""
        error = self.failing if error is None else error
        for _ in range(len(self.held) if count is None else count):
            append = self.held.pop(0)
            if error is E.none:
                self.log[append.partition] += keyed(append.records)
            last_offset = len(self.log[append.partition]) - 1 if error is E.none else None
            self.coordinator.appended(append.token, error, self.now_ms, last_offset)
            self.settle()

    # The coordinator's life

    def unload(self, partition: int = 0) -> None:
        unload(self.coordinator, partition, self.now_ms)
        self.settle()

    def load(self, partition: int = 0) -> int:
        """Load a partition from its log and become its coordinator."""
        count = load(self.coordinator, partition, compacted(self.log[partition]), self.now_ms)
        self.settle()
        return count

    def loaded_into(self, other: WorldT, *, compact: bool) -> WorldT:
        """Load the log of the first partition into another world, which knows only that and the topics."""
        other.coordinator.topics = self.coordinator.topics
        other.log = {0: compacted(self.log[0]) if compact else list(self.log[0])}
        other.coordinator.shards = {}
        load(other.coordinator, 0, other.log[0], self.now_ms)
        return other

    def restart(self) -> None:
        for partition in self.log:
            self.unload(partition)
            self.load(partition)

    # Clients

    def group(self, group_id: str = "g") -> ClassicGroup:
        return cast(ClassicGroup, self.coordinator.groups[group_id])

    def state(self, group_id: str = "g") -> str:
        group = self.coordinator.classic_group(group_id)
        return "" if group is None else f"{group.state.value} {group.generation_id}"

    def speaker(self, name: str, **traits: Any) -> "Speaker":
        return Speaker(name=name, world=self, **traits)

    def stable(self, *names: str, **traits: Any) -> list["Speaker"]:
        """Return the members of a new group that have joined and synced; the first one is the leader."""
        speakers = [self.speaker(name, **traits) for name in names]
        for speaker in speakers:
            speaker.enters()
        self.after(0)
        for speaker in speakers[1:]:
            if speaker.generation != speakers[0].generation:
                self.joined(*speakers)
                break
        self.synced(*speakers)
        assert self.state(speakers[0].group_id).startswith("Stable")
        return speakers

    def joined(self, *speakers: "Speaker") -> list[Ticket]:
        """Let the members join again, so that the next generation starts."""
        return [speaker.joins() for speaker in speakers]

    def synced(self, *speakers: "Speaker") -> list[Ticket]:
        """Let the members sync; the leader sends each an assignment that contains its name."""
        return [speaker.syncs({s.member_id: s.share for s in speakers}) for speaker in speakers]

    # Requests without a member

    def deletes_group(self, group_id: str = "g") -> Ticket:
        ticket = Ticket(f"delete {group_id}")
        refusal = delete_group(self.coordinator, group_id, self.now_ms, lambda error, _: ticket.answer(Outcome(error)))
        if refusal is not E.none:
            ticket.answer(Outcome(refusal))
        self.settle()
        return ticket

    def deletes_offsets(self, *offsets: tuple[str, int], group_id: str = "g") -> Ticket:
        ticket = Ticket(f"delete offsets of {group_id}")
        refusal = offset_delete(
            self.coordinator,
            group_id,
            offsets,
            self.now_ms,
            lambda error, in_use: ticket.answer(Outcome(error, frozenset(in_use))),
        )
        if refusal is not E.none:
            ticket.answer(Outcome(refusal, top_level=True))
        self.settle()
        return ticket

    def sweeps(self) -> None:
        """Run the coordinator's periodic cleanup."""
        for _ in sweep(self.coordinator, self.now_ms):
            self.settle()
        self.settle()

    def offsets(self, *topics: str, group_id: str = "g", partitions: tuple[int, ...] = (0,)) -> dict[str, int]:
        """Return the committed offsets from OffsetFetch, by `topic-partition`; of all topics by default."""
        asked = tuple(
            OffsetFetchRequestTopic(name=name, topic_id=None, partition_indexes=partitions) for name in topics
        )
        answer = offset_fetch(self.coordinator, group_id, asked or None)
        assert answer.error_code is E.none
        return {
            f"{topic.name}-{partition.partition_index}": partition.committed_offset
            for topic in answer.topics
            for partition in topic.partitions
        }


def _client_of(ticket: object) -> Client:
    assert isinstance(ticket, Ticket)
    speaker = ticket.speaker
    return NOBODY_KNOWN if speaker is None else Client(speaker.name, speaker.host, f"{speaker.name}s-client/1.0")


@dataclass
class Outcome:
    """The result of a deletion."""

    error_code: E
    in_use: frozenset[str] = frozenset()
    top_level: bool = False


@dataclass(eq=False, kw_only=True)
class Talker(GroupMember):
    """A member of either protocol that sends its requests to a world's coordinator."""

    world: World
    host: str = "/127.0.0.1"
    tickets: list[Ticket] = field(default_factory=list)

    def hear(self, ticket: Ticket) -> None:
        """Apply the response of a request."""
        raise NotImplementedError

    def _ticket(self, said: Said) -> Ticket:
        """Return a ticket for a request that is about to be sent."""
        ticket = Ticket(f"{self.world.now_ms} {self.name} {said.api}", self)
        self.tickets.append(ticket)
        return ticket

    @property
    def caller(self) -> Caller:
        return Caller(self.name, self.host)

    def _asks(self, request: Any, ticket: Ticket) -> object:
        """Send a request and return its response, or None if it is delayed."""
        return call(self.world.coordinator, request, self.caller, ticket, self.world.now_ms)

    def _says(self, said: Said, asker: "Talker | None" = None) -> Ticket:
        """Send a request. `asker` replaces the sender for this request."""
        ticket = self._ticket(said)
        response = (asker or self)._asks(message(said.api).request(**said.fields), ticket)
        if response is not None:
            ticket.answer(response)
        self.world.settle()
        return ticket


@dataclass(eq=False, kw_only=True)
class ClassicTalker(Talker, ClassicMember):
    """A client of the classic protocol."""

    needs_id: bool = True  # uses JoinGroup v4 or newer
    skips: bool = True  # uses JoinGroup v9 or newer
    knows_epochs: bool = True  # uses OffsetCommit v9 or newer

    @property
    def caller(self) -> Caller:
        return Caller(self.name, self.host, self.needs_id, self.skips, self.knows_epochs)


@dataclass(eq=False, kw_only=True)
class Speaker(ClassicTalker):
    """A client whose requests a test chooses. It remembers its own id and generation from the responses.

    Keyword arguments change its attributes for one request.
    """

    protocols: tuple[tuple[str, bytes], ...] = (("range", subscription("t")),)

    @property
    def share(self) -> bytes:
        return b"share of " + self.name.encode()

    def hear(self, ticket: Ticket) -> None:
        """Apply the response of a join to its own state."""
        response = ticket.heard
        if hasattr(response, "leader") and response.error_code in (E.none, E.member_id_required):
            self.member_id = response.member_id
            if response.error_code is E.none:
                self.generation, self.leader = response.generation_id, response.leader

    def joins(self, reason: str | None = None, **changes: Any) -> Ticket:
        this = replace(self, **changes)
        return self._says(this.join(reason=reason), this)

    def enters(self, **changes: Any) -> Ticket:
        """Join, and join again with the member id if the broker assigns one."""
        ticket = self.joins(**changes)
        return self.joins(**changes) if ticket.error is E.member_id_required else ticket

    def syncs(self, assignments: dict[str, bytes] | None = None, **changes: Any) -> Ticket:
        """Request its assignment; the leader sends the assignments of all members."""
        named = {name: changes.pop(name, None) for name in ("protocol_type", "protocol_name")}
        said = replace(self, **changes).sync(assignments if assignments and self.leads else {})
        return self._says(said._replace(fields=said.fields | named))

    def beats(self, **changes: Any) -> E:
        this = replace(self, **changes)
        error: E = self._says(this.beat(), this).heard.error_code
        return error

    def leaves(self, *others: ClassicMember, reason: str | None = None, **changes: Any) -> Ticket:
        """Leave the group, together with `others` in the same request."""
        return self._says(replace(self, **changes).leave(*others, reason=reason))

    def commits(
        self,
        offset: int = 1,
        *,
        topic: str = "t",
        partition: int = 0,
        metadata: str | None = "",
        retention_ms: int = -1,
        topic_id: Any = None,
        **changes: Any,
    ) -> Ticket:
        """Commit one offset. `ticket.commit_error` of the response is the error of its partition."""
        this = replace(self, **changes)
        return self._says(
            this.commit(topic, partition, offset, metadata=metadata, topic_id=topic_id, retention_ms=retention_ms), this
        )


def commit_error(ticket: Ticket) -> E | None:
    """Return the error of the only partition of a commit, or None before the response."""
    if ticket.heard is None:
        return None
    (topic,) = ticket.heard.topics
    (partition,) = topic.partitions
    error: E = partition.error_code
    return error
