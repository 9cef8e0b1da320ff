"""A coordinator and those who talk to it: named speakers, a clock moved by hand, a log that answers when it is told to.

    world = World()
    ada, bob = world.stable("ada", "bob")
    bob.leaves()
    assert ada.beats() is E.rebalance_in_progress

A request gives a `Ticket`; `ticket.heard` is what was answered, None as long as nothing was. Speakers remember the id
and the generation they were told.
"""

from dataclasses import dataclass, field, replace
from struct import pack
from typing import Any

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.heartbeating import heartbeat
from kohort.coordinator.classic.joining import Joiner
from kohort.coordinator.classic_requests import join_group, leave_group, sync_group
from kohort.coordinator.committing import Commit, offset_commit
from kohort.coordinator.context import Shard
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.coordinator_settings import GroupSettings
from kohort.coordinator.deleting import delete_group, offset_delete, sweep
from kohort.coordinator.effects import Append, Effect, GroupWarning, Replies, Reply, Transition
from kohort.coordinator.events.classic_event_source import EventObserver
from kohort.coordinator.events.group_event import GroupEvent
from kohort.coordinator.fetching_offsets import offset_fetch
from kohort.coordinator.loading import load, unload
from kohort.coordinator.requesting_client import NOBODY_KNOWN, Client
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kohort.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kohort.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kohort.protocol.messages.offset_fetch import OffsetFetchRequestTopic
from kohort.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from kohort.purgatory import Purgatory
from tests.support.coordinator_records import Record, compacted, keyed

EPOCH_MS = 1_700_000_000_000
"""The wall clock when a world begins."""


def subscription(*topics: str) -> bytes:
    """What a consumer says of itself when it joins (offsets-topic §5.3, version 0)."""
    names = b"".join(pack(">h", len(raw)) + raw for raw in map(str.encode, topics))
    return pack(">hi", 0, len(topics)) + names + pack(">i", -1)


@dataclass(eq=False)
class Ticket:
    """One request, and what it heard."""

    asked: str
    speaker: "Speaker | None" = None
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
        """The code of the answer; None while there is none."""
        return None if self.heard is None else self.heard.error_code


class World:
    """One coordinator that leads all partitions of the offsets topic, and the log behind it."""

    def __init__(self, *, partitions: int = 1, lead: bool = True, **settings: Any) -> None:
        """`settings` as in GroupSettings; other than in Kafka there is no initial delay unless it is asked for."""
        settings.setdefault("group_initial_rebalance_delay_ms", 0)
        self.now_ms = 0
        self.log: dict[int, list[Record]] = {partition: [] for partition in range(partitions)}
        self.transitions: list[str] = []
        """`Stable -> PreparingRebalance: join_new`"""
        self.warnings: list[str] = []
        self.events: list[GroupEvent] = []
        """What whoever listens is told; see `listen`."""
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
        """Somebody listens to group events from now on."""
        observer = EventObserver(self.coordinator, lambda: self.now_ms * 1000, _client_of, lambda _: 7)
        self.coordinator.observe(observer, observer.consumers)

    def events_of(self, *kinds: str) -> list[GroupEvent]:
        """The events of these kinds so far."""
        return [event for event in self.events if event.kind in kinds]

    # Time, and the log

    def after(self, span_ms: int) -> None:
        """Lets time pass; whatever falls due happens, each at its own moment."""
        until_ms = self.now_ms + span_ms
        while (wakeup_ms := self.purgatory.next_wakeup_ms) is not None and wakeup_ms <= until_ms:
            self.now_ms = max(self.now_ms, wakeup_ms)
            self.purgatory.advance(self.now_ms)
            self.settle()
        self.now_ms = until_ms
        self.purgatory.advance(until_ms)
        self.settle()

    def settle(self) -> None:
        """Does what the coordinator wants done."""
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
        """The held records are written, or fail: all of them, or only the first `count`."""
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
        """Becomes coordinator from what the log holds."""
        count = load(self.coordinator, partition, compacted(self.log[partition]), self.now_ms)
        self.settle()
        return count

    def restart(self) -> None:
        for partition in self.log:
            self.unload(partition)
            self.load(partition)

    # Those who talk

    def group(self, group_id: str = "g") -> ClassicGroup:
        return self.coordinator.groups[group_id]

    def state(self, group_id: str = "g") -> str:
        group = self.coordinator.groups.get(group_id)
        return "" if group is None else f"{group.state.value} {group.generation_id}"

    def speaker(self, name: str, **traits: Any) -> "Speaker":
        return Speaker(self, name, **traits)

    def stable(self, *names: str, **traits: Any) -> list["Speaker"]:
        """A group whose named members have joined and synced; the first one leads."""
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
        """All of them join again, so that the next generation begins."""
        return [speaker.joins() for speaker in speakers]

    def synced(self, *speakers: "Speaker") -> list[Ticket]:
        """All of them sync; whoever leads gives everybody a share of its own name."""
        return [speaker.syncs({s.member_id: s.share for s in speakers}) for speaker in speakers]

    # Requests that come from nobody in particular

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
        """What the coordinator does from time to time."""
        for _ in sweep(self.coordinator, self.now_ms):
            self.settle()
        self.settle()

    def offsets(self, *topics: str, group_id: str = "g", partitions: tuple[int, ...] = (0,)) -> dict[str, int]:
        """What OffsetFetch says, by `topic-partition`; no topics named: all there are."""
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
    """What a deletion came to."""

    error_code: E
    in_use: frozenset[str] = frozenset()
    top_level: bool = False


