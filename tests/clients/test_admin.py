"""Operations of administrators, with each library's admin client."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from aiokafka import TopicPartition as AiokafkaPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource as AiokafkaResource
from aiokafka.admin.config_resource import ConfigResourceType as AiokafkaResourceType
from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka import admin as confluent
from kafka import KafkaAdminClient
from kafka import TopicPartition as KafkaPythonPartition
from kafka.admin import ConfigResource, ConfigResourceType, OffsetSpec

from tests.clients.company import Company
from tests.clients.ordered_process import PATIENCE_S


def eventually(holds: Callable[[], bool]) -> None:
    """Repeat a check until it is true, because metadata reaches the other nodes of a cluster a little later."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline


@pytest.fixture
def topic() -> str:
    """A name that missing has."""
    return f"topic-{uuid4().hex[:8]}"


@pytest.fixture
def shared(company: Company) -> Company:
    """Return a group with one member, ada, that has committed 3 for every partition."""
    ada = company.join("ada", "confluent-kafka")
    company.until_consumed(company.produce(3), ada)
    return company


class TestConfluentKafka:
    @pytest.fixture
    def admin(self, bootstrap: str) -> confluent.AdminClient:
        return confluent.AdminClient({"bootstrap.servers": bootstrap})

    def test_topics(self, admin: confluent.AdminClient, topic: str) -> None:
        wanted = confluent.NewTopic(topic, 3, 1, config={"retention.ms": "60000"})
        admin.create_topics([wanted])[topic].result(PATIENCE_S)
        with pytest.raises(KafkaException) as refused:
            admin.create_topics([wanted])[topic].result(PATIENCE_S)
        assert refused.value.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
        admin.create_partitions([confluent.NewPartitions(topic, 5)])[topic].result(PATIENCE_S)
        eventually(lambda: len(admin.list_topics(topic, PATIENCE_S).topics[topic].partitions) == 5)
        admin.delete_topics([topic])[topic].result(PATIENCE_S)
        eventually(lambda: topic not in admin.list_topics(timeout=PATIENCE_S).topics)

    def test_configs(self, admin: confluent.AdminClient, topic: str) -> None:
        admin.create_topics([confluent.NewTopic(topic, 1, 1)])[topic].result(PATIENCE_S)
        resource = confluent.ConfigResource(confluent.ConfigResource.Type.TOPIC, topic)
        entry = confluent.ConfigEntry("retention.ms", "1234", incremental_operation=confluent.AlterConfigOpType.SET)
        change = confluent.ConfigResource(confluent.ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
        admin.incremental_alter_configs([change])[change].result(PATIENCE_S)
        described = admin.describe_configs([resource])[resource].result(PATIENCE_S)
        assert described["retention.ms"].value == "1234"
        assert not described["retention.ms"].is_default
        assert described["cleanup.policy"].is_default
        node = confluent.ConfigResource(confluent.ConfigResource.Type.BROKER, "1")
        settings = admin.describe_configs([node])[node].result(PATIENCE_S)
        assert settings["group.initial.rebalance.delay.ms"].value == "50"

    def test_groups(self, admin: confluent.AdminClient, shared: Company) -> None:
        group = shared.group
        listed = {group.group_id: group for group in admin.list_consumer_groups().result(PATIENCE_S).valid}
        assert listed[group].state is ConsumerGroupState.STABLE
        described = admin.describe_consumer_groups([group])[group].result(PATIENCE_S)
        [member] = described.members
        assert (described.partition_assignor, member.client_id) == ("range", "ada")
        assert {partition.partition for partition in member.assignment.topic_partitions} == shared.partitions
        with pytest.raises(KafkaException) as refused:
            admin.delete_consumer_groups([group])[group].result(PATIENCE_S)
        assert refused.value.args[0].code() == KafkaError.NON_EMPTY_GROUP

        shared.members[0].stop()
        moved = [TopicPartition(shared.topic, 0, 1)]
        admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, moved)])[group].result(PATIENCE_S)
        asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
        offsets = {
            partition.partition: partition.offset for partition in asked[group].result(PATIENCE_S).topic_partitions
        }
        assert offsets == dict.fromkeys(shared.partitions, 3) | {0: 1}
        admin.delete_consumer_groups([group])[group].result(PATIENCE_S)
        assert group not in {group.group_id for group in admin.list_consumer_groups().result(PATIENCE_S).valid}

    def test_offsets(self, admin: confluent.AdminClient, company: Company) -> None:
        company.produce(4)
        place = TopicPartition(company.topic, 1)
        for spec, offset in ((confluent.OffsetSpec.earliest(), 0), (confluent.OffsetSpec.latest(), 4)):
            [(_, found)] = admin.list_offsets({place: spec}).items()
            assert found.result(PATIENCE_S).offset == offset

    def test_cluster(self, admin: confluent.AdminClient) -> None:
        described = admin.describe_cluster().result(PATIENCE_S)
        assert len(described.nodes) == 3
        assert described.controller.id in {node.id for node in described.nodes}


