"""Groups of both protocols on one cluster, driven by a seed, with a record of all commits.

Members join, leave, crash, fall silent, keep partitions for too long, lose answers, lie about their epochs, step out
and come back under their instance id, and are started again with the other protocol. Topics come, grow and go. Leaders
move, brokers stop and start, writes fail or are reported late.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from uuid import UUID

from kohort.broker.cluster.node import Node
from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from tests.simulation.grouped import Grouped
from tests.simulation.member import Member, SimulatedClassic, SimulatedConsumer
from tests.support.consumer_groups import vote_alike

GROUPS = ("orders", "billing", "refunds")
STABLE_TOPICS = Grouped.STABLE_TOPICS
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


class Consumers(Grouped):
    """The cluster, its members, and the account."""

    def __init__(self, seed: int) -> None:
        settings = dict(SETTINGS)
        settings["group_consumer_assignment_interval_ms"] = (0, 0, 500)[seed % 3]
        settings["group_consumer_max_size"] = (2**31 - 1, 5)[seed % 5 == 4]
        super().__init__(seed, **settings)
        self.kinds: dict[str, type[object]] = {}
        self.was_consumer: dict[str, bool] = {}
        """The groups of the last moment, by id: whether they spoke the consumer protocol."""
        self.started = 0
        self.members: list[Member] = [self._new_member(number) for number in range(10)]

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

    def check_commit(self, member: Member, at: tuple[UUID, int], epoch: int) -> None:
        """Check that a committing member used a past epoch in which it owned the partition."""
        group = self.consumer_group(member.group_id)
        if group is None:
            return
        known = group.members.get(member.member_id)
        assert known is not None, f"{member} is not a member, but commits"
        current = known.current
        assert epoch <= current.epoch, f"{member} commits at {epoch}, an epoch of the future"
        if epoch < current.epoch:
            has = {**current.assigned.get(at[0], {}), **current.revoking.get(at[0], {})}
            assert has.get(at[1], epoch + 1) <= epoch, f"{member} commits {at} at {epoch}: not its own then"

    # Who coordinates

    def consumer_group(self, group_id: str) -> ConsumerGroup | None:
        """Return the group from its coordinator, or None if it is classic or missing."""
        coordinator = self.cluster.offsets_topic.coordinator_of(group_id)
        return None if coordinator is None else coordinator.consumer_group(group_id)

    def classic_group(self, group_id: str) -> ClassicGroup | None:
        """Return the group from its coordinator, or None if it is a consumer group or missing."""
        coordinator = self.cluster.offsets_topic.coordinator_of(group_id)
        return None if coordinator is None else coordinator.classic_group(group_id)

    def groups(self) -> list[tuple[Node, ConsumerGroup]]:
        """Return all loaded consumer groups."""
        return [(node, group) for node in self.cluster.nodes for group in node.coordinator.of_type("consumer")]

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
        self._counts_kinds()

    def _counts_kinds(self) -> None:
        for node in self.cluster.nodes:
            for group in node.coordinator.groups.values():
                before = self.kinds.get(group.group_id)
                if before is not None and before is not type(group) and not group.is_empty:
                    self.counts["upgrades" if isinstance(group, ConsumerGroup) else "downgrades"] += 1
                if before is None or not group.is_empty:
                    self.kinds[group.group_id] = type(group)

    def steps_out(self) -> None:
        member = self._somebody()
        if isinstance(member, SimulatedConsumer) and member.instance is not None:
            self.say(f"{member} steps out")
            member.steps_out()

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
        """Restart a member with the other protocol, under its instance id or as a new member."""
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
        topics = self.cluster.topics
        topic = topics.by_name(COMES_AND_GOES)
        self.say("topics change")
        if topic is None:
            self._create(COMES_AND_GOES, 2)
        elif self.random.random() < 0.6:
            self.broker.server.act(partial(self._delete, topic))
        elif len(topic.partitions) < 4:
            topics.grow(topic, len(topic.partitions) + 1, None)

    # The end

    def comes_to_rest(self, rounds: int = 600) -> None:
        """Disable failures. Raises AssertionError if the groups do not stabilize."""
        self.nothing_fails()
        self.broker.loop.wait(1_000)
        for member in self.members:
            member.listens()
        for number, group in enumerate(GROUPS):
            consumers = [
                member for member in self.members if isinstance(member, SimulatedConsumer) and member.group_id == group
            ]
            vote_alike(self.consumer_group(group), consumers)
            if consumers:
                # A conversion without other changes leaves unassigned partitions unassigned; a new member does not.
                self.members.append(SimulatedConsumer(
                    world=self, name=f"last{number}", group_id=group, names=(*STABLE_TOPICS,), rebalance_ms=5_000,
                ))  # fmt: skip
        self.rests(rounds)
