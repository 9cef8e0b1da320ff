"""A world with topics, where clients of both protocols behave as real ones do.

    world = ConsumerWorld(foo=6)
    ada, bob = world.consumer("ada"), world.consumer("bob")
    world.converges(ada, bob)

An actor's `acts()` does what a client would do next: join, beat, give up what it is not to have any more, sync.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from kohort.coordinator.classic_requests import heartbeat_in_consumer_group
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_heartbeating import Sender, consumer_group_heartbeat
from kohort.coordinator.consumer.consumer_host import ConsumerConfig
from kohort.coordinator.loading import load
from kohort.coordinator.topic_info import TopicInfo
from kohort.protocol.consumer_protocol import (
    Assignment,
    Subscription,
    assigned_partitions,
    read_subscription,
    write_assignment,
    write_subscription,
)
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from tests.support.coordinator_records import Record, compacted
from tests.support.coordinator_world import Speaker, Ticket, World

ELSEWHERE = (E.not_coordinator, E.coordinator_not_available, E.coordinator_load_in_progress, E.unknown_server_error)
"""A client tries again after these, and nothing else has changed for it."""
ROUNDS = 1_000
"""More than anybody needs who comes to rest at all."""


class Topics:
    """The topics of a world; see `TopicView`."""

    def __init__(self, partitions: dict[str, int]) -> None:
        self.version = 0
        self._topics: dict[str, TopicInfo] = {}
        for name, count in partitions.items():
            self.create(name, count)

    def create(self, name: str, partitions: int) -> None:
        """A new topic, or one with another number of partitions."""
        self.version += 1
        known = self._topics.get(name)
        topic_id = UUID(int=self.version) if known is None else known.topic_id
        self._topics[name] = TopicInfo(topic_id, name, partitions)

    def delete(self, name: str) -> None:
        """One that comes again has another id."""
        self.version += 1
        del self._topics[name]

    def by_name(self, name: str) -> TopicInfo | None:
        return self._topics.get(name)

    def by_id(self, topic_id: UUID) -> TopicInfo | None:
        return next((each for each in self._topics.values() if each.topic_id == topic_id), None)

    def names(self) -> Iterable[str]:
        return self._topics


class ConsumerWorld(World):
    """See above. Targets are computed at once; sessions last ten seconds."""

    def __init__(self, *, interval_ms: int = 0, settings: dict[str, Any] | None = None, **partitions: int) -> None:
        """`partitions`: of each topic."""
        super().__init__(**(settings or {}))
        self.coordinator.new_uuid = lambda: str(UUID(int=int(self._new_uuid()[1:]) << 64))
        self.topics = Topics(partitions)
        self.coordinator.topics = self.topics
        self.coordinator.consumer_config = lambda _: ConsumerConfig(10_000, 1_000, interval_ms)

    def consumer(self, name: str, **traits: Any) -> "Consumer":
        """A client of the consumer protocol."""
        traits.setdefault("names", ("foo",))
        return Consumer(self, name, **traits)

    def classic(self, name: str, **traits: Any) -> "ClassicClient":
        """A client of the classic protocol, in the same group."""
        return ClassicClient(self, name, **traits)

    @property
    def consumer_group(self) -> ConsumerGroup:
        return self.coordinator.consumer_groups["g"]

    def converges(self, *actors: "Consumer | ClassicClient", step_ms: int = 100, rest: int = 3) -> None:
        """Everybody acts in turn, until what everybody has does not change for `rest` rounds of `step_ms`."""
        quiet = 0
        for _ in range(ROUNDS):
            before = [(actor.owned_partitions(), actor.settled) for actor in actors]
            for actor in actors:
                actor.acts()
                self.settle()
            self.after(step_ms)
            quiet = quiet + 1 if before == [(a.owned_partitions(), a.settled) for a in actors] else 0
            if quiet == rest:
                return
        raise AssertionError(f"no rest after {ROUNDS} rounds: {[str(actor) for actor in actors]}")

    def replayed(self, *, compact: bool) -> "ConsumerWorld":
        """A world that knows what the log says, and nothing else."""
        other = ConsumerWorld()
        other.topics = other.coordinator.topics = self.topics
        records: list[Record] = compacted(self.log[0]) if compact else self.log[0]
        other.log = {0: list(records)}
        other.coordinator.shards = {}
        load(other.coordinator, 0, other.log[0], self.now_ms)
        return other


@dataclass(eq=False)
class Consumer:
    """A client of the consumer protocol."""

    world: ConsumerWorld
    name: str
    group_id: str = "g"
    names: tuple[str, ...] = ("foo",)
    regex: str | None = None
    instance: str | None = None
    assignor: str | None = None
    member_id: str = ""
    epoch: int = 0
    owned: dict[UUID, set[int]] = field(default_factory=dict)
    told: dict[UUID, set[int]] = field(default_factory=dict)
    """What it was last told to have."""
    rebalance_ms: int = 30_000
    holds_on: bool = False
    """It does not give anything up."""
    tickets: list[Ticket] = field(default_factory=list)
    waiting: Ticket | None = None
    host: str = "/127.0.0.1"
    member: bool = False
    full: bool = True
    """Whether the next heartbeat tells everything: the first one, and after an error."""

    def __post_init__(self) -> None:
        self.member_id = self.member_id or f"{self.name}-id"

    def __str__(self) -> str:
        return f"{self.name} {self.epoch} {self.owned}"

    @property
    def settled(self) -> object:
        """What changes on the way."""
        return self.epoch, self.member

    def owned_partitions(self) -> set[tuple[UUID, int]]:
        return {(topic_id, partition) for topic_id, partitions in self.owned.items() for partition in partitions}

    def beats(self, **changes: Any) -> Ticket:
        """One heartbeat, of a member that tells what it has only if it says so."""
        said: dict[str, Any] = {
            "group_id": self.group_id,
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            "instance_id": self.instance,
        }
        request = ConsumerGroupHeartbeatRequest(**(said | changes))
        ticket = Ticket(f"{self.world.now_ms} {self.name} beats {request.member_epoch}", self)  # type: ignore[arg-type]
        self.tickets.append(ticket)
        self.waiting = ticket
        sender = Sender(ticket, self.name, self.host, 1)
        response = consumer_group_heartbeat(self.world.coordinator, request, sender, self.world.now_ms)
        if response is not None:
            ticket.answer(response)
        self.world.settle()
        return ticket

    def joins(self, **changes: Any) -> Ticket:
        """Joins anew, with nothing."""
        self.epoch, self.owned, self.told = 0, {}, {}
        return self.tells(**changes)

    def tells(self, **changes: Any) -> Ticket:
        """A heartbeat that says everything."""
        return self.beats(
            **{
                "rebalance_timeout_ms": self.rebalance_ms,
                "subscribed_topic_names": self.names,
                "subscribed_topic_regex": self.regex,
                "server_assignor": self.assignor,
                "topic_partitions": _as_request(self.owned),
            }
            | changes
        )

    def leaves(self, **changes: Any) -> Ticket:
        return self.beats(member_epoch=-1, **changes)

    def steps_out(self) -> Ticket:
        return self.beats(member_epoch=-2)

    def forgets(self) -> None:
        """Crashes; when it acts again it is a new process."""
        self.epoch, self.owned, self.told, self.full, self.member, self.waiting = 0, {}, {}, True, False, None

    def acts(self) -> None:
        """What a client does next, while it is not waiting for an answer."""
        if self.waiting is not None:
            return
        if self.owned != self.told and not self.holds_on:
            self.owned = {topic_id: set(partitions) for topic_id, partitions in self.told.items()}
            if not self.full:
                self.beats(topic_partitions=_as_request(self.owned))
                return
        if self.epoch == 0:
            self.joins()
        elif self.full:
            self.tells()
        else:
            self.beats()

    def hear(self, ticket: Ticket) -> None:
        if ticket is not self.waiting:
            return  # a client that has gone
        self.waiting = None
        response = ticket.heard
        if response.error_code is not E.none:
            self.full = True
            if response.error_code not in ELSEWHERE:
                self.epoch, self.owned, self.told, self.member = 0, {}, {}, False
            return
        self.epoch, self.full = response.member_epoch, False
        self.member = self.epoch > 0
        if self.epoch < 0:
            self.epoch, self.owned, self.told, self.full = 0, {}, {}, True
        if response.assignment is not None:
            self.told = {each.topic_id: set(each.partitions) for each in response.assignment.topic_partitions}


def _as_request(owned: dict[UUID, set[int]]) -> tuple[TopicPartitions, ...]:
    return tuple(TopicPartitions(topic_id=each, partitions=tuple(sorted(owned[each]))) for each in owned if owned[each])


@dataclass(eq=False)
class ClassicClient(Speaker):
    """A client of the classic protocol that behaves as libraries do."""

    names: tuple[str, ...] = ("foo",)
    cooperative: bool = False
    owned: dict[str, tuple[int, ...]] = field(default_factory=dict)
    phase: str = "out"
    """out, to sync, in."""
    waiting: Ticket | None = None
    following: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} {self.generation} {self.phase} {self.owned}"

    @property
    def settled(self) -> object:
        """What changes on the way."""
        return self.generation, self.phase

    def owned_partitions(self) -> set[tuple[UUID, int]]:
        topics = ((self.world.coordinator.topics.by_name(name), each) for name, each in self.owned.items())
        return {(topic.topic_id, number) for topic, each in topics if topic is not None for number in each}

    def forgets(self) -> None:
        """Crashes; when it acts again it is a new process."""
        self.member_id, self.generation, self.owned, self.phase, self.waiting = "", -1, {}, "out", None

    def beats(self, **changes: Any) -> E:
        """As `broker/apis/heartbeat.py` asks: first the classic groups."""
        error = super().beats(**changes)
        if error is not E.unknown_member_id:
            return error
        said = self.group_id, self.member_id, self.instance, self.generation
        error = heartbeat_in_consumer_group(self.world.coordinator, *said, self.world.now_ms)
        self.world.settle()
        return error

    def acts(self) -> None:
        """What a client does next, while it is not waiting for an answer."""
        if self.waiting is not None:
            return
        if self.phase == "out":
            if not self.cooperative:
                self.owned = {}
            subscription = Subscription(version=1, topics=self.names, owned_partitions=dict(self.owned))
            self._wait(self.joins, protocols=(("range", write_subscription(subscription)),))
        elif self.phase == "to sync":
            self._wait(self.syncs, self._shares())
        else:
            error = self.beats()
            if error is E.rebalance_in_progress:
                self.phase = "out"
            elif error is not E.none:
                self._refused(error)

    def _wait(self, ask: Any, *arguments: Any, **changes: Any) -> None:
        self.waiting = Ticket("about to be asked")
        ticket = ask(*arguments, **changes)
        if self.waiting is not None:
            self.waiting = None if ticket.answers else ticket

    def _shares(self) -> dict[str, bytes]:
        """What a leader hands out: each topic is cut into pieces."""
        wants = {each.member_id: read_subscription(each.metadata) for each in self.following}
        shares: dict[str, dict[str, tuple[int, ...]]] = {member_id: {} for member_id in wants}
        for name in {topic for each in wants.values() if each is not None for topic in each.topics}:
            topic = self.world.coordinator.topics.by_name(name)
            takers = sorted(member_id for member_id, each in wants.items() if each is not None and name in each.topics)
            for number, member_id in enumerate(takers):
                if topic is not None:
                    shares[member_id][name] = tuple(range(number, topic.partitions, len(takers)))
        return {who: write_assignment(Assignment(version=1, partitions=share)) for who, share in shares.items()}

    def hear(self, ticket: Ticket) -> None:
        if self.waiting is None or (self.waiting.asked != "about to be asked" and self.waiting is not ticket):
            return
        self.waiting = None
        response = ticket.heard
        super().hear(ticket)
        if hasattr(response, "leader"):
            if response.error_code is E.none:
                self.phase, self.following = "to sync", response.members
            else:
                self._refused(response.error_code)
        elif hasattr(response, "assignment"):
            if response.error_code is E.none:
                self._takes(assigned_partitions(response.assignment))
            else:
                self._refused(response.error_code)

    def _takes(self, share: Any) -> None:
        lost = any(set(numbers) - set(share.get(name, ())) for name, numbers in self.owned.items())
        self.owned = dict(share)
        self.phase = "out" if lost and self.cooperative else "in"

    def _refused(self, error: E) -> None:
        if error in ELSEWHERE or error is E.member_id_required:
            return
        self.phase = "out"
        if error is not E.rebalance_in_progress:
            self.owned = {}
        if error in (E.unknown_member_id, E.fenced_instance_id):
            self.member_id, self.generation = "", -1
