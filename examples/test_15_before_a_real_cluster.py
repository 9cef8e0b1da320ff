"""A commit finds its coordinator loading, twice, before a cluster that need not be kohort's.

`kafka_proxy` stands in front of any Kafka and spoils what passes: name yours with `pytest --kafka-proxy broker-1:9092`.
Without, it stands here before a kohort. The cluster never hears the commits that are refused.
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
def before(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The proxy before a cluster that somebody has named, or before a kohort."""
    if request.config.getoption("kafka_proxy"):
        yield request.getfixturevalue("kafka_proxy")
        return
    with Proxy(request.getfixturevalue("kafka").bootstrap) as proxy:
        yield proxy


async def test_a_refused_commit_is_made_again(before: Any) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=before.bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(TOPIC, 1, 1)])
    rule = before.faults.on("OffsetCommit", group=GROUP).error("COORDINATOR_LOAD_IN_PROGRESS", times=2)
    consumer = AIOKafkaConsumer(TOPIC, bootstrap_servers=before.bootstrap, group_id=GROUP, enable_auto_commit=False)
    await consumer.start()
    try:
        await consumer.commit({TopicPartition(TOPIC, 0): 7})
        assert rule.acted == 2
        assert await consumer.committed(TopicPartition(TOPIC, 0)) == 7
    finally:
        await consumer.stop()
        await admin.delete_topics([TOPIC])
        await admin.close()
