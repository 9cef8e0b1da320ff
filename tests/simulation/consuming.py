"""Groups of both protocols on one cluster, driven by a seed, beside an account of what was committed.

Members join, leave, crash, fall silent, keep partitions for too long, lose answers, lie about their epochs, step out
and come back under their instance id, and are started again with the other protocol. Topics come, grow and go. Leaders
move, brokers stop and start, writes fail or are reported late.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from kohort.broker.cluster.broker_hooks import BrokerHooks, Report
from kohort.broker.cluster.moving import move_leader
from kohort.broker.cluster.node import Node
from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.context import CoordinatorContext
from kohort.coordinator.effects import Append
from kohort.protocol.errors import ErrorCode as E
from kohort.storage.topic import Topic
from tests.simulation.member import Member, SimulatedClassic, SimulatedConsumer
from tests.simulation.restless import RestlessCluster
from tests.support.broker import Client

GROUPS = ("orders", "billing", "refunds")
STABLE_TOPICS = {"foo": 4, "bar": 2}
COMES_AND_GOES = "foo2"
REGEXES = ("foo.*", "foo|bar", "nothing")
SETTINGS = {
    "offsets_topic_num_partitions": 2,
    "auto_leader_rebalance_enable": "false",
    "connections_max_idle_ms": -1,
    "group_initial_rebalance_delay_ms": 0,
    "group_consumer_min_session_timeout_ms": 1_000,
    "group_consumer_session_timeout_ms": 10_000,
    "group_consumer_min_heartbeat_interval_ms": 100,
    "group_consumer_heartbeat_interval_ms": 1_000,
}
FAILURES = (E.not_enough_replicas, E.request_timed_out, E.kafka_storage_error)


class Writes(BrokerHooks):
    """Some writes fail, and the outcome of others is reported late, in order."""

    def __init__(self, consumers: Consumers) -> None:
        self._consumers = consumers
        self.fails, self.lingers = 0.0, 0.0
        """How often."""
        self.waiting: list[tuple[int, Report]] = []
        """The partition that was written, and what is to be called."""

    def refuses(self, coordinator: CoordinatorContext, effect: Append) -> E | None:
        random = self._consumers.random
        return random.choice(FAILURES) if random.random() < self.fails else None

    def holds(self, effect: Append, report: Report) -> bool:
        held = any(partition == effect.partition for partition, _ in self.waiting)
        if held or self._consumers.random.random() < self.lingers:
            self.waiting.append((effect.partition, report))
            return True
        return False

    def report(self, count: int) -> None:
        """The oldest of them are reported."""
        now, self.waiting = self.waiting[:count], self.waiting[count:]
        for _, each in now:
            self._consumers.broker.server.act(each)


class Consumers(RestlessCluster):
    """The cluster, its members, and the account."""

    PAUSES_MS = (1, 5, 100, 100, 700)

    def __init__(self, seed: int) -> None:
        settings = dict(SETTINGS)
        settings["group_consumer_assignment_interval_ms"] = (0, 0, 500)[seed % 3]
        settings["group_consumer_max_size"] = (2**31 - 1, 5)[seed % 5 == 4]
        super().__init__(seed, **settings)
        self._names: dict[UUID, str] = {}
        """Of all topics that there have been."""
        for name, count in STABLE_TOPICS.items():
            self._create(name, count)
        self.writes = self.cluster.hooks = Writes(self)
        if seed % 4 >= 2:
            self.writes.fails = 0.02
        if seed % 2:
            self.writes.lingers = 0.2
        self.accepted: dict[tuple[str, str, int], int] = {}
        """By group, topic and partition: the last offset whose commit was acknowledged."""
        self.tried: dict[tuple[str, str, int], int] = {}
        """The highest offset that anybody wanted to commit."""
        self.mistakes = 0.02
        """How often a member asks a broker that is not in charge."""
        self.counts: Counter[str] = Counter()
        self.kinds: dict[str, type[object]] = {}
        self.was_consumer: dict[str, bool] = {}
        """The groups of the last moment, by id: whether they spoke the consumer protocol."""
        self.started = 0
        self.members = [self._new_member(number) for number in range(10)]

    def _new_member(self, number: int, *, classic: bool | None = None, instance: str | None = None) -> Member:
        random = self.random
        self.started += 1
        name = f"m{number}.{self.started}"
        group = GROUPS[number % len(GROUPS)]
        if instance is None and random.random() < 0.3:
            instance = f"i{number}"
        rebalance_ms = random.choice((4_000, 5_000, 30_000))
        if classic if classic is not None else random.random() < 0.35:
            names = ("foo",) if random.random() < 0.7 else ("bar", "foo")
            return SimulatedClassic(
                world=self, name=name, group_id=group, instance=instance, names=names,
                cooperative=random.random() < 0.5, rebalance_ms=rebalance_ms,
            )  # fmt: skip
        gets_id = random.random() < 0.25
        regex = random.choice(REGEXES) if not gets_id and random.random() < 0.2 else None
        names = random.choice((("foo",), ("foo",), ("bar", "foo"), ("bar",), ("foo", COMES_AND_GOES)))
        return SimulatedConsumer(
            world=self, name=name, group_id=group, instance=instance,
            names=() if regex and random.random() < 0.7 else names, regex=regex, gets_id=gets_id,
            assignor=random.choice((None, None, "range", "uniform")), rebalance_ms=rebalance_ms,
        )  # fmt: skip

    # What members ask of their world

    def reaches(self, group: str) -> Client | None:
        """A connection of its own: what is asked there waits for nobody else."""
        home = self.cluster.offsets_topic.home_of(group)
        if self.random.random() < self.mistakes:
            home = self.random.choice(self.cluster.nodes).id
        node = None if home is None else self.cluster.node(home)
        return self.broker.client(node.id - 1) if node is not None and node.running else None

    def now_ms(self) -> int:
        return self.cluster.clock.now_ms()

    def name_of(self, topic_id: UUID) -> str:
        return self._names[topic_id]

    def topic_ids(self) -> dict[str, UUID]:
        return {topic.name: topic.topic_id for topic in self.cluster.topics}

    def partitions_of(self, name: str) -> int:
        topic = self.cluster.topics.by_name(name)
        return 0 if topic is None else len(topic.partitions)

    def commits(self, member: Member, at: tuple[UUID, int], offset: int) -> None:
        key = self._key(member, at)
        self.tried[key] = max(self.tried.get(key, 0), offset)

    def committed(self, member: Member, at: tuple[UUID, int], offset: int, epoch: int) -> None:
        key = self._key(member, at)
        group = self.consumer_group(member.group_id)
        if group is not None and member.is_answered_at_once:
            self._is_entitled(group, member, at, epoch)
        if key[1] in STABLE_TOPICS:
            assert offset >= self.accepted.get(key, 0), f"{member} sets {key} back to {offset}"
            self.accepted[key] = offset
            self.counts["commits"] += 1

    def fetched(self, member: Member, at: tuple[UUID, int], offset: int) -> None:
        key = self._key(member, at)
        if key[1] in STABLE_TOPICS:
            assert self.accepted.get(key, -1) <= offset <= self.tried.get(key, -1), f"{member} is told {key}: {offset}"

    def _key(self, member: Member, at: tuple[UUID, int]) -> tuple[str, str, int]:
        return member.group_id, self.name_of(at[0]), at[1]

    def _is_entitled(self, group: ConsumerGroup, member: Member, at: tuple[UUID, int], epoch: int) -> None:
        """Who has just committed is a member, and named no epoch of the future, nor one before it had the partition."""
        known = group.members.get(member.member_id)
        assert known is not None, f"{member} is nobody, and commits"
        current = known.current
        assert epoch <= current.epoch, f"{member} commits at {epoch}, an epoch of the future"
        if epoch < current.epoch:
            has = {**current.assigned.get(at[0], {}), **current.revoking.get(at[0], {})}
            assert has.get(at[1], epoch + 1) <= epoch, f"{member} commits {at} at {epoch}: not its own then"

    # Who coordinates

    def consumer_group(self, group_id: str) -> ConsumerGroup | None:
        """The group, where it is coordinated now; None: it is classic, or not there."""
        coordinator = self.cluster.offsets_topic.coordinator_of(group_id)
        return None if coordinator is None else coordinator.consumer_groups.get(group_id)

    def classic_group(self, group_id: str) -> ClassicGroup | None:
        """The group, where it is coordinated now; None: it is a consumer group, or not there."""
        coordinator = self.cluster.offsets_topic.coordinator_of(group_id)
        return None if coordinator is None else coordinator.groups.get(group_id)

    def groups(self) -> list[tuple[Node, ConsumerGroup]]:
        """All consumer groups that are served now."""
        return [(node, group) for node in self.cluster.nodes for group in node.coordinator.consumer_groups.values()]

    # What happens

    def actions(self) -> dict[Callable[[], None], float]:
        return {
            self.acts: 120, self.passes: 22, self.listens: 10, self.reports: 8, self.leaves: 0.7, self.crashes: 0.5,
            self.falls_silent: 0.4, self.steps_out: 0.5, self.loses_answer: 1.5, self.lies: 2, self.subscribes: 0.6,
            self.swaps: 1.2, self.changes_topics: 0.4, self.moves: 0.3, self.moves_coordinator: 0.5, self.stops: 0.15,
            self.starts: 0.8,
        }  # fmt: skip

    def step(self) -> None:
        super().step()
        self.broker.loop.run_soon()
        for member in self.members:
            member.listens()
        self._counts_kinds()

    def _counts_kinds(self) -> None:
        for node in self.cluster.nodes:
            for group in node.coordinator.all_groups():
                before = self.kinds.get(group.group_id)
                if before is not None and before is not type(group) and not group.is_empty:
                    self.counts["upgrades" if isinstance(group, ConsumerGroup) else "downgrades"] += 1
                if before is None or not group.is_empty:
                    self.kinds[group.group_id] = type(group)

    def _somebody(self) -> Member | None:
        member = self.random.choice(self.members)
        return None if member.silent_until_ms > self.now_ms() else member

    def acts(self) -> None:
        member = self._somebody()
        if member is not None and member.asked is None:
            member.act()

    def listens(self) -> None:
        """What waits in the loop gets on."""

    def reports(self) -> None:
        self.writes.report(self.random.randint(1, 4))

    def leaves(self) -> None:
        member = self._somebody()
        if member is not None:
            self.say(f"{member} leaves")
            member.leaves()

    def crashes(self) -> None:
        member = self.random.choice(self.members)
        self.say(f"{member} crashes")
        member.forget()
        member.silent_until_ms = self.now_ms() + self.random.choice((0, 5_000, 15_000))

    def falls_silent(self) -> None:
        """It is alive, and will go on as if nothing had been."""
        member = self.random.choice(self.members)
        self.say(f"{member} falls silent")
        member.silent_until_ms = self.now_ms() + self.random.choice((3_000, 12_000, 30_000))

    def steps_out(self) -> None:
        member = self._somebody()
        if isinstance(member, SimulatedConsumer) and member.instance is not None:
            self.say(f"{member} steps out")
            member.steps_out()

    def loses_answer(self) -> None:
        self.random.choice(self.members).loses_answer = True

    def lies(self) -> None:
        member = self._somebody()
        if isinstance(member, SimulatedConsumer):
            member.lies(self.random.choice((-2, -1, 1, 100)))

    def subscribes(self) -> None:
        member = self._somebody()
        if isinstance(member, SimulatedConsumer) and member.regex is None:
            names = self.random.choice((("foo",), ("bar", "foo"), ("bar",), ()))
            self.say(f"{member} subscribes to {names}")
            member.subscribe(names)

    def swaps(self) -> None:
        """A member is started again with the other protocol: under its instance id, or as somebody else."""
        number = self.random.randrange(len(self.members))
        member = self.members[number]
        leaves = member.instance is None or self.random.random() < 0.5
        self.say(f"{member} {'leaves and ' if leaves else ''}comes back with the other protocol")
        if leaves:
            member.leaves()
        member.forget()
        self.members[number] = self._new_member(
            number, classic=isinstance(member, SimulatedConsumer), instance=member.instance
        )

    def changes_topics(self) -> None:
        """One comes, grows, or goes."""
        topics = self.cluster.topics
        known = topics.by_name(COMES_AND_GOES)
        self.say("topics change")
        if known is None:
            self._create(COMES_AND_GOES, 2)
        elif self.random.random() < 0.6:
            self.broker.server.act(partial(self._delete, known))
        elif len(known.partitions) < 4:
            topics.grow(known, len(known.partitions) + 1, None)

    def _create(self, name: str, partitions: int) -> None:
        made = self.cluster.topics.create(name, partitions, 3)
        assert isinstance(made, Topic)
        self._names[made.topic_id] = name

    def _delete(self, topic: Topic, now_ms: int) -> None:
        self.cluster.topics.delete(topic)
        for _ in self.cluster.topic_deleted(topic, now_ms):
            """One part after the other; nobody is to be served in between."""

    def moves_coordinator(self) -> None:
        running = [node for node in self.cluster.nodes if node.running]
        topic = self.cluster.topics.by_name("__consumer_offsets")
        if running and topic is not None:
            part, where = self.random.choice(topic.partitions), self.random.choice(running).id
            self.say(f"coordinator {part.index} moves to {where}")
            self.broker.server.act(partial(move_leader, self.cluster, topic, part, where))

    # The end

    def comes_to_rest(self, rounds: int = 600) -> None:
        """Nothing fails any more. Raises AssertionError if members do not come to rest."""
        self.writes.fails = self.writes.lingers = 0.0
        self.writes.report(len(self.writes.waiting))
        for node in self.cluster.nodes:
            if not node.running:
                self._starts(node)
        self.mistakes = 0.0
        for number, group in enumerate(GROUPS):
            if any(isinstance(member, SimulatedConsumer) for member in self.members if member.group_id == group):
                # Who converts a group and changes nothing leaves what was nobody's to nobody. A newcomer does not.
                self.members.append(SimulatedConsumer(
                    world=self, name=f"last{number}", group_id=group, names=(*STABLE_TOPICS,), rebalance_ms=5_000,
                ))  # fmt: skip
        quiet = 0
        before: list[Any] = []
        for _ in range(rounds):
            for member in self.members:
                member.silent_until_ms = 0
                member.loses_answer = False
                if isinstance(member, SimulatedConsumer):
                    member.holds_on_until_ms = 0
                if member.asked is None:
                    member.act()
                self.broker.loop.run_soon()
                for each in self.members:
                    each.listens()
            self.broker.loop.wait(1_000)
            now: list[Any] = [member.settled for member in self.members]
            quiet = quiet + 1 if now == before else 0
            before = now
            if quiet == 35:  # longer than any timeout
                return
        raise AssertionError(f"no rest after {rounds} rounds: {[str(member) for member in self.members]}")
