"""Many clients and one coordinator, driven by a seed. Clients are careless: they crash, stall, repeat themselves, lose
answers, share an instance id, believe in old generations. The log is slow, fails, and the partition comes and goes.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.states import State
from kohort.coordinator.groups.deleting import Sweep
from kohort.coordinator.groups.loading import Loading
from kohort.coordinator.offsets.offsets_topic_records import offset_key, read_offset_value
from kohort.protocol.errors import ErrorCode as E
from kohort.whatif.clients.group_member import Said
from tests.support.coordinator_records import Record, compacted, keyed
from tests.support.coordinator_world import Speaker, Ticket, World, commit_error, subscription

PREPARING = State.PREPARING_REBALANCE
GROUPS = ("orders", "billing", "polygenelubricants")
TOPICS = ("t", "u")
STORAGE_FAILURES = (E.not_enough_replicas, E.request_timed_out, E.kafka_storage_error, E.message_too_large)
UNFORESEEN = ((("range", b"\x00\x00\x7f\xff\xff\xff"),), (("range", b""), ("range", b"")))
"""Metadata that announces more than there is, and a protocol listed twice."""
HOPELESS = (E.unknown_member_id, E.fenced_instance_id, E.group_max_size_reached, E.inconsistent_group_protocol)


@dataclass(eq=False)
class Asked(Ticket):
    """A ticket that knows what it asked for."""

    kind: str = ""
    group_id: str = ""
    member_id: str = ""
    offset: tuple[str, int, int] = ("", 0, 0)
    number: int = 0


class Client(Speaker):
    """Speaks for one member at a time, and remembers which answers it still waits for."""

    def begin(self, simulation: "Simulation") -> None:
        self.simulation = simulation
        self.waiting: Asked | None = None
        self.crashed_until_ms = 0

    def _ticket(self, said: Said) -> Asked:
        return self.simulation.new_ticket(self, said.api)

    def hear(self, ticket: Ticket) -> None:
        assert isinstance(ticket, Asked)
        self.simulation.heard(ticket)
        if self.waiting is not ticket:
            return  # the connection was lost, or the request repeated on another one
        self.waiting = None
        if ticket.kind == "join_group":
            super().hear(ticket)
        if ticket.kind in ("join_group", "sync_group") and ticket.error in HOPELESS:
            self.forget()


class Simulation:
    """The world, its clients, and everything that was said."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.world = World(
            partitions=2,
            group_initial_rebalance_delay_ms=random.choice((0, 700, 3_000)),
            group_max_size=random.choice((3, 6, 2**31 - 1)),
            offsets_retention_ms=120_000,
            offsets_retention_check_interval_ms=40_000,
        )
        self.world.holding = True
        if seed % 2:
            self.world.listen()
        self.world.purgatory.wait(Sweep(self.world.coordinator, 0))
        self.transcript: deque[str] = deque(maxlen=60)
        self.tickets: list[Asked] = []
        """Those that may still be answered."""
        self.unsaved: set[str] = set()
        """Groups whose last record could not be written."""
        self.leaders: dict[tuple[int, int], set[str]] = {}
        self.incarnations: dict[int, ClassicGroup] = {}
        self.generations: dict[int, tuple[ClassicGroup, int]] = {}
        self.loading: dict[int, tuple[Loading, Iterator[Record]]] = {}
        """Partitions that are being loaded, and what is left of their logs."""
        self.offset = 0
        self.next_offset = ("", 0, 0)
        self.asked: list[Asked] = []
        """All responses in order."""
        self.clients = [self._client(number) for number in range(14)]

    def _client(self, number: int) -> Client:
        random = self.random
        instance = f"i{random.randrange(4)}" if random.random() < 0.3 else None
        client = Client(
            name=f"c{number}",
            world=self.world,
            group_id=random.choice(GROUPS),
            instance=instance,
            session_ms=random.choice((6_000, 10_000, 30_000)),
            rebalance_ms=random.choice((5_000, 10_000, 60_000)),
            needs_id=random.random() < 0.6,
            skips=random.random() < 0.7,
        )
        client.begin(self)
        return client

    # responses

    def new_ticket(self, client: Client, what: str) -> Asked:
        ticket = Asked(
            what, client, kind=what, group_id=client.group_id, member_id=client.member_id, offset=self.next_offset
        )
        ticket.number = len(self.asked)
        self.asked.append(ticket)
        self.tickets.append(ticket)
        client.waiting = ticket
        return ticket

    def heard(self, ticket: Asked) -> None:
        world = self.world
        error = commit_error(ticket) if ticket.kind == "offset_commit" else ticket.error
        self.say(f"{ticket.speaker.name if ticket.speaker else '-'}.{ticket.kind} <- {error.name if error else ''}")
        self.tickets.remove(ticket)
        group = world.coordinator.classic_group(ticket.group_id)
        if ticket.kind == "join_group" and error is E.unknown_server_error:
            self.unsaved.add(ticket.group_id)  # no record has the new id of a returned static member
        # The return of a static member may be written during the next rebalance; it gets that one's leader.
        if ticket.kind == "join_group" and error is E.none and group is not None and group.state is not PREPARING:
            self.incarnations[id(group)] = group
            self.leaders.setdefault((id(group), ticket.heard.generation_id), set()).add(ticket.heard.leader)
        if ticket.kind == "offset_commit" and error is E.none:
            topic, partition, offset = ticket.offset
            stored = world.offsets(topic, group_id=ticket.group_id, partitions=(partition,))
            assert stored == {f"{topic}-{partition}": offset}, f"acknowledged {ticket.offset}, kept {stored}"
            key = offset_key(ticket.group_id, topic, partition)
            written = world.log[world.coordinator.partition_of(ticket.group_id)]
            assert any(
                each == key and value is not None and read_offset_value(value).offset == offset
                for each, value in reversed(written)
            ), f"acknowledged {ticket.offset} is not in the log"

    def asked_after(self, ticket: Asked) -> list[Asked]:
        return self.asked[ticket.number + 1 :]

    @property
    def busy(self) -> bool:
        """Whether groups really went through their lives."""
        moves = set(self.world.transitions)
        return len(moves) > 10 and any("assignment_stored" in move for move in moves)

    def say(self, line: str) -> None:
        self.transcript.append(f"{self.world.now_ms:>8} {line}")

    # What happens

    def step(self) -> None:
        random = self.random
        action = random.choices(
            (
                self.time_passes,
                self.somebody_speaks,
                self.log_writes,
                self.log_fails,
                self.partition_moves,
                self.partition_loads,
                self.admin,
            ),
            (12, 75, 40, 1, 0.15, 2, 1),
        )[0]
        action()

    def time_passes(self) -> None:
        span_ms = self.random.choice((0, 1, 50, 200, 500, 1_000, 3_000))
        if self.random.random() < 0.003:
            span_ms = 400_000
        self.say(f"after {span_ms}")
        count = len(self.world.transitions)
        self.world.after(span_ms)
        for transition in self.world.transitions[count:]:
            self.say(f"  ({transition})")

    def log_writes(self) -> None:
        held = self.world.held
        if held:
            self.write(E.none, self.random.randint(1, len(held)))

    def log_fails(self) -> None:
        if self.world.held:
            self.write(self.random.choice(STORAGE_FAILURES), 1)

    def write(self, error: E, count: int) -> None:
        for append in self.world.held[:count]:
            for key, _ in keyed(append.records):
                if key[:2] == b"\x00\x02":
                    group_id = key[4:].decode()
                    (self.unsaved.discard if error is E.none else self.unsaved.add)(group_id)
        self.say(f"the log answers {count} times {error.name}")
        self.world.write(error, count)

    def partition_moves(self) -> None:
        """Unload a partition; pending writes may be in the log, without responses."""
        world, partition = self.world, self.random.randrange(2)
        self.say(f"partition {partition} moves away and comes back")
        self.break_off(partition)
        lost = [append for append in world.held if append.partition == partition]
        world.held = [append for append in world.held if append.partition != partition]
        for append in lost[: self.random.randint(0, len(lost))]:
            world.log[partition] += keyed(append.records)
        world.unload(partition)
        self.unsaved -= {g for g in self.unsaved if world.coordinator.partition_of(g) == partition}
        if self.random.random() < 0.5:
            world.load(partition)
        else:
            self.loading[partition] = Loading(world.coordinator, partition), iter(compacted(world.log[partition]))

    def partition_loads(self) -> None:
        """Run a part of a load, which may complete."""
        for partition, (loading, records) in list(self.loading.items()):
            self.say(f"partition {partition} is loading")
            for key, value in islice(records, self.random.randint(0, 20)):
                loading.apply(key, value)
            if self.random.random() < 0.3:
                self.loads_up(partition)

    def loads_up(self, partition: int) -> None:
        if partition in self.loading:
            loading, records = self.loading.pop(partition)
            for key, value in records:
                loading.apply(key, value)
            loading.finish(self.world.now_ms)
            self.world.settle()

    def break_off(self, partition: int) -> None:
        """Move the partition again before it is loaded."""
        if partition in self.loading:
            self.loading.pop(partition)[0].fail()

    def admin(self) -> None:
        world, group_id = self.world, self.random.choice(GROUPS)
        if self.random.random() < 0.3:
            self.say(f"delete group {group_id}")
            world.deletes_group(group_id)
        else:
            self.say(f"delete offsets of {group_id}")
            world.deletes_offsets((self.random.choice(TOPICS), self.random.randrange(3)), group_id=group_id)

    # What clients do

    def somebody_speaks(self) -> None:
        random, client = self.random, self.random.choice(self.clients)
        if client.crashed_until_ms > self.world.now_ms:
            return
        if client.waiting is not None:
            if random.random() < 0.8:
                return
            self.say(f"{client.name} has lost its connection")
            client.waiting = None
        self._pick(client)(client)

    def _pick(self, client: Client) -> Callable[[Client], None]:
        """Choose mostly the next action of a consumer, sometimes another one."""
        if self.random.random() < 0.12:
            return self.random.choice((self.joins, self.syncs, self.commits, self.crashes, self.leaves, self.changes))
        if client.generation < 0:
            return self.joins
        group = self.world.coordinator.classic_group(client.group_id)
        member = None if group is None else group.members.get(client.member_id)
        if member is not None and group is not None and client.member_id in (group.pending_sync or ()):
            return self.syncs
        return self.random.choice((self.beats, self.beats, self.beats, self.commits))

    def joins(self, client: Client) -> None:
        self.say(f"{client.name} join {client.group_id} {client.member_id or '-'} {client.instance or ''}")
        if self.random.random() < 0.005:
            client.joins(protocols=self.random.choice(UNFORESEEN))
        else:
            client.joins()

    def syncs(self, client: Client) -> None:
        self.say(f"{client.name} sync {client.member_id or '-'} generation={client.generation}")
        group = self.world.coordinator.classic_group(client.group_id)
        client.syncs({member_id: member_id.encode() for member_id in group.members} if group else {})

    def beats(self, client: Client) -> None:
        generation = client.generation + (self.random.random() < 0.02)
        error = client.beats(generation=generation)
        self.say(f"{client.name} heartbeat generation={generation} <- {error.name}")
        if error in (E.rebalance_in_progress, E.illegal_generation):
            client.generation = -1
        elif error is not E.none:
            client.forget()

    def commits(self, client: Client) -> None:
        self.offset += 1
        topic, partition = self.random.choice(TOPICS), self.random.randrange(3)
        changes: dict[str, Any] = {}
        if self.random.random() < 0.1:
            changes = {"member_id": "", "generation": -1, "instance": None}
        retention_ms = 5_000 if self.random.random() < 0.1 else -1
        self.say(f"{client.name} commit {topic}-{partition}={self.offset} generation={client.generation}")
        self.next_offset = (topic, partition, self.offset)
        client.commits(self.offset, topic=topic, partition=partition, retention_ms=retention_ms, **changes)

    def leaves(self, client: Client) -> None:
        self.say(f"{client.name} leave {client.member_id or '-'}")
        client.leaves()
        client.forget()

    def crashes(self, client: Client) -> None:
        """Stop a member, which later continues with or without its member id."""
        client.waiting = None
        client.crashed_until_ms = self.world.now_ms + self.random.choice((1_000, 20_000, 100_000))
        if self.random.random() < 0.7:
            client.forget()
        self.say(f"{client.name} crashes")

    def changes(self, client: Client) -> None:
        """Alter topics, protocols or timeouts of a member, or send unreadable metadata."""
        random = self.random
        metadata = subscription(*random.sample(TOPICS, random.randint(0, 2)))
        names = random.choice((("range",), ("range", "sticky"), ("sticky", "range")))
        if random.random() < 0.1:
            names = ("sticky",)
        client.protocols = tuple((name, metadata) for name in names)
        client.rebalance_ms = 0 if random.random() < 0.1 else random.choice((5_000, 60_000))
        client.session_ms = random.choice((6_000, 30_000))
        client.generation = -1
        self.say(f"{client.name} changes to {names}")
