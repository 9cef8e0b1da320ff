"""Records go in through one library and come out through each, unharmed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Producer
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as KafkaPythonPartition

from kohort.demo.libraries import LIBRARIES
from tests.clients.ordered_process import PATIENCE_S
from tests.clients.receiving import Sent, receive_with_confluent_kafka
from tests.clients.serving import serving

RECORDS = [
    Sent(b"key", b"value", (("header", b"\x00\xff"), ("header", b"again")), 1_700_000_000_000),
    Sent(None, b"", (), 1_700_000_000_001),
    Sent(b"tombstone", None, (), 1_700_000_000_002),
    Sent(b"large", bytes(range(256)) * 200, (), 1_700_000_000_003),
]


def send_with_confluent_kafka(bootstrap: str, topic: str, compression: str | None) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "compression.type": compression or "none"})
    for record in RECORDS:
        producer.produce(
            topic, record.value, record.key, partition=0, headers=list(record.headers), timestamp=record.timestamp_ms
        )
    assert producer.flush(PATIENCE_S) == 0


def send_with_kafka_python(bootstrap: str, topic: str, compression: str | None) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap, compression_type=compression)
    for record in RECORDS:
        producer.send(
            topic, record.value, record.key, headers=list(record.headers), partition=0, timestamp_ms=record.timestamp_ms
        ).get(PATIENCE_S)
    producer.close()


def send_with_aiokafka(bootstrap: str, topic: str, compression: str | None) -> None:
    async def send() -> None:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap, compression_type=compression) as producer:
            for record in RECORDS:
                await producer.send_and_wait(
                    topic,
                    record.value,
                    record.key,
                    partition=0,
                    timestamp_ms=record.timestamp_ms,
                    headers=list(record.headers),
                )

    asyncio.run(send())


def receive_with_kafka_python(bootstrap: str, topic: str, count: int) -> list[Sent]:
    consumer = KafkaConsumer(bootstrap_servers=bootstrap)
    partition = KafkaPythonPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek(partition, 0)
    heard: list[Any] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(heard) < count and time.monotonic() < deadline:
        heard += consumer.poll(1_000).get(partition, [])
    consumer.close()
    return [Sent(response.key, response.value, tuple(response.headers), response.timestamp) for response in heard]


def receive_with_aiokafka(bootstrap: str, topic: str, count: int) -> list[Sent]:
    async def receive() -> list[Any]:
        async with AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
            async with asyncio.timeout(PATIENCE_S):
                return [await consumer.getone() for _ in range(count)]

    heard = asyncio.run(receive())
    return [Sent(response.key, response.value, tuple(response.headers), response.timestamp) for response in heard]


SEND: dict[str, Callable[[str, str, str | None], None]] = {
    "aiokafka": send_with_aiokafka,
    "kafka-python": send_with_kafka_python,
    "confluent-kafka": send_with_confluent_kafka,
}
RECEIVE: dict[str, Callable[[str, str, int], list[Sent]]] = {
    "aiokafka": receive_with_aiokafka,
    "kafka-python": receive_with_kafka_python,
    "confluent-kafka": receive_with_confluent_kafka,
}
assert SEND.keys() == RECEIVE.keys() == LIBRARIES.keys()


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_libraries_read_records_of_each_other(bootstrap: str, library: str, compression: str | None) -> None:
    topic = f"topic-{uuid4().hex[:8]}"  # not created: the first request for it creates it
    SEND[library](bootstrap, topic, compression)
    for receive in RECEIVE.values():
        assert receive(bootstrap, topic, len(RECORDS)) == RECORDS


@pytest.mark.parametrize("compression", ["lz4", "zstd", "snappy"])
def test_compressions_are_kept_as_sent(bootstrap: str, compression: str) -> None:
    topic = f"topic-{uuid4().hex[:8]}"
    send_with_confluent_kafka(bootstrap, topic, compression)
    assert receive_with_confluent_kafka(bootstrap, topic, len(RECORDS)) == RECORDS


def test_over_ipv6(library: str, ipv6_bootstrap: str) -> None:
    topic = f"topic-{uuid4().hex[:8]}"
    SEND[library](ipv6_bootstrap, topic, None)
    assert RECEIVE[library](ipv6_bootstrap, topic, len(RECORDS)) == RECORDS


@pytest.fixture(scope="module")
def ipv6_bootstrap() -> Any:
    """Two nodes on the IPv6 loopback."""
    with serving(nodes=2, host="[::1]") as bootstrap:
        yield bootstrap