class TestKafkaPython:
    @pytest.fixture
    def admin(self, bootstrap: str) -> Any:
        client = KafkaAdminClient(bootstrap_servers=bootstrap.split(","))
        yield client
        client.close()

    def test_topics(self, admin: Any, topic: str) -> None:
        admin.create_topics({topic: {"num_partitions": 3, "replication_factor": 1}}, wait_for_metadata=True)
        admin.create_partitions({topic: 5})
        eventually(lambda: [len(entry["partitions"]) for entry in admin.describe_topics([topic])] == [5])
        admin.delete_topics([topic])
        eventually(lambda: topic not in admin.list_topics())

    def test_configs(self, admin: Any, topic: str) -> None:
        admin.create_topics({topic: {}}, wait_for_metadata=True)
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {"max.message.bytes": "5000"})])
        described = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
        assert described["topic"][topic]["max.message.bytes"]["value"] == "5000"

    def test_groups(self, admin: Any, shared: Company) -> None:
        group = shared.group
        assert group in {group["group_id"] for group in admin.list_groups()}
        described = admin.describe_groups([group])[group]
        assert (described["group_state"], described["protocol_data"]) == ("Stable", "range")
        assert [item["client_id"] for item in described["members"]] == ["ada"]
        shared.members[0].stop()
        offsets = admin.list_group_offsets([group])[group]
        assert {place.partition: each.offset for place, each in offsets.items()} == dict.fromkeys(shared.partitions, 3)
        admin.delete_groups([group])
        assert group not in {group["group_id"] for group in admin.list_groups()}

    def test_offsets(self, admin: Any, company: Company) -> None:
        company.produce(4)
        place = KafkaPythonPartition(company.topic, 1)
        for spec, offset in ((OffsetSpec.EARLIEST, 0), (OffsetSpec.LATEST, 4)):
            assert admin.list_partition_offsets({place: spec})[place].offset == offset

    def test_cluster(self, admin: Any) -> None:
        assert len(admin.describe_cluster()["brokers"]) == 3


class TestAiokafka:
    async def test_topics(self, bootstrap: str, topic: str) -> None:
        async with _aiokafka(bootstrap) as admin:
            await admin.create_topics([NewTopic(topic, 3, 1)])
            await admin.create_partitions({topic: NewPartitions(5)})
            async with asyncio.timeout(PATIENCE_S):
                while [len(entry["partitions"]) for entry in await admin.describe_topics([topic])] != [5]:
                    pass
                await admin.delete_topics([topic])
                while topic in await admin.list_topics():
                    pass

    async def test_configs(self, bootstrap: str, topic: str) -> None:
        async with _aiokafka(bootstrap) as admin:
            await admin.create_topics([NewTopic(topic, 1, 1, topic_configs={"retention.ms": "777"})])
            [answer] = await admin.describe_configs([AiokafkaResource(AiokafkaResourceType.TOPIC, topic)])
            [(error_code, _, _, name, entries)] = answer.resources
            assert (error_code, name) == (0, topic)
            assert {entry[0]: entry[1] for entry in entries}["retention.ms"] == "777"

    async def test_groups(self, bootstrap: str, shared: Company) -> None:
        async with _aiokafka(bootstrap) as admin:
            assert (shared.group, "consumer") in await admin.list_consumer_groups()
            [answer] = await admin.describe_consumer_groups([shared.group])
            [described] = answer.groups
            assert described[1:3] == (shared.group, "Stable")
            shared.members[0].stop()
            offsets = await admin.list_consumer_group_offsets(shared.group)
            assert {place.partition for place in offsets} == shared.partitions
            assert offsets[AiokafkaPartition(shared.topic, 0)].offset == 3


class _aiokafka:  # noqa: N801  (reads as a function)
    """The admin client for as long as a test uses it."""

    def __init__(self, bootstrap: str) -> None:
        self._client = AIOKafkaAdminClient(bootstrap_servers=bootstrap.split(","))

    async def __aenter__(self) -> Any:
        await asyncio.wait_for(self._client.start(), PATIENCE_S)
        return self._client

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()
