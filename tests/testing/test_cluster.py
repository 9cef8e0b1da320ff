"""A cluster in the test's own process, with real clients on real sockets."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from kafka import KafkaConsumer

from kohort.broker.settings.broker_settings import SettingError
from kohort.testing import Cluster

pytestmark = [pytest.mark.clients, pytest.mark.timeout(180)]
logging.getLogger("aiokafka").setLevel(logging.CRITICAL)

INSTANCES = "abc"


@asynccontextmanager
async def consumers(kafka: Cluster, group: str) -> AsyncIterator[dict[str, AIOKafkaConsumer]]:
    """Static members a, b and c, who have joined."""
    members = {
        name: AIOKafkaConsumer(
            "orders",
            bootstrap_servers=kafka.bootstrap,
            group_id=group,
            group_instance_id=name,
            client_id=name,
            session_timeout_ms=45_000,
            heartbeat_interval_ms=100,
            auto_offset_reset="earliest",
        )
        for name in INSTANCES
    }
    await asyncio.gather(*(each.start() for each in members.values()))
    try:
        yield members
    finally:
        await asyncio.gather(*(each.stop() for each in members.values()))


async def test_frozen_member_of_three() -> None:
    async with Cluster(nodes=3, seed=7) as kafka:
        kafka.topics.create("orders", partitions=6)
        group = kafka.group("billing")
        async with consumers(kafka, "billing") as members:
            await group.wait_stable(members=3)
            assert {str(each) for each in group.members} == set(INSTANCES)
            assert sorted(p for each in group.members for p in each.partitions["orders"]) == list(range(6))
            kafka.topics.append("orders", "hello", partition=4)
            owner = next(each for each in group.members if 4 in each.partitions["orders"])
            record = await members[owner.client_id].getone()
            assert (record.partition, record.value) == (4, b"hello")
            with kafka.faults.freeze(group="billing", instance="b"):
                await kafka.clock.advance(seconds=45)
                await group.wait_stable(members=2)
                assert {str(each) for each in group.members} == {"a", "c"}
            await group.wait_stable(members=3)
            await members["a"].commit()
            assert group.offsets


async def test_zombie_commit_reaches_new_coordinator() -> None:
    async with Cluster(nodes=3) as kafka:
        kafka.topics.create("orders", partitions=6)
        group = kafka.group("billing")
        ada = AIOKafkaConsumer(
            "orders", bootstrap_servers=kafka.bootstrap, group_id="billing", client_id="ada", enable_auto_commit=False
        )
        await ada.start()
        await group.wait_stable(members=1)
        generation, old = group.generation, group.coordinator
        with kafka.faults.zombie(group="billing") as rule:
            group.move_coordinator(next(node for node in kafka.nodes if node != old))
            await group.wait_stable(members=1)
            await ada.commit({TopicPartition("orders", 2): 3})
            assert (rule.acted, group.offsets, group.generation) == (1, {("orders", 2): 3}, generation)
        await ada.stop()
        assert kafka.violations == []


async def test_two_clusters_are_independent() -> None:
    async with Cluster() as one, Cluster() as other:
        one.topics.create("orders")
        assert one.topics.end("orders") == 0
        with pytest.raises(ValueError, match="topic orders does not exist"):
            other.topics.end("orders")
        await one.clock.advance(hours=1)
        assert other.clock.now_ms < 3_600_000 <= one.clock.now_ms


def test_synchronous_cluster_has_same_methods() -> None:
    with Cluster(nodes=2) as kafka:
        assert kafka.nodes == [1, 2]
        kafka.topics.create("orders", partitions=2)
        assert kafka.topics.append("orders", "a", "b", partition=1) == 0
        assert kafka.topics.values("orders", partition=1) == [b"a", b"b"]
        consumer = KafkaConsumer(
            "orders", bootstrap_servers=kafka.bootstrap, group_id="billing", auto_offset_reset="earliest"
        )
        values = [record.value for records in consumer.poll(60_000).values() for record in records]
        assert values == [b"a", b"b"]
        group = kafka.group("billing")
        group.wait_stable(members=1)
        group.wait_for(lambda: group.state == "Stable", words="stable")
        assert group.members[0].partitions == {"orders": (0, 1)}
        assert [each.should for each in group.explain().clients] == ["should send heartbeats"]
        with kafka.faults.on("Heartbeat", group="billing").drop() as rule:
            assert rule.acted == 0
            kafka.clock.pause()
            kafka.clock.advance(seconds=1, expire_live_members=True)
        assert [str(each) for each in kafka.groups] == [str(group)]
        consumer.close()


def test_equal_objects_compare_equal() -> None:
    with Cluster() as kafka:
        gate, other = kafka.gates.hold("join-complete"), kafka.gates.hold("sync-response")
        assert gate == kafka.gates.find("join-complete") != other
        assert gate in kafka.gates
        assert {gate, other} == set(kafka.gates)
        gate.open()
        assert gate not in kafka.gates
        with kafka.faults.zombie(group="billing") as rule:
            assert list(kafka.faults) == [rule]
        assert len(kafka.faults) == 0
        other.open()


def test_wait_timeout_shows_actual_state() -> None:
    with (
        Cluster() as kafka,
        pytest.raises(TimeoutError, match=r"group nobody \(Dead, .* members: none\) is not stable"),
    ):
        kafka.group("nobody").wait_stable(members=3, timeout=0.01)


def test_missing_member_is_an_error() -> None:
    with (
        Cluster() as kafka,
        pytest.raises(LookupError, match="ada is not a member of group billing; its members: none"),
    ):
        kafka.group("billing").member("ada")


def test_settings_are_kafkas() -> None:
    with Cluster(settings={"auto.create.topics.enable": False, "num.partitions": 3}) as kafka:
        kafka.topics.create("orders", -1)
        assert kafka.topics.end("orders", partition=2) == 0
    with pytest.raises(SettingError, match=r"did you mean num\.partitions"):
        Cluster(settings={"num.partition": 3})


def test_same_seed_gives_same_cluster() -> None:
    with Cluster(seed=7) as one, Cluster(seed=7) as other:
        assert one.seed == other.seed == 7
        assert one.id == other.id


async def test_held_gate_warns_at_end() -> None:
    with pytest.warns(UserWarning, match="gate join-complete was still held; waiting: none"):
        async with Cluster() as kafka:
            kafka.gates.hold("join-complete")
    with pytest.warns(UserWarning, match="gate sync-response of group billing was still held"), Cluster() as remote:
        remote.gates.hold("sync-response", group="billing")


def test_cluster_needs_its_block() -> None:
    cluster = Cluster()
    with pytest.raises(RuntimeError, match="has not started"):
        _ = cluster.bootstrap
    with cluster as kafka:
        group = kafka.group("billing")
    with pytest.raises(RuntimeError, match="has ended"):
        _ = group.state
    with pytest.raises(RuntimeError, match="has ended"):
        group.wait_stable()


def test_invalid_options_fail_immediately() -> None:
    with pytest.raises(ValueError, match=r"did you mean test\?"):
        Cluster(profile="tests")
    with pytest.raises(ValueError, match="nodes must be an integer"):
        Cluster(nodes=0)
    with Cluster() as kafka:
        with pytest.raises(ValueError, match=r"did you mean Stable\?"):
            kafka.group("billing").wait_state("stable")
        with pytest.raises(ValueError, match="node 1 is running already"):
            kafka.start_node(1)
        kafka.stop_node(1)
        with pytest.raises(ValueError, match="node 1 is stopped already"):
            kafka.stop_node(1)


def test_ipv6_address_has_brackets() -> None:
    with Cluster(host="::1") as kafka:
        assert kafka.bootstrap.startswith("[::1]:")
