"""A whole cluster, driven by a seed: leaders move, brokers stop and start, clients look for the current leader.

How to play a seed again, or more of them: tests/support/seeds.py.
"""

from collections.abc import Callable
from typing import Any

import pytest

from kohort.broker.cluster import replay
from kohort.protocol.batches import Record, build_batch, iterate_records, read_batch
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.fetch import FetchPartition, FetchTopic
from kohort.protocol.messages.produce import PartitionProduceData, TopicProduceData
from kohort.storage.topic import Topic
from kohort.whatif.clients.group_member import to_commit
from tests.simulation.restless import RestlessCluster
from tests.support.frames import to_fetch
from tests.support.seeds import SEEDS, STEPS

GROUPS = ("orders", "billing", "shipping", "refunds")
SEARCHING = (E.not_leader_or_follower, E.not_coordinator, E.coordinator_load_in_progress, E.coordinator_not_available)


class Company(RestlessCluster):
    """The cluster, a client, and all acknowledged writes."""

    MISTAKES = 0.1
    KEPT_RUNNING = 0

    def __init__(self, seed: int) -> None:
        super().__init__(seed, offsets_topic_num_partitions=3, auto_leader_rebalance_enable="true",
                         leader_imbalance_check_interval_seconds=1)  # fmt: skip
        made = [self.cluster.topics.create("single", 3, 1), self.cluster.topics.create("copied", 3, 3)]
        self.topics = [topic for topic in made if isinstance(topic, Topic)]
        self.offset = 0
        self.committed: dict[tuple[str, int], int] = {}
        self.produced: dict[tuple[str, int], list[bytes]] = {}
        self.epochs: dict[tuple[str, int], int] = {}
        self.refusals = 0

    def actions(self) -> dict[Callable[[], None], float]:
        return {self.moves: 4, self.stops: 2, self.starts: 4, self.commits: 40, self.produces: 30, self.passes: 20}

    def commits(self) -> None:
        group, number = self.random.choice(GROUPS), self.random.randrange(3)
        client = self.coordinator(group)
        if client is None:
            return
        self.offset += 1
        topics = to_commit("copied", {number: self.offset})
        answer = client.asks("offset_commit", 8, group_id=group, member_id="", topics=topics)
        error = answer.topics[0].partitions[0].error_code
        if error is E.none:
            self.committed[group, number] = self.offset
        else:
            assert error in SEARCHING
            self.refusals += 1

    def produces(self) -> None:
        topic, index = self.random.choice(self.topics), self.random.randrange(3)
        client = self.client_of(topic.partitions[index].leader)
        if client is None:
            return
        self.offset += 1
        value = str(self.offset).encode()
        batch = build_batch([Record(None, value, self.cluster.clock.epoch_ms)])
        answer = client.asks("produce", 9, acks=-1, timeout_ms=9, topic_data=(
            TopicProduceData(name=topic.name, partition_data=(PartitionProduceData(index=index, records=batch),)),
        ))  # fmt: skip
        (part,) = answer.responses[0].partition_responses
        if part.error_code is E.none:
            kept = self.produced.setdefault((topic.name, index), [])
            assert part.base_offset == len(kept)
            kept.append(value)
        else:
            assert part.error_code in SEARCHING
            self.refusals += 1

    # What holds

    def keeps_its_promises(self) -> None:
        for topic in self.cluster.topics:
            for part in topic.partitions:
                key = topic.name, part.index
                assert part.leader_epoch >= self.epochs.get(key, 0)
                self.epochs[key] = part.leader_epoch
                node = self.cluster.node(part.leader)
                assert node is None or (node.running and node.id in part.replicas)
                if node is None:
                    assert not any(other.running and other.id in part.replicas for other in self.cluster.nodes)
                if topic.name == "__consumer_offsets":
                    holders = [each for each in self.cluster.nodes if part.index in each.coordinator.shards]
                    assert holders == ([node] if node is not None else [])

    def has_lost_nothing(self) -> None:
        """Start all brokers, and check that the leaders have every acknowledged record and commit."""
        self.all_run()
        self.broker.loop.wait(2_000)
        for (name, index), kept in self.produced.items():
            assert self.read(name, index) == kept
        for (group, number), offset in self.committed.items():
            assert self.committed_offset(group, number) == offset

    def read(self, name: str, index: int) -> list[bytes | None]:
        topic = self.cluster.topics.by_name(name)
        assert topic is not None
        client = self.client_of(topic.partitions[index].leader)
        assert client is not None
        partition = FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 24)
        answer = client.asks("fetch", 11, max_wait_ms=0, min_bytes=1, max_bytes=1 << 24,
                             topics=(FetchTopic(topic=name, partitions=(partition,)),))  # fmt: skip
        (part,) = answer.responses[0].partitions
        assert part.error_code is E.none
        data, values, at = b"".join(part.records), [], 0
        while at < len(data):
            batch = read_batch(data, at)
            values += [record.value for record in iterate_records(data, batch)]
            at += batch.size
        return values

    def committed_offset(self, group: str, number: int) -> int:
        client = self.coordinator(group)
        assert client is not None
        answer = client.asks("offset_fetch", 8, groups=to_fetch(group, "copied", number))
        told: Any = answer.groups[0]
        assert told.error_code is E.none
        offset: int = told.topics[0].partitions[0].committed_offset
        return offset


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_acknowledged_is_lost(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "SLICE_BYTES", 2_000)
    monkeypatch.setattr(replay, "STEP_BYTES", 500)
    company = Company(seed)
    with company.told():
        for _ in range(STEPS // 4):
            company.step()
            company.keeps_its_promises()
        company.has_lost_nothing()
    assert company.refusals, "no request went to the wrong broker"
    assert company.committed
    assert company.produced
