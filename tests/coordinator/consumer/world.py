"""A world with topics, in which clients of both protocols behave like real ones.

    world = ConsumerWorld(foo=6)
    ada, bob = world.consumer("ada"), world.consumer("bob")
    world.converges(ada, bob)

An actor's `acts()` does the next step of a client: join, send a heartbeat, revoke partitions, sync.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from kohort.coordinator.consumer.consumer_config import ConsumerConfig
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.groups.group import CONSUMER
from kohort.protocol.errors import ErrorCode
from kohort.whatif.clients.consumer_group_member import ConsumerMember
from kohort.whatif.clients.group_member import Said
from kohort.whatif.clients.virtual_topics import Topics
from tests.support.coordinator_world import ClassicTalker, Talker, Ticket, World

ROUNDS = 1_000  # more rounds than any convergence needs


class ConsumerWorld(World):
    """World of a consumer group. Targets are computed at once; sessions last ten seconds."""

    def __init__(self, *, interval_ms: int = 0, settings: dict[str, Any] | None = None, **partitions: int) -> None:
        super().__init__(**(settings or {}))
        self.coordinator.new_uuid = lambda: str(UUID(int=int(self._new_uuid()[1:]) << 64))
        self.topics = Topics(partitions)
        self.coordinator.topics = self.topics
        self.coordinator.configs[CONSUMER] = lambda _: ConsumerConfig(10_000, 1_000, interval_ms)

    def consumer(self, name: str, **traits: Any) -> "Consumer":
        """Return a client of the consumer protocol."""
        return Consumer(name=name, world=self, topics=self.topics, **traits)

    def classic(self, name: str, **traits: Any) -> "ClassicClient":
        """Return a client of the classic protocol in the same group."""
        return ClassicClient(name=name, world=self, topics=self.topics, **traits)

    @property
    def consumer_group(self) -> ConsumerGroup:
        group = self.coordinator.consumer_group("g")
        assert group is not None
        return group

    def converges(self, *actors: "Actor", step_ms: int = 100, rest: int = 3) -> None:
        """Let all actors act in turn, until their partitions do not change for `rest` rounds of `step_ms`."""
        quiet = 0
        for _ in range(ROUNDS):
            before = [actor.settled for actor in actors]
            for actor in actors:
                actor.acts()
                self.settle()
            self.after(step_ms)
            quiet = quiet + 1 if before == [actor.settled for actor in actors] else 0
            if quiet == rest:
                return
        raise AssertionError(f"no rest after {ROUNDS} rounds: {[str(actor) for actor in actors]}")

    def fails_to_downgrade(self, leaving: "Consumer", span_ms: int) -> None:
        """Let the last member of the consumer protocol leave, and fail the write of the downgrade after some time."""
        self.holding = True
        leaving.leaves()
        self.after(span_ms)
        assert self.coordinator.classic_group("g") is not None
        self.write(ErrorCode.not_enough_replicas)
        self.holding = False

    def replayed(self, *, compact: bool) -> "ConsumerWorld":
        """Return a world whose state is replayed from the log."""
        other = ConsumerWorld()
        other.topics = self.topics
        return self.loaded_into(other, compact=compact)


@dataclass(eq=False, kw_only=True)
class Actor(Talker):
    """Client of either protocol with one request at a time."""

    world: ConsumerWorld
    waiting: Ticket | None = None
    _said: Said | None = None

    def __str__(self) -> str:
        return f"{self.name} {self.settled}"

    @property
    def settled(self) -> object:
        """Return the state that must not change any more."""
        return self.epoch, frozenset(self.owned)

    def forgets(self) -> None:
        """Simulate a crash; the next action is that of a new process."""
        self.waiting = None
        self.forget()

    def acts(self) -> None:
        """Perform the next step of a client, unless it waits for a response."""
        if self.waiting is None:
            self._says(self.next())

    def leaves(self) -> Ticket:
        return self._says(self.leave())

    def hear(self, ticket: Ticket) -> None:
        if ticket is self.waiting and self._said is not None:  # otherwise it is a client that has gone
            self.waiting = None
            self._said.hear(ticket.heard)

    def _ticket(self, said: Said) -> Ticket:
        self.waiting, self._said = super()._ticket(said), said
        return self.waiting


@dataclass(eq=False, kw_only=True)
class Consumer(Actor, ConsumerMember):
    """A client of the consumer protocol."""

    names: tuple[str, ...] = ("foo",)

    def __post_init__(self) -> None:
        self.member_id = self.member_id or f"{self.name}-id"

    def beats(self, **changes: Any) -> Ticket:
        """Send a heartbeat, with the owned partitions only if requested."""
        return self._says(self.beat(**changes))

    def joins(self, **changes: Any) -> Ticket:
        """Join again without partitions."""
        return self._says(self.join(**changes))

    def tells(self, **changes: Any) -> Ticket:
        """Send a heartbeat with all fields."""
        return self._says(self.tell(**changes))

    def steps_out(self) -> Ticket:
        return self._says(self.step_out())


@dataclass(eq=False, kw_only=True)
class ClassicClient(Actor, ClassicTalker):
    """A client of the classic protocol."""

    names: tuple[str, ...] = ("foo",)

    @property
    def settled(self) -> object:
        """What changes on the way."""
        return super().settled, self.phase
