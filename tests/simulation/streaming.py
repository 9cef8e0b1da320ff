"""Streams groups on one cluster, driven by a seed: applications of one and two subtopologies, with stores and without.

Threads of several processes join, leave, crash, alone or with their process, fall silent, keep tasks for too long, lose
answers, lie about epochs and tasks. Source topics come, grow and go, internal topics are deleted, the number of standby
copies changes, and an application is deployed again after its group's deletion. Coordinators move, brokers stop and
start, writes fail or are reported late.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from uuid import UUID

from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.streams_group_heartbeat import CopartitionGroup, Subtopology, TopicInfo, Topology
from tests.simulation.grouped import Grouped
from tests.simulation.member import Member
from tests.simulation.streams_thread import Thread
from tests.support.streams_member import read_by

COMES_AND_GOES = "baz"
GROUPS = ("stateless", "joins", "counts")
SETTINGS = {
    "offsets_topic_num_partitions": 2,
    "auto_leader_rebalance_enable": "false",
    "connections_max_idle_ms": -1,
    "group_streams_min_session_timeout_ms": 1_000,
    "group_streams_session_timeout_ms": 10_000,
    "group_streams_min_heartbeat_interval_ms": 100,
    "group_streams_heartbeat_interval_ms": 1_000,
}


def _internal(name: str) -> TopicInfo:
    return TopicInfo(name=name, partitions=0, replication_factor=0, topic_configs=())


STATELESS = (Subtopology(subtopology_id="0", source_topics=("foo", "bar")),)
JOINS = (
    Subtopology(
        subtopology_id="0",
        source_topics=("bar", COMES_AND_GOES),
        state_changelog_topics=(_internal("joins-store"),),
        copartition_groups=(CopartitionGroup(source_topics=(0, 1)),),
    ),
)
COUNTS = (
    Subtopology(subtopology_id="0", source_topics=("foo",), repartition_sink_topics=("counts-rep",)),
    Subtopology(
        subtopology_id="1",
        repartition_source_topics=(_internal("counts-rep"),),
        state_changelog_topics=(_internal("counts-store"),),
    ),
)
APPLICATIONS = {"stateless": STATELESS, "joins": JOINS, "counts": COUNTS}
INTERNAL = ("joins-store", "counts-rep", "counts-store")


class Streaming(Grouped):
    """The cluster, its threads, and the account."""

    def __init__(self, seed: int) -> None:
        settings = dict(SETTINGS)
        settings["group_streams_assignment_interval_ms"] = (0, 0, 500)[seed % 3]
        settings["group_streams_initial_rebalance_delay_ms"] = (0, 700)[seed % 7 > 3]
        settings["group_streams_max_size"] = (2**31 - 1, 5)[seed % 5 == 4]
        super().__init__(seed, **settings)
        self._create(COMES_AND_GOES, 2)
        self._deployed = dict.fromkeys(GROUPS, 0)
        """Number of new deployments of an application."""
        self.replicas = dict.fromkeys(GROUPS, 0)
        """Standby copies that each group is set to have."""
        self.members: list[Thread] = [self._new_thread(number) for number in range(12)]

    def _new_thread(self, number: int) -> Thread:
        return Thread(
            world=self, name=f"t{number}", group_id=GROUPS[number % len(GROUPS)],
            rebalance_ms=self.random.choice((4_000, 5_000, 30_000)),
        )  # fmt: skip

    # What threads ask of their world

    def topology_of(self, group_id: str) -> Topology:
        """Return the deployed topology of a group."""
        return Topology(epoch=self._deployed[group_id], subtopologies=APPLICATIONS[group_id])

    def topic_ids(self) -> dict[str, UUID]:
        """Return topic ids, and note the internal topics that brokers have created."""
        ids = super().topic_ids()
        self._names.update((topic_id, name) for name, topic_id in ids.items())
        return ids

    def check_commit(self, member: Member, at: tuple[UUID, int], epoch: int) -> None:
        """Check that a committing member used a past epoch since which it has had the active task."""
        group = self.streams_group(member.group_id)
        if group is None:
            return
        known = group.members.get(member.member_id)
        assert known is not None, f"{member} is not a member, but commits"
        current = known.current
        assert epoch <= current.epoch, f"{member} commits at {epoch}, an epoch of the future"
        if epoch < current.epoch:
            reader = next(each for each in APPLICATIONS[member.group_id] if self.name_of(at[0]) in read_by(each))
            has: dict[int, int] = {}
            for tasks in (current.assigned, current.revoking):
                has |= tasks.active.get(reader.subtopology_id, {})
            assert has.get(at[1], epoch + 1) <= epoch, f"{member} commits {at} at {epoch}: not its own then"

    # Who coordinates

    def streams_group(self, group_id: str) -> StreamsGroup | None:
        """Return the group from its coordinator, or None."""
        coordinator = self.cluster.offsets_topic.coordinator_of(group_id)
        return None if coordinator is None else coordinator.streams_group(group_id)

    # What happens

    def actions(self) -> dict[Callable[[], None], float]:
        return {
            self.acts: 120, self.passes: 22, self.listens: 10, self.reports: 8, self.leaves: 0.7, self.crashes: 0.5,
            self.process_dies: 0.2, self.falls_silent: 0.4, self.loses_answer: 1.5, self.lies: 2,
            self.changes_itself: 0.3, self.changes_topics: 0.3, self.changes_replicas: 0.3, self.deploys: 0.1,
            self.moves: 0.3, self.moves_coordinator: 0.5, self.stops: 0.15, self.starts: 0.8,
        }  # fmt: skip

    def process_dies(self) -> None:
        """Stop all threads of a process without a leave."""
        one = self.random.choice(self.members)
        self.say(f"process {one.process_id} of {one.group_id} dies")
        dead = [
            member for member in self.members if (member.group_id, member.process_id) == (one.group_id, one.process_id)
        ]
        for thread in dead:
            thread.forget()
            thread.silent_until_ms = self.now_ms() + self.random.choice((0, 5_000, 15_000))

    def lies(self) -> None:
        thread = self._somebody()
        if isinstance(thread, Thread):
            thread.lies(self.random.choice((-2, -1, 1, 100)))

    def changes_itself(self) -> None:
        self.random.choice(self.members).changes_itself()

    def changes_topics(self) -> None:
        name = self.random.choice((COMES_AND_GOES, COMES_AND_GOES, "foo", *INTERNAL, *INTERNAL))
        topic = self.cluster.topics.by_name(name)
        self.say(f"topic {name} changes")
        if topic is None and name == COMES_AND_GOES:
            self._create(name, self.random.choice((2, 2, 3)))
        elif topic is not None and name == "foo":
            if len(topic.partitions) < 6:
                self.cluster.topics.grow(topic, len(topic.partitions) + 1, None)
        elif topic is not None:
            self.broker.server.act(partial(self._delete, topic))

    def changes_replicas(self) -> None:
        self.changes_replicas_of(self.random.choice(GROUPS), self.random.randrange(3))

    def changes_replicas_of(self, group_id: str, replicas: int) -> None:
        self.say(f"{group_id} has {replicas} standby copies")
        self.replicas[group_id] = replicas
        refused = self.cluster.group_configs.configure(group_id, {"streams.num.standby.replicas": str(replicas)})
        assert refused is None, refused

    def deploys(self) -> None:
        """Let all threads leave, and start another version if the group can be deleted."""
        group_id = self.random.choice(GROUPS)
        for thread in self.members:
            if thread.group_id == group_id:
                thread.leaves()
        client = self.reaches(group_id)
        if client is None or self.writes.lingers:
            return
        (result,) = client.asks("delete_groups", 2, groups_names=(group_id,)).results
        self.say(f"{group_id} is deleted <- {result.error_code.name}")
        if result.error_code is E.none:
            self.counts["deployed again"] += 1
            self._deployed[group_id] += 1
            self.accepted = {key: offset for key, offset in self.accepted.items() if key[0] != group_id}
            self.tried = {key: offset for key, offset in self.tried.items() if key[0] != group_id}

    # The end

    def comes_to_rest(self, rounds: int = 600) -> None:
        """Disable failures and delete unsuitable internal topics. Raises AssertionError if threads do not stabilize."""
        self.nothing_fails()
        baz = self.cluster.topics.by_name(COMES_AND_GOES)
        for name in (*INTERNAL, *((COMES_AND_GOES,) if baz is not None and len(baz.partitions) != 2 else ())):
            topic = self.cluster.topics.by_name(name)
            if topic is not None:
                self.broker.server.act(partial(self._delete, topic))
        if self.cluster.topics.by_name(COMES_AND_GOES) is None:
            self._create(COMES_AND_GOES, 2)
        self.rests(rounds)
