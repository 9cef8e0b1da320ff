"""A commit receives COORDINATOR_LOAD_IN_PROGRESS twice, through a proxy before any cluster.

`kafka_proxy` runs in front of any Kafka cluster and injects faults: select yours with `pytest --kafka-proxy
broker-1:9092`. By default the test starts a kohort cluster. The cluster does not receive the rejected commits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from kohort.testing import Proxy

TOPIC, GROUP = "kohort-example-15", "kohort-example-15"


@pytest.fixture
def proxied_cluster(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Proxy in front of the selected cluster, or of a kohort cluster."""
    if request.config.getoption("kafka_proxy"):
        yield request.getfixturevalue("kafka_proxy")
        return
    with Proxy(request.getfixturevalue("kafka").bootstrap) as proxy:
        yield proxy


async def test_rejected_commit_is_retried(proxied_cluster: Any) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=proxied_cluster.bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(TOPIC, 1, 1)])
    rule = proxied_cluster.faults.on("OffsetCommit", group=GROUP).error("COORDINATOR_LOAD_IN_PROGRESS", times=2)
    consumer = AIOKafkaConsumer(
        TOPIC, bootstrap_servers=proxied_cluster.bootstrap, group_id=GROUP, enable_auto_commit=False
    )
    await consumer.start()
    try:
        await consumer.commit({TopicPartition(TOPIC, 0): 7})
        assert rule.acted == 2
        assert await consumer.committed(TopicPartition(TOPIC, 0)) == 7
    finally:
        await consumer.stop()
        await admin.delete_topics([TOPIC])
        await admin.close()
