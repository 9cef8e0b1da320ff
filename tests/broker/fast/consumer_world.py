"""Members of one consumer group on two brokers with equal requests, one of which has no fast path."""

from __future__ import annotations

from typing import Any

from kohort.coordinator.groups.group_placement import partition_for
from tests.broker.fast.pair import Pair
from tests.broker.fast.repeated_world import World

GROUP = "five"


class ConsumerWorld(World):
    """Members beat on while others come and go, topics change, and writes fail."""

    def __init__(self, seed: int, *, guarded: bool) -> None:
        super().__init__(seed, guarded=guarded)
        leader = self.topic(self.brokers[0]).partitions[partition_for(GROUP, 2)].leader
        for number, pair in enumerate(self.pairs):
            pair.member.group_id, pair.member.member_id, pair.member.generation = GROUP, f"member {number}", 0
            pair.node = [node.id for node in self.brokers[0].cluster.nodes].index(leader)
            pair.connect()

    def plays(self, steps: int) -> None:
        kinds = [self.says_nothing] * 40 + [self.acknowledges] * 15 + [self.elapses] * 3 + [
            self.subscribes, self.departs, self.grows, self.deletes, self.creates, self.reconnects, self.interferes,
        ]  # fmt: skip
        self.goes_on(steps, kinds)

    def subscribes(self, pair: Pair) -> None:
        names = self.chance.choice((("t",), ("t", "u")))
        self.tells(pair, rebalance_timeout_ms=60_000, subscribed_topic_names=names, topic_partitions=())

    def says_nothing(self, pair: Pair) -> None:
        if pair.member.generation <= 0:
            return self.subscribes(pair)
        for _ in range(self.chance.choice((1, 1, 4))):
            self.tells(pair)
        return None

    def acknowledges(self, pair: Pair) -> None:
        if pair.member.generation > 0:
            self.tells(pair, topic_partitions=pair.owned)

    def departs(self, pair: Pair) -> None:
        pair.member.generation = -1
        self.tells(pair)
        pair.member.generation = 0

    def elapses(self, pair: Pair) -> None:
        self.passes_a_while(self.chance.choice((1, 300, 5_000)))

    def tells(self, pair: Pair, **fields: Any) -> None:
        """Send a heartbeat of the consumer protocol with the epoch that the member knows."""
        who = {"group_id": GROUP, "member_id": pair.member.member_id, "member_epoch": pair.member.generation}
        pair.says(pair.frame("consumer_group_heartbeat", 1, **who, **fields))
