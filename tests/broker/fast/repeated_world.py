"""Two brokers with equal requests, one of which has no fast path. Their clients receive the same bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any
from uuid import UUID

from kohort.broker.cluster.broker_hooks import NO_HOOKS, BrokerHooks
from kohort.broker.cluster.moving import MoveError, move_leader
from kohort.broker.fast.cached_request import CachedRequest
from kohort.broker.fast.request_patterns import NUMBERS_AT
from kohort.broker.shortcuts import NONE, Repeated, Shortcuts
from kohort.coordinator.context import CoordinatorContext
from kohort.coordinator.effects import Append
from kohort.protocol.api_keys import API_BY_NAME
from kohort.protocol.errors import ErrorCode
from kohort.protocol.headers import RequestHeader
from kohort.protocol.messages import message_of
from kohort.protocol.messages.create_partitions import CreatePartitionsTopic
from kohort.protocol.messages.leave_group import MemberIdentity
from kohort.protocol.messages.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from kohort.protocol.messages.offset_delete import OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from kohort.protocol.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopic
from kohort.storage.topic import Topic
from tests.broker.fast.pair import Pair
from tests.broker.repeating_member import odd_protocols, some_member
from tests.support.broker import Broker, Client
from tests.support.data_requests import delete, given_topic
from tests.support.rights import allow, client_of, guarded_broker, take_back

OFFSETS = "__consumer_offsets"
TOPICS = ("t", "u", "v")  # the last one does not exist for long
SERVED = {name: range(API_BY_NAME[name].min_version, API_BY_NAME[name].max_version + 1) for name in NUMBERS_AT}
RIGHTS = ("User:ada Read group *", "User:ada Describe group *", "User:ada Read topic t", "User:ada Read topic u")
GENERATIONS = (0, 1, 2, -1, (1 << 31) - 1)
FILL_UP = (0, 1, -1, 1 << 40, -(1 << 63), (1 << 63) - 1)


class Storms(BrokerHooks):
    """A laboratory, as small as it can be: some writes fail, and some requests are refused."""

    def __init__(self, seed: int) -> None:
        self._chance = Random(seed)

    def handle(self, node: Any, request: Any, ticket: Any) -> Any:
        if ticket.api.spec.name in NUMBERS_AT and self._chance.random() < 0.2:
            return ticket.api.error_response(request, ErrorCode.not_coordinator)
        return super().handle(node, request, ticket)

    def refuses(self, coordinator: CoordinatorContext, effect: Append) -> ErrorCode | None:
        return ErrorCode.kafka_storage_error if self._chance.random() < 0.3 else None


class Counted(Shortcuts):
    """Shortcuts, and how often they were of use."""

    def __init__(self, known: Shortcuts, repeated: Counter[str]) -> None:
        self._known, self._repeated = known, repeated

    def find(self, frame: bytes, start: int) -> Repeated | None:
        found = self._known.find(frame, start)
        if isinstance(found, CachedRequest):
            name = found.api.spec.name
            self._repeated[name] += found.kept is not None or name in ("join_group", "sync_group")
        return found

    def learn(self, api: Any, request: Any, frame: bytes, start: int, header: RequestHeader) -> Shortcuts:
        return Counted(self._known.learn(api, request, frame, start, header), self._repeated)


class World:
    """Two brokers, one of which reads every request."""

    groups = ("one", "two", "three")

    def __init__(self, seed: int, *, guarded: bool) -> None:
        self.chance, self.guarded, self.correlation_id = Random(seed), guarded, 0
        settings: dict[str, Any] = {
            "offsets_topic_num_partitions": 2, "group_initial_rebalance_delay_ms": 0, "offset_metadata_max_bytes": 40,
            "nodes": 2, "group_streams_initial_rebalance_delay_ms": 0, "group_streams_assignment_interval_ms": 0,
        }  # fmt: skip
        self.brokers = [guarded_broker(**settings) if guarded else Broker(**settings) for _ in range(2)]
        self.repeated = Counter[str]()
        """How many requests were not read, or what had been made of them before was of use."""
        self.brokers[0].server.shortcuts = Counted(self.brokers[0].server.shortcuts, self.repeated)
        self.brokers[1].server.shortcuts = NONE
        self.ids: dict[str, UUID] = {}
        self.allowed = dict.fromkeys(RIGHTS, True)
        for broker in self.brokers:
            broker.cluster.offsets_topic.create(0)
            if guarded:
                allow(broker, *RIGHTS)
        for name in TOPICS[:2]:
            self.create(name)
        self.pairs = [Pair(self, number % 2) for number in range(5)]

    message = staticmethod(message_of)

    def client(self, broker: Broker, node: int) -> Client:
        return client_of(broker, "ada", node=node) if self.guarded else broker.client(node)

    def admin(self, broker: Broker) -> Client:
        return client_of(broker, "admin") if self.guarded else broker.client()

    def create(self, name: str) -> None:
        if self.brokers[0].cluster.topics.by_name(name) is None:
            for broker in self.brokers:
                self.ids[name] = given_topic(self.admin(broker), name, 3)

    def topic(self, broker: Broker) -> Topic:
        found = broker.cluster.topics.by_name(OFFSETS)
        assert found is not None
        return found

    # What happens

    def plays(self, steps: int) -> None:
        kinds = [self.again] * 30 + [self.new] * 10 + [self.joins] * 2 + [self.syncs] * 2 + [self.strikes] * 3 + [
            *[self.rebalances] * 3,
            self.passes, self.grows, self.deletes, *[self.creates] * 4, self.forgets, self.leaves, self.moves,
            self.reconnects, self.interferes, self.rights, self.rights, self.consumes, self.removes_group,
        ]  # fmt: skip
        self.goes_on(steps, kinds)

    def goes_on(self, steps: int, kinds: Sequence[Callable[[Pair], None]]) -> None:
        for _ in range(steps):
            self.chance.choice(kinds)(self.chance.choice(self.pairs))
            for broker in self.brokers:
                while broker.loop.run_soon():
                    pass
            for pair in self.pairs:
                pair.hears()

    def new(self, pair: Pair) -> None:
        """Send a request that differs from all earlier ones, or one with the client's current state."""
        name = self.chance.choice(list(NUMBERS_AT))
        version = self.chance.choice(SERVED[name])
        fields: dict[str, Any] = getattr(self, name)(pair, version)
        pair.favourites = [*pair.favourites[-3:], (name, version, fields)]
        self.again(pair)

    def again(self, pair: Pair) -> None:
        """Repeat requests once or a few times, in one or two pieces of bytes."""
        if not pair.favourites:
            return self.new(pair)
        chosen = -1 if self.chance.random() < 0.6 else self.chance.randrange(len(pair.favourites))
        name, version, fields = pair.favourites[chosen]
        said = []
        for _ in range(self.chance.choice((1, 1, 4, 9))):
            if name == "offset_commit" and self.chance.random() < 0.9:
                fields = {**fields, "topics": tuple(self.with_offsets(topic) for topic in fields["topics"])}
            elif name in ("heartbeat", "sync_group") and self.chance.random() < 0.5:
                fields = {**fields, "generation_id": self.chance.choice((pair.member.generation, *GENERATIONS))}
            elif name in ("consumer_group_heartbeat", "streams_group_heartbeat") and self.chance.random() < 0.5:
                fields = {**fields, "member_epoch": self.chance.choice((pair.member.generation, *GENERATIONS))}
            said.append(pair.frame(name, version, **fields))
        if self.chance.random() < 0.2:
            return pair.says(b"".join(said))
        for each in said:
            cut = self.chance.randrange(len(each)) if self.chance.random() < 0.1 else 0
            if cut:
                pair.says(each[:cut])
            pair.says(each[cut:])
        return None

    def strikes(self, pair: Pair) -> None:
        """Repeat a request with one bit flipped."""
        if not pair.favourites:
            return
        self.again(pair)
        name, version, fields = self.chance.choice(pair.favourites)
        for _ in range(3):
            pair.says(pair.frame(name, version, **fields))
        damaged = bytearray(pair.frame(name, version, **fields))
        damaged[self.chance.randrange(12, len(damaged))] ^= 1 << self.chance.randrange(8)
        pair.says(bytes(damaged))
        pair.asked.clear()

    def joins(self, pair: Pair) -> None:
        version = pair.member.join_version
        pair.says(pair.frame("join_group", version, **pair.member.joining()))
        self.passes_a_while(5)

    def syncs(self, pair: Pair) -> None:
        version, leads = pair.member.sync_version, self.chance.random() < 0.5
        pair.says(pair.frame("sync_group", version, **pair.member.syncing(leads=leads)))

    def beats(self, pair: Pair) -> None:
        pair.says(pair.frame("heartbeat", 4, **pair.member.beat().fields))

    def rebalances(self, pair: Pair) -> None:
        """Let all members of a group join, sync and send heartbeats; some skip or repeat a step."""
        together = [each for each in self.pairs if each.member.group_id == pair.member.group_id]
        for _ in range(self.chance.choice((1, 3, 5))):
            for action in (self.joins, self.syncs, self.beats):
                for each in together:
                    for _ in range(self.chance.choices((0, 1, 2), (1, 20, 1))[0]):
                        action(each)
                self.passes_a_while(5)

    def passes_a_while(self, length_ms: int) -> None:
        for broker in self.brokers:
            broker.loop.wait(length_ms)
            while broker.loop.run_soon():
                pass
        for pair in self.pairs:
            pair.hears()

    def leaves(self, pair: Pair) -> None:
        member = MemberIdentity(member_id=pair.member.member_id, group_instance_id=None)
        pair.says(pair.frame("leave_group", 4, group_id=pair.member.group_id, members=(member,)))

    def consumes(self, pair: Pair) -> None:
        if self.chance.random() < 0.5:
            pair.member = some_member("four", self.chance)
        names = self.chance.choice((("t",), ("t", "u")))
        epoch = max(pair.member.generation, 0)
        pair.says(
            pair.frame(
                "consumer_group_heartbeat", 0, group_id=pair.member.group_id, member_id=pair.member.member_id,
                member_epoch=epoch, rebalance_timeout_ms=60_000, subscribed_topic_names=names, topic_partitions=(),
            )
        )  # fmt: skip

    def passes(self, pair: Pair) -> None:
        length_ms = self.chance.choice((1, 300, 5_000, 25_000))
        for broker in self.brokers:
            broker.loop.wait(length_ms)
        if length_ms == 25_000 and self.chance.random() < 0.5:
            pair.member = some_member(self.chance.choice(self.groups), self.chance)

    def grows(self, pair: Pair) -> None:
        topic = self.brokers[0].cluster.topics.by_name("t")
        if topic is not None and len(topic.partitions) < 12:
            more = CreatePartitionsTopic(name="t", count=len(topic.partitions) + 1, assignments=None)
            for broker in self.brokers:
                self.admin(broker).asks("create_partitions", 2, topics=(more,), timeout_ms=1_000, validate_only=False)

    def deletes(self, pair: Pair) -> None:
        name = self.chance.choice(TOPICS)
        if self.brokers[0].cluster.topics.by_name(name) is not None:
            for broker in self.brokers:
                delete(self.admin(broker), name)

    def creates(self, pair: Pair) -> None:
        self.create(self.chance.choice(TOPICS))

    def forgets(self, pair: Pair) -> None:
        parts = (OffsetDeleteRequestPartition(partition_index=self.chance.randrange(3)),)
        topics = (OffsetDeleteRequestTopic(name=self.chance.choice(TOPICS), partitions=parts),)
        pair.says(pair.frame("offset_delete", 0, group_id=pair.member.group_id, topics=topics))

    def removes_group(self, pair: Pair) -> None:
        pair.says(pair.frame("delete_groups", 2, groups_names=(pair.member.group_id,)))

    def moves(self, pair: Pair) -> None:
        index, node = self.chance.randrange(2), self.chance.randrange(2)
        for broker in self.brokers:
            topic, cluster = self.topic(broker), broker.cluster

            def move(now_ms: int, topic: Topic = topic, broker: Broker = broker) -> None:
                move_leader(broker.cluster, topic, topic.partitions[index], node, now_ms)

            try:
                broker.server.act(move)
            except MoveError:
                assert cluster.topics.by_name(OFFSETS) is topic
            broker.loop.wait(1)

    def reconnects(self, pair: Pair) -> None:
        for client in pair.clients:
            client.connection.connection_lost(None)
        pair.connect()

    def interferes(self, pair: Pair) -> None:
        seed = self.chance.randrange(1 << 30)
        calm = self.chance.random() < 0.8
        for broker in self.brokers:
            broker.cluster.hooks = NO_HOOKS if calm else Storms(seed)

    def rights(self, pair: Pair) -> None:
        """Remove a right of a client between repeated requests."""
        if not self.guarded:
            return
        right = next((each for each in RIGHTS if not self.allowed[each]), self.chance.choice(RIGHTS))
        self.again(pair)
        for broker in self.brokers:
            change = take_back if self.allowed[right] else allow
            change(broker, right)
        self.allowed[right] = not self.allowed[right]
        self.again(pair)

    # Requests

    def who(self, pair: Pair) -> tuple[str, str, int]:
        member = pair.member
        if self.chance.random() < 0.5:
            return self.chance.choice(("simple", "simple", "", member.group_id)), "", -1
        return member.group_id, member.member_id, member.generation + self.chance.choice((0, 0, 0, 0, 0, 1))

    def heartbeat(self, pair: Pair, version: int) -> dict[str, Any]:
        fields = pair.member.beat().fields
        fields["group_id"], fields["member_id"], fields["generation_id"] = self.who(pair)
        return fields

    def consumer_group_heartbeat(self, pair: Pair, version: int) -> dict[str, Any]:
        group_id, member_id, epoch = self.who(pair)
        return {"group_id": group_id, "member_id": member_id, "member_epoch": epoch}

    streams_group_heartbeat = consumer_group_heartbeat

    def join_group(self, pair: Pair, version: int) -> dict[str, Any]:
        fields = pair.member.joining()
        fields["group_id"], fields["member_id"], _ = self.who(pair)
        if self.chance.random() < 0.2:
            fields["protocols"] = odd_protocols(self.chance)
        if self.chance.random() < 0.1:
            fields["session_timeout_ms"] = self.chance.choice((-1, 0, 6_001))
        return fields

    def sync_group(self, pair: Pair, version: int) -> dict[str, Any]:
        fields = pair.member.syncing(leads=self.chance.random() < 0.2)
        fields["group_id"], fields["member_id"], fields["generation_id"] = self.who(pair)
        return fields

    def offset_fetch(self, pair: Pair, version: int) -> dict[str, Any]:
        topics = tuple(
            OffsetFetchRequestTopic(name=name, topic_id=self.topic_id(name, version), partition_indexes=(0, 1, 7))
            for name in self.chance.sample(TOPICS, self.chance.randint(1, 3))
        )
        groups = (OffsetFetchRequestGroup(group_id=self.who(pair)[0], topics=topics),)
        return {"groups": groups, "require_stable": version >= 7 and self.chance.random() < 0.5}

    def offset_commit(self, pair: Pair, version: int) -> dict[str, Any]:
        group_id, member_id, generation = self.who(pair)
        names = self.chance.choices(TOPICS, (8, 4, 1), k=self.chance.choice((1, 1, 1, 2, 3)))  # some of them twice
        topics = tuple(self.committed(name, version) for name in names)
        fields = {"group_id": group_id, "member_id": member_id, "generation_id_or_member_epoch": generation}
        if version <= 4 and self.chance.random() < 0.3:
            fields["retention_time_ms"] = 9_000
        return {**fields, "topics": topics}

    def committed(self, name: str, version: int) -> OffsetCommitRequestTopic:
        indexes = self.chance.sample(
            range(self.chance.choice((3, 3, 4))), self.chance.randint(0 if version == 3 else 1, 3)
        )
        parts = tuple(
            OffsetCommitRequestPartition(
                partition_index=index,
                committed_offset=0,
                committed_metadata=self.chance.choices((None, "", "note", "ü" * 5, "long" * 15), (2, 8, 3, 1, 1))[0],
            )
            for index in indexes
        )
        return OffsetCommitRequestTopic(name=name, topic_id=self.topic_id(name, version), partitions=parts)

    def with_offsets(self, topic: OffsetCommitRequestTopic) -> OffsetCommitRequestTopic:
        parts = tuple(
            OffsetCommitRequestPartition(
                partition_index=partition.partition_index,
                committed_offset=self.chance.choice((self.chance.randrange(1_000), *FILL_UP)),
                committed_metadata=partition.committed_metadata,
            )
            for partition in topic.partitions
        )
        return OffsetCommitRequestTopic(name=topic.name, topic_id=topic.topic_id, partitions=parts)

    def topic_id(self, name: str, version: int) -> UUID | None:
        return self.ids.get(name, UUID(int=7)) if version >= 10 else None

    # What must be the same

    def logs(self, broker: Broker) -> list[bytes]:
        return [b"".join(map(bytes, p.log.batches())) for p in self.topic(broker).partitions]
