"""Idempotent producers: each library gets a producer id, and its sequences are taken."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from uuid import uuid4

from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer
from kafka import KafkaProducer

from tests.clients.ordered_process import PATIENCE_S
from tests.clients.receiving import receive_with_confluent_kafka

COUNT = 300


def send_with_confluent_kafka(bootstrap: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "batch.num.messages": 20})
    for number in range(COUNT):
        producer.produce(topic, str(number).encode(), partition=0)
    assert producer.flush(PATIENCE_S) == 0


def send_with_kafka_python(bootstrap: str, topic: str) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, batch_size=500)
    for sent in [producer.send(topic, str(number).encode(), partition=0) for number in range(COUNT)]:
        sent.get(PATIENCE_S)
    producer.close()


def send_with_aiokafka(bootstrap: str, topic: str) -> None:
    async def send() -> None:
        async with AIOKafkaProducer(
            bootstrap_servers=bootstrap, enable_idempotence=True, max_batch_size=500
        ) as producer:
            await asyncio.gather(
                *[await producer.send(topic, str(number).encode(), partition=0) for number in range(COUNT)]
            )

    asyncio.run(asyncio.wait_for(send(), PATIENCE_S))


SEND: dict[str, Callable[[str, str], None]] = {
    "aiokafka": send_with_aiokafka,
    "kafka-python": send_with_kafka_python,
    "confluent-kafka": send_with_confluent_kafka,
}


def test_records_arrive_once_in_order(bootstrap: str, library: str) -> None:
    topic = f"topic-{uuid4().hex[:8]}"
    SEND[library](bootstrap, topic)
    SEND[library](bootstrap, topic)  # another producer, with an id of its own
    heard = receive_with_confluent_kafka(bootstrap, topic, 2 * COUNT)
    assert [response.value for response in heard] == [str(number).encode() for number in range(COUNT)] * 2