@dataclass(eq=False)
class Speaker:
    """A client with what it believes of itself. Traits may be changed for one request, by keyword."""

    world: World
    name: str
    group_id: str = "g"
    instance: str | None = None
    member_id: str = ""
    generation: int = -1
    leader: str = ""
    session_ms: int = 10_000
    rebalance_ms: int = 30_000
    protocol_type: str = "consumer"
    protocols: tuple[tuple[str, bytes], ...] = (("range", subscription("t")),)
    needs_id: bool = True
    """Speaks JoinGroup v4 or newer."""
    skips: bool = True
    """Speaks JoinGroup v9 or newer."""
    host: str = "/127.0.0.1"
    tickets: list[Ticket] = field(default_factory=list)

    @property
    def share(self) -> bytes:
        return b"share of " + self.name.encode()

    def hear(self, ticket: Ticket) -> None:
        """Remembers what concerns itself in the answer to a join."""
        response = ticket.heard
        if hasattr(response, "leader") and response.error_code in (E.none, E.member_id_required):
            self.member_id = response.member_id
            if response.error_code is E.none:
                self.generation, self.leader = response.generation_id, response.leader

    @property
    def leads(self) -> bool:
        return self.member_id == self.leader

    def _ask(self, what: str) -> Ticket:
        ticket = Ticket(f"{self.world.now_ms} {self.name} {what}", self)
        self.tickets.append(ticket)
        return ticket

    def _take(self, ticket: Ticket, response: object) -> Ticket:
        if response is not None:
            ticket.answer(response)
        self.world.settle()
        return ticket

    def joins(self, reason: str | None = None, **changes: Any) -> Ticket:
        this = replace(self, **changes)
        request = JoinGroupRequest(
            group_id=this.group_id,
            session_timeout_ms=this.session_ms,
            rebalance_timeout_ms=this.rebalance_ms,
            member_id=this.member_id,
            group_instance_id=this.instance,
            protocol_type=this.protocol_type,
            protocols=tuple(JoinGroupRequestProtocol(name=name, metadata=data) for name, data in this.protocols),
            reason=reason,
        )
        ticket = self._ask("join")
        joiner = Joiner(
            ticket=ticket,
            client_id=this.name,
            client_host=this.host,
            needs_member_id=this.needs_id,
            can_skip_assignment=this.skips,
        )
        return self._take(ticket, join_group(self.world.coordinator, request, joiner, self.world.now_ms))

    def enters(self, **changes: Any) -> Ticket:
        """Joins; if an id is handed out, once more with it."""
        ticket = self.joins(**changes)
        return self.joins(**changes) if ticket.error is E.member_id_required else ticket

    def syncs(self, assignments: dict[str, bytes] | None = None, **changes: Any) -> Ticket:
        """Asks for its share; the leader brings the assignments along."""
        protocol_name = changes.pop("protocol_name", None)
        protocol_type = changes.pop("protocol_type", None)
        this = replace(self, **changes)
        request = SyncGroupRequest(
            group_id=this.group_id,
            generation_id=this.generation,
            member_id=this.member_id,
            group_instance_id=this.instance,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=tuple(
                SyncGroupRequestAssignment(member_id=member_id, assignment=share)
                for member_id, share in (assignments if assignments and self.leads else {}).items()
            ),
        )
        ticket = self._ask("sync")
        return self._take(ticket, sync_group(self.world.coordinator, request, ticket, self.world.now_ms))

    def beats(self, **changes: Any) -> E:
        this = replace(self, **changes)
        error = heartbeat(
            self.world.coordinator, this.group_id, this.member_id, this.instance, this.generation, self.world.now_ms
        )
        self.world.settle()
        return error

    def leaves(self, *others: "Speaker", reason: str | None = None, **changes: Any) -> Ticket:
        """Leaves, `others` in the same request."""
        members = (replace(self, **changes), *others)
        request = LeaveGroupRequest(
            group_id=members[0].group_id,
            members=tuple(
                MemberIdentity(member_id=m.member_id, group_instance_id=m.instance, reason=reason) for m in members
            ),
        )
        ticket = self._ask("leave")
        return self._take(ticket, leave_group(self.world.coordinator, request, ticket, self.world.now_ms))

    def commits(
        self,
        offset: int = 1,
        *,
        topic: str = "t",
        partition: int = 0,
        metadata: str | None = "",
        retention_ms: int = -1,
        knows_epochs: bool = True,
        topic_id: Any = None,
        **changes: Any,
    ) -> Ticket:
        """Commits one offset. `ticket.commit_error` of the answer is that of its partition."""
        this = replace(self, **changes)
        asked = OffsetCommitRequestTopic(
            name=topic,
            topic_id=topic_id,
            partitions=(
                OffsetCommitRequestPartition(
                    partition_index=partition, committed_offset=offset, committed_metadata=metadata
                ),
            ),
        )
        request = OffsetCommitRequest(
            group_id=this.group_id,
            generation_id_or_member_epoch=this.generation,
            member_id=this.member_id,
            group_instance_id=this.instance,
            topics=(asked,),
            retention_time_ms=retention_ms,
        )
        ticket = self._ask("commit")
        commit = Commit(
            request=request,
            topics=[(topic, topic_id, asked)],
            refused=[],
            ticket=ticket,
            knows_epochs=knows_epochs,
        )
        return self._take(ticket, offset_commit(self.world.coordinator, commit, self.world.now_ms))


def commit_error(ticket: Ticket) -> E | None:
    """The error of the only partition of a commit; None: not answered yet."""
    if ticket.heard is None:
        return None
    (topic,) = ticket.heard.topics
    (partition,) = topic.partitions
    error: E = partition.error_code
    return error
