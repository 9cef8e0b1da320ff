"""Transactions: aborted records are not read, copies are exact, and a newer producer fences an older one."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from kafka import KafkaProducer

from tests.clients.ordered_process import PATIENCE_S

COUNT = 60
PER_TRANSACTION = 10


def new_topic(bootstrap: str) -> str:
    """Create a topic, because a transaction cannot begin with a missing one."""
    topic = f"topic-{uuid4().hex[:8]}"
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.list_topics(topic, PATIENCE_S)
    return topic


def read_committed(bootstrap: str, topic: str, count: int) -> list[bytes]:
    """Return the first `count` committed records of a partition, which must be all."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "isolation.level": "read_committed"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    heard: list[bytes] = []
    while len(heard) < count:
        message = consumer.poll(PATIENCE_S)
        assert message is not None, f"only {len(heard)} of {count} records"
        assert message.error() is None
        value = message.value()
        assert isinstance(value, bytes)
        heard.append(value)
    assert consumer.poll(0.5) is None
    consumer.close()
    return heard


def test_confluent_kafka_copies_exactly_once(bootstrap: str) -> None:
    source, target = new_topic(bootstrap), new_topic(bootstrap)
    feeder = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for number in range(COUNT):
        feeder.produce(source, str(number).encode(), partition=0)
    assert feeder.flush(PATIENCE_S) == 0

    group, transactional_id = f"group-{uuid4().hex[:8]}", f"txn-{uuid4().hex[:8]}"
    copied = aborted = 0
    while copied < COUNT:
        # Each round is a process of its own: it begins where the last committed transaction ended.
        consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
            }
        )
        consumer.subscribe([source])
        producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id})
        producer.init_transactions(PATIENCE_S)
        for fails in (True, False, False):
            if copied == COUNT:
                break
            producer.begin_transaction()
            messages = consumer.consume(PER_TRANSACTION, PATIENCE_S)
            assert len(messages) == PER_TRANSACTION
            for message in messages:
                producer.produce(target, message.value(), partition=0)
            producer.send_offsets_to_transaction(
                consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), PATIENCE_S
            )
            if fails:
                producer.abort_transaction(PATIENCE_S)
                aborted += 1
                place = consumer.committed(consumer.assignment(), PATIENCE_S)[0]
                consumer.seek(TopicPartition(source, 0, max(place.offset, 0)))
            else:
                producer.commit_transaction(PATIENCE_S)
                copied += PER_TRANSACTION
        consumer.close()
    assert aborted >= 2
    assert read_committed(bootstrap, target, COUNT) == [str(number).encode() for number in range(COUNT)]


def test_aiokafka_reads_only_committed_records(bootstrap: str) -> None:
    topic = new_topic(bootstrap)

    async def play() -> list[bytes]:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=f"txn-{uuid4().hex[:8]}")
        await producer.start()
        for number in range(6):
            await producer.begin_transaction()
            await producer.send_and_wait(topic, f"{number}".encode(), partition=0)
            await (producer.commit_transaction() if number % 2 else producer.abort_transaction())
        await producer.stop()
        consumer = AIOKafkaConsumer(
            topic, bootstrap_servers=bootstrap, isolation_level="read_committed", auto_offset_reset="earliest"
        )
        await consumer.start()
        heard = [(await consumer.getone()).value for _ in range(3)]
        await consumer.stop()
        return heard

    assert asyncio.run(asyncio.wait_for(play(), PATIENCE_S)) == [b"1", b"3", b"5"]


def test_kafka_python_aborts_and_commits(bootstrap: str) -> None:
    topic = new_topic(bootstrap)
    producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=f"txn-{uuid4().hex[:8]}")
    producer.init_transactions()
    for number in range(4):
        producer.begin_transaction()
        producer.send(topic, f"{number}".encode(), partition=0)
        if number % 2:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
    producer.close()
    assert read_committed(bootstrap, topic, 2) == [b"1", b"3"]


def test_newer_producer_fences_older_one(bootstrap: str) -> None:
    topic, transactional_id = new_topic(bootstrap), f"txn-{uuid4().hex[:8]}"
    older = Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id})
    older.init_transactions(PATIENCE_S)
    older.begin_transaction()
    older.produce(topic, b"lost", partition=0)
    older.flush(PATIENCE_S)
    newer = Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id})
    newer.init_transactions(PATIENCE_S)
    newer.begin_transaction()
    newer.produce(topic, b"kept", partition=0)
    newer.commit_transaction(PATIENCE_S)
    with pytest.raises(KafkaException):
        older.commit_transaction(PATIENCE_S)
    assert read_committed(bootstrap, topic, 1) == [b"kept"]
