"""Groups on a cluster that never rests: what their members have in common, and an account of what was committed.

Members act, crash, fall silent and lose answers. Topics come and go. Writes of coordinators fail or are reported late.
Simulations of a group type derive from `Grouped`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from kohort.broker.cluster.moving import move_leader
from kohort.protocol.errors import ErrorCode as E
from kohort.storage.topic import Topic
from tests.simulation.member import Member
from tests.simulation.restless import RestlessCluster
from tests.simulation.unreliable_writes import UnreliableWrites
from tests.support.broker import Client

FAILURES = (E.not_enough_replicas, E.request_timed_out, E.kafka_storage_error)


class Grouped(RestlessCluster):
    """The cluster, its members, and the account."""

    PAUSES_MS = (1, 5, 100, 100, 700)
    STABLE_TOPICS: ClassVar[dict[str, int]] = {"foo": 4, "bar": 2}
    """Topics that are always there, and their partitions at first."""

    members: Sequence[Member]

    def __init__(self, seed: int, **settings: Any) -> None:
        super().__init__(seed, **settings)
        self._names: dict[UUID, str] = {}
        """Of all topics that there have been."""
        for name, count in self.STABLE_TOPICS.items():
            self._create(name, count)
        self.writes = self.cluster.hooks = UnreliableWrites(self, FAILURES)
        if seed % 4 >= 2:
            self.writes.fails = 0.02
        if seed % 2:
            self.writes.lingers = 0.2
        self.accepted: dict[tuple[str, str, int], int] = {}
        """By group, topic and partition: the last offset whose commit was acknowledged."""
        self.tried: dict[tuple[str, str, int], int] = {}
        """The highest offset in any commit request."""
        self.mistakes = 0.02
        """Probability of a request to a broker that is not the coordinator."""
        self.counts: Counter[str] = Counter()

    # What members ask of their world

    def reaches(self, group: str) -> Client | None:
        """Open a separate connection, whose requests wait for no others."""
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
        if member.is_answered_at_once:
            self.check_commit(member, at, epoch)
        if key[1] in self.STABLE_TOPICS:
            assert offset >= self.accepted.get(key, 0), f"{member} sets {key} back to {offset}"
            self.accepted[key] = offset
            self.counts["commits"] += 1

    def fetched(self, member: Member, at: tuple[UUID, int], offset: int) -> None:
        key = self._key(member, at)
        if key[1] in self.STABLE_TOPICS:
            assert self.accepted.get(key, -1) <= offset <= self.tried.get(key, -1), f"{member} got {key}: {offset}"

    def _key(self, member: Member, at: tuple[UUID, int]) -> tuple[str, str, int]:
        return member.group_id, self.name_of(at[0]), at[1]

    def check_commit(self, member: Member, at: tuple[UUID, int], epoch: int) -> None:
        """Check that a member was entitled to a commit that was acknowledged immediately."""

    # What happens

    def step(self) -> None:
        super().step()
        self.broker.loop.run_soon()
        for member in self.members:
            member.listens()

    def _somebody(self) -> Member | None:
        member = self.random.choice(self.members)
        return None if member.silent_until_ms > self.now_ms() else member

    def acts(self) -> None:
        member = self._somebody()
        if member is not None and member.asked is None:
            member.act()

    def listens(self) -> None:
        pass

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
        """Pause a member, which later continues with its old state."""
        member = self.random.choice(self.members)
        self.say(f"{member} falls silent")
        member.silent_until_ms = self.now_ms() + self.random.choice((3_000, 12_000, 30_000))

    def loses_answer(self) -> None:
        self.random.choice(self.members).loses_answer = True

    def _create(self, name: str, partitions: int) -> None:
        made = self.cluster.topics.create(name, partitions, 3)
        assert isinstance(made, Topic)
        self._names[made.topic_id] = name

    def _delete(self, topic: Topic, now_ms: int) -> None:
        self.cluster.topics.delete(topic)
        for _ in self.cluster.topic_deleted(topic, now_ms):
            """The parts in order, without other requests in between."""

    def moves_coordinator(self) -> None:
        running = [node for node in self.cluster.nodes if node.running]
        topic = self.cluster.topics.by_name("__consumer_offsets")
        if running and topic is not None:
            part, where = self.random.choice(topic.partitions), self.random.choice(running).id
            self.say(f"coordinator {part.index} moves to {where}")
            self.broker.server.act(partial(move_leader, self.cluster, topic, part, where))

    # The end

    def nothing_fails(self) -> None:
        """Start all brokers and let all writes succeed."""
        self.writes.fails = self.writes.lingers = 0.0
        self.writes.report(len(self.writes.waiting))
        for node in self.cluster.nodes:
            if not node.running:
                self._starts(node)
        self.mistakes = 0.0

    def rests(self, rounds: int) -> None:
        """Let members act until nothing changes for longer than any timeout.

        Raises AssertionError if they do not stabilize.
        """
        quiet = 0
        before: list[Any] = []
        for _ in range(rounds):
            for member in self.members:
                member.silent_until_ms = member.holds_on_until_ms = 0
                member.loses_answer = False
                if member.asked is None:
                    member.act()
                self.broker.loop.run_soon()
                for each in self.members:
                    each.listens()
            self.broker.loop.wait(1_000)
            now: list[Any] = [member.settled for member in self.members]
            quiet = quiet + 1 if now == before else 0
            before = now
            if quiet == 35:
                return
        raise AssertionError(f"no rest after {rounds} rounds: {[str(member) for member in self.members]}")

    def no_commit_is_lost(self) -> None:
        """Check that groups have their last acknowledged offsets or later ones."""
        for (group_id, name, index), offset in self.accepted.items():
            coordinator = self.cluster.offsets_topic.coordinator_of(group_id)
            group = None if coordinator is None else coordinator.groups.get(group_id)
            kept = None if group is None or group.offsets is None else group.offsets.get(name, index)
            assert kept is not None, f"{group_id} has forgotten {name}-{index}"
            assert offset <= kept.offset, f"{group_id}: {name}-{index} is {kept.offset}, acknowledged was {offset}"
