"""Share groups on the restless cluster of a bank, driven by a seed, with a record of deliveries.

Producers write with and without transactions. Members of two groups, one of which wants committed records only, join,
leave, crash, fall silent, lose answers, say things of records that are not theirs, and let locks expire. Leaders and
share coordinators move, brokers stop and start, writes of states fail or are reported late, records are deleted, and
settings of groups change under way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from kohort.broker.cluster.moving import move_leader
from kohort.coordinator.effects import SHARE_STATE_TOPIC
from kohort.coordinator.share_partitions.record_states import IS_TERMINAL
from kohort.coordinator.share_partitions.share_partition import SharePartition
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.coordinator.share_state.share_state import ShareState
from kohort.protocol.batches import CONTROL, Record, build_batch, read_batches
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsTopic
from tests.simulation.share_ledger import Asked, Ledger
from tests.simulation.share_worker import HOME, Worker
from tests.simulation.transacting import TIMEOUT_MS, Bank
from tests.simulation.transactional_reader import PARTITIONS, TOPIC
from tests.simulation.unreliable_writes import UnreliableWrites
from tests.support.broker import Client
from tests.support.share_consumer import At, Delivered

COMMITTED, ANY = "committed", "any"
SHARE_GROUPS = (COMMITTED, ANY)
SETTINGS = {
    "share_coordinator_state_topic_num_partitions": 3,
    "share_coordinator_snapshot_update_records_per_snapshot": 7,
    "group_share_min_record_lock_duration_ms": 1_000,
    "group_share_min_session_timeout_ms": 1_000,
    "group_share_session_timeout_ms": 10_000,
    "group_share_min_heartbeat_interval_ms": 100,
    "group_share_heartbeat_interval_ms": 1_000,
    "group_share_initialize_retry_interval_ms": 2_000,
}
LOCKS_MS = (4_000, 6_000, 15_000)
LIMITS = (3, 4, 6)
MOST_LOCKS = (100, 100, 2_000)
HOW_TO_FETCH: tuple[dict[str, int], ...] = (
    {}, {"max_records": 1}, {"max_records": 5, "batch_size": 2}, {"max_records": 7, "share_acquire_mode": 1},
    {"max_bytes": 400},
)  # fmt: skip
FAILURES = (E.not_enough_replicas, E.kafka_storage_error, E.message_too_large)


class Seen(NamedTuple):
    """State of a share partition: ranges of offsets with states, counts, and whether they are locked."""

    partition: SharePartition
    start: int
    ranges: list[tuple[int, int, int, int, bool]]


class Queues(Bank):
    """The cluster, its groups' members, and the account."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, **SETTINGS)
        self.ledger = Ledger()
        self.happened: Counter[str] = Counter()
        """Number of responses by request and error."""
        self.records: list[set[int]] = [set() for _ in range(PARTITIONS)]
        """By partition the offsets of all records that were ever written."""
        self._read_to = [0] * PARTITIONS
        self._locks_since: dict[str, list[tuple[int, int]]] = {}
        """By group from when on a lock lasted how long."""
        self.highest_limit: dict[str, int] = {}
        for group in SHARE_GROUPS:
            self.configures(group)
        self.given: list[tuple[Worker, int, range]] = []
        """Deliveries since the last check: partitions and offsets."""
        self.seen: dict[tuple[str, int], Seen] = {}
        """State of leaders at the last check, by group and partition."""
        self._lost: set[tuple[str, int]] = set()
        self._left_alone: Counter[tuple[str, int]] = Counter()
        """By group and node how often the last session of the group has ended with its connection."""
        self.state_writes = self.cluster.hooks = UnreliableWrites(self, FAILURES, SHARE_STATE_TOPIC)
        if seed % 4 >= 2:
            self.state_writes.fails = 0.02
        if seed % 2:
            self.state_writes.lingers = 0.2
        self._names = 0
        self.mistakes = 0.02
        """Probability of a request to a node that is not the leader."""
        self.workers = [self._new_worker(number) for number in range(7)]

    def _new_worker(self, number: int) -> Worker:
        return Worker(
            world=self, name=f"w{number}", group_id=SHARE_GROUPS[number % 2], member_id=self.new_member_id(),
            names=(TOPIC,), limits=dict(self.random.choice(HOW_TO_FETCH)),
        )  # fmt: skip

    # What members ask of their world

    def new_member_id(self) -> str:
        self._names += 1
        return f"m{self._names}"

    def now_ms(self) -> int:
        return self.cluster.clock.now_ms()

    def reaches(self, group: str, node: int) -> Client | None:
        """Open a connection to a node or the group's coordinator, or return None if it does not run."""
        home = self.cluster.offsets_topic.home_of(group) if node == HOME else node
        found = None if home is None else self.cluster.node(home)
        return self.broker.client(found.id - 1) if found is not None and found.running else None

    def leader_of(self, at: At) -> int:
        """Return the node that leads a partition, or sometimes another one."""
        mistaken = self.random.random() < self.mistakes
        return self.random.choice(self.cluster.nodes).id if mistaken else self.topic.partitions[at[1]].leader

    def eras(self, group: str) -> dict[At, object]:
        """Return what must be unchanged for locks to stay: leaders, and sessions of the group at each."""
        return {(self.topic.topic_id, index): self._era(group, index) for index in range(PARTITIONS)}

    def _era(self, group: str, index: int) -> object:
        partition = self.topic.partitions[index]
        return partition.leader_epoch, self._left_alone[group, partition.leader]

    def session_lost(self, group: str, node: int) -> None:
        """Record a lost connection; the group's last session at a node ends its cached state."""
        self._lost.add((group, node))

    def is_record(self, at: At, offset: int) -> bool:
        """Return whether an offset has a record rather than a transaction marker."""
        self.reads_on()
        return offset in self.records[at[1]]

    def start_of(self, group: str, at: At) -> int:
        """Return the start of a group at a partition, by its leader's state."""
        known = self.led(group, at[1])
        return 0 if known is None else known.in_flight.start

    def shortest_lock_ms(self, group: str, since_ms: int) -> int:
        """Return the shortest lock duration since then."""
        known = self._locks_since[group]
        before = [lock_ms for at_ms, lock_ms in known if at_ms < since_ms]
        return min([*before[-1:], *(lock_ms for at_ms, lock_ms in known if at_ms >= since_ms)])

    def was_delivered(self, worker: Worker, what: Delivered, asked: Asked, until_ms: int) -> None:
        """Record a delivery; deleted records are delivered with the rest of their batch."""
        key, index = (worker.group_id, what.at), what.at[1]
        start = self.topic.partitions[index].log.log_start_offset
        offsets = range(max(what.first_offset, start), what.last_offset + 1)
        assert 1 <= what.deliveries <= self.highest_limit[worker.group_id], f"{worker} is given {what}"
        self.ledger.was_delivered(
            key, offsets, what.deliveries, asked, until_ms, self._era(worker.group_id, index), self.now_ms()
        )
        self.given.append((worker, index, offsets))

    # What is known where

    def led(self, group: str, index: int) -> SharePartition | None:
        """Return a share partition of its leader."""
        node = self.cluster.node(self.topic.partitions[index].leader)
        key = SharePartitionKey(group, self.topic.topic_id, index)
        return None if node is None else node.led_share_partitions.find(key)

    def state_of(self, group: str, index: int) -> ShareState | None:
        """Return the state at the share coordinator, or None."""
        key = SharePartitionKey(group, self.topic.topic_id, index)
        coordinator = self.cluster.share_state_topic.coordinator_of(key.text)
        states = E.not_coordinator if coordinator is None else coordinator.states_of(key)
        return None if isinstance(states, E) else states.get(key)

    def reads_on(self) -> None:
        """Read what was written to the log since."""
        for partition, known in zip(self.topic.partitions, self.records, strict=True):
            log = partition.log
            at = max(self._read_to[partition.index], log.log_start_offset)
            if at < log.log_end_offset:
                data = b"".join(bytes(chunk) for chunk in log.read(at, 1 << 24))
                for header in read_batches(data):
                    if not header.attributes & CONTROL:
                        known.update(range(header.base_offset, header.last_offset + 1))
                self._read_to[partition.index] = log.log_end_offset

    # What happens

    def actions(self) -> dict[Callable[[], None], float]:
        return {
            self.somebody_works: 120, self.writes: 12, self.plainly: 14, self.ends: 7, self.begins: 3,
            self.crashes: 0.4, self.passes: 25, self.reports: 10, self.closes: 1.5, self.stops_working: 0.6,
            self.falls_silent: 1, self.loses_answer: 1.5, self.lies: 3, self.deletes_records: 0.2,
            self.configures_one: 0.4, self.moves: 0.8, self.moves_states: 0.6, self.stops: 0.2, self.starts: 1.5,
        }  # fmt: skip

    def step(self) -> None:
        super().step()
        self.turns()
        for worker in self.workers:
            worker.listens()
        for group, number in self._lost:
            node = self.cluster.node(number)
            if node is not None and not node.led_share_partitions.sessions.has_group(group):
                self._left_alone[group, number] += 1
        self._lost.clear()

    def turns(self) -> None:
        """Run everything that needs no time."""
        while self.broker.loop.run_soon():
            pass

    def _somebody(self) -> Worker | None:
        worker = self.random.choice(self.workers)
        return None if worker.silent_until_ms > self.now_ms() else worker

    def somebody_works(self) -> None:
        worker = self._somebody()
        if worker is not None:
            worker.act()

    def plainly(self) -> None:
        """Write some records without a transaction."""
        partition, count = self.random.randrange(PARTITIONS), self.random.choice((1, 1, 3, 8, 20))
        records = [Record(None, b"plain", self.cluster.clock.epoch_ms) for _ in range(count)]
        response = self.sends(partition, build_batch(records), None)
        if response is not None and response[0] is E.none:
            self.plain += [(partition, response[1] + number, b"plain") for number in range(count)]

    def passes(self) -> None:
        self.broker.loop.wait(self.random.choices((1, 50, 500, 2_500), (40, 30, 20, 6))[0])

    def reports(self) -> None:
        self.state_writes.report(self.random.randint(1, 4))

    def closes(self) -> None:
        worker = self._somebody()
        if worker is not None:
            self.say(f"{worker} closes")
            worker.closes()

    def stops_working(self) -> None:
        worker = self.random.choice(self.workers)
        self.say(f"{worker} crashes")
        worker.forget()
        worker.silent_until_ms = self.now_ms() + self.random.choice((0, 5_000))

    def falls_silent(self) -> None:
        """Pause a member, which later continues with its old state."""
        worker = self.random.choice(self.workers)
        self.say(f"{worker} falls silent")
        worker.silent_until_ms = self.now_ms() + self.random.choice((3_000, 8_000, 20_000))

    def loses_answer(self) -> None:
        """Interrupt one of a member's connections."""
        worker = self.random.choice(self.workers)
        worker.loses_connection()

    def lies(self) -> None:
        worker = self._somebody()
        if worker is not None:
            worker.lies()

    def deletes_records(self) -> None:
        index = self.random.randrange(PARTITIONS)
        client, log = self.leader(index), self.topic.partitions[index].log
        if client is None:
            return
        offset = self.random.randint(log.log_start_offset, log.high_watermark)
        part = DeleteRecordsPartition(partition_index=index, offset=offset)
        answer = client.asks(
            "delete_records", 2, topics=(DeleteRecordsTopic(name=TOPIC, partitions=(part,)),), timeout_ms=1
        )
        self.say(f"records of {index} before {offset} are deleted <- {answer.topics[0].partitions[0].error_code.name}")

    def configures_one(self) -> None:
        self.configures(self.random.choice(SHARE_GROUPS))

    def configures(self, group: str) -> None:
        lock_ms, limit = self.random.choice(LOCKS_MS), self.random.choice(LIMITS)
        self.say(f"{group} locks for {lock_ms} ms, delivers {limit} times")
        self._locks_since.setdefault(group, []).append((self.now_ms(), lock_ms))
        self.highest_limit[group] = max(limit, self.highest_limit.get(group, 0))
        refused = self.cluster.group_configs.configure(group, {
            "share.auto.offset.reset": "earliest",
            "share.isolation.level": "read_committed" if group == COMMITTED else "read_uncommitted",
            "share.record.lock.duration.ms": str(lock_ms),
            "share.delivery.count.limit": str(limit),
            "share.partition.max.record.locks": str(self.random.choice(MOST_LOCKS)),
        })  # fmt: skip
        assert refused is None, refused

    def moves_states(self) -> None:
        running = [node for node in self.cluster.nodes if node.running]
        topic = self.cluster.topics.by_name("__share_group_state")
        if running and topic is not None:
            part, where = self.random.choice(topic.partitions), self.random.choice(running).id
            self.say(f"share coordinator {part.index} moves to {where}")
            self.broker.server.act(partial(move_leader, self.cluster, topic, part, where))

    # The end

    def comes_to_rest(self, look: Callable[[], None], rounds: int = 400) -> None:
        """Disable failures, and accept records until none remain, with calls of `look`.

        Raises AssertionError if that never happens.
        """
        self.state_writes.fails = self.state_writes.lingers = 0.0
        self.state_writes.report(len(self.state_writes.waiting))
        for node in self.cluster.nodes:
            if not node.running:
                self._starts(node)
        self.mistakes = 0.0
        for _ in range(6 * TIMEOUT_MS // 1_000):
            self._waits(look)
        for worker in self.workers:
            worker.silent_until_ms, worker.is_thorough = 0, True
        for group in SHARE_GROUPS:  # it may stand still at its limit, as Kafka's do: share-groups.md §11
            known = self.cluster.group_configs.of(group)
            self.cluster.group_configs.configure(
                group, known | {"share.partition.max.record.locks": str(MOST_LOCKS[-1])}
            )
        for _ in range(rounds):
            if all(self._is_at_the_end(group, index) for group in SHARE_GROUPS for index in range(PARTITIONS)):
                return
            for worker in self.workers:
                for _ in range(4):
                    worker.act()
                    self.turns()
            self._waits(look)
        raise AssertionError(f"no end after {rounds} rounds")

    def _waits(self, look: Callable[[], None]) -> None:
        """Let a second pass, in which no lock starts and ends."""
        self.broker.loop.wait(1_000)
        self.turns()
        look()

    def _is_at_the_end(self, group: str, index: int) -> bool:
        """Return whether all is processed; the start may stay before aborted records: share-groups.md §11."""
        known, high_watermark = self.led(group, index), self.topic.partitions[index].log.high_watermark
        if known is None:
            return False
        in_flight = known.in_flight
        if in_flight.is_empty:
            return in_flight.start >= high_watermark
        ranges = in_flight.ranges_between(in_flight.start, in_flight.end)
        return in_flight.end + 1 >= high_watermark and all(IS_TERMINAL[in_flight.states[index]] for index in ranges)
