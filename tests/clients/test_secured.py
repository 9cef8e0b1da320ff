"""Real clients at a secured cluster: over TLS, by password and by certificate, and with a wrong one."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import AuthenticationFailedError, KafkaError
from confluent_kafka import Consumer, Producer
from confluent_kafka import KafkaException as ConfluentError
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer, KafkaProducer

from kohort.testing import Cluster, SyncCluster
from kohort.testing.tokens import LIFE_S

pytestmark = [pytest.mark.clients, pytest.mark.timeout(400)]

WAYS = [
    ("SASL_SSL", "SCRAM-SHA-256"),
    ("SASL_SSL", "SCRAM-SHA-512"),
    ("SASL_SSL", "PLAIN"),
    ("SASL_SSL", "OAUTHBEARER"),
    ("SASL_PLAINTEXT", "SCRAM-SHA-512"),
    ("SSL", "PLAIN"),
]  # how clients connect; over SSL by a certificate, whatever the mechanism

ways = pytest.mark.parametrize(("security", "mechanism"), WAYS)


@ways
async def test_aiokafka(security: str, mechanism: str) -> None:
    async with Cluster(security=security) as kafka:
        config = kafka.client_config("alice", library="aiokafka", mechanism=mechanism)
        async with AIOKafkaProducer(**config) as producer:
            await producer.send_and_wait("t", b"hello")
        reading = AIOKafkaConsumer("t", group_id="g", auto_offset_reset="earliest", **config)
        async with reading as consumer:
            assert (await consumer.getone()).value == b"hello"


@ways
def test_confluent_kafka(security: str, mechanism: str) -> None:
    with Cluster(security=security) as kafka:
        config = kafka.client_config("alice", mechanism=mechanism)
        producer = Producer(config)
        producer.produce("t", b"hello")
        assert producer.flush(120) == 0
        consumer = Consumer(config | {"group.id": "g", "auto.offset.reset": "earliest"})
        try:
            consumer.subscribe(["t"])
            assert _first(consumer) == b"hello"
        finally:
            consumer.close()


def _first(consumer: Consumer) -> bytes:
    for _ in range(120):
        message = consumer.poll(1)
        if message is not None and not message.error():
            return message.value() or b""
    raise AssertionError("nothing came")


@ways
def test_kafka_python(security: str, mechanism: str) -> None:
    with Cluster(security=security) as kafka:
        config = kafka.client_config("alice", library="kafka-python", mechanism=mechanism)
        producer = KafkaProducer(**config)
        producer.send("t", b"hello").get(30)
        producer.close()
        reading = KafkaConsumer("t", group_id="g", auto_offset_reset="earliest", consumer_timeout_ms=120_000, **config)
        assert next(reading).value == b"hello"
        reading.close()


async def test_aiokafka_reports_wrong_password() -> None:
    async with Cluster(security="SASL_SSL") as kafka:
        config = kafka.client_config("alice", library="aiokafka", mechanism="PLAIN") | {"sasl_plain_password": "wrong"}
        producer = AIOKafkaProducer(**config)
        with pytest.raises((AuthenticationFailedError, KafkaError)):
            await producer.start()
        await producer.stop()


def until_told(admin: AdminClient, told: list[str], words: str) -> None:
    """Poll until librdkafka's thread has tried to log in, and has reported its error."""
    while not any(words in event for event in told):
        with suppress(ConfluentError):
            admin.list_topics(timeout=3)
        admin.poll(0.1)


def test_confluent_kafka_shows_broker_login_error() -> None:
    told: list[str] = []
    with Cluster(security="SASL_SSL") as kafka:
        config: dict[str, Any] = kafka.client_config("alice", mechanism="PLAIN")
        config |= {"sasl.password": "wrong", "error_cb": lambda problem: told.append(problem.str())}
        admin = AdminClient(config)
        until_told(admin, told, "Invalid username or password")
        with pytest.raises(ConfluentError):
            admin.list_topics(timeout=3)


def test_client_without_certificate_is_rejected(kafka_factory: Any) -> None:
    kafka: SyncCluster = kafka_factory(security="SSL")
    config = {name: value for name, value in kafka.client_config().items() if "certificate" not in name}
    del config["ssl.key.location"]
    with pytest.raises(ConfluentError):
        AdminClient(config).list_topics(timeout=3)


def test_token_expires_by_laboratory_clock() -> None:
    told: list[str] = []
    with Cluster(security="SASL_PLAINTEXT") as kafka:
        config: dict[str, Any] = kafka.client_config("alice", mechanism="OAUTHBEARER")
        admin = AdminClient(config | {"error_cb": lambda problem: told.append(problem.str())})
        admin.list_topics(timeout=60)
        kafka.clock.advance(LIFE_S)
        until_told(admin, told, "invalid_token")
        with pytest.raises(ConfluentError):
            admin.list_topics(timeout=3)


def test_three_nodes_with_tls_and_logins() -> None:
    with Cluster(nodes=3, security="SASL_SSL") as kafka:
        kafka.topics.create("t", partitions=6)
        config = kafka.client_config("alice")
        assert len(AdminClient(config).list_topics(timeout=60).brokers) == 3
        producer = Producer(config)
        for partition in range(6):
            producer.produce("t", b"%d" % partition, partition=partition)
        assert producer.flush(60) == 0
        consumer = Consumer(config | {"group.id": "g", "auto.offset.reset": "earliest"})
        try:
            consumer.subscribe(["t"])
            first = {_first(consumer) for _ in range(6)}
            kafka.group("g").move_coordinator(
                next(node for node in kafka.nodes if node != kafka.group("g").coordinator)
            )
            producer.produce("t", b"after", partition=0)
            assert producer.flush(60) == 0
            assert (first, _first(consumer)) == ({b"%d" % number for number in range(6)}, b"after")
            consumer.commit(asynchronous=False)
        finally:
            consumer.close()


async def test_logins_are_delayed_and_rejected() -> None:
    acls = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
    async with Cluster(security="SASL_PLAINTEXT", settings=acls) as kafka:
        kafka.topics.create("t")
        config = kafka.client_config("admin", library="aiokafka", mechanism="PLAIN")
        logins = kafka.faults.on("SaslAuthenticate")
        for rule in (logins.delay(seconds=0.1), logins.delay_response(seconds=0.1)):
            with rule:
                async with AIOKafkaProducer(**config) as producer:
                    await producer.send_and_wait("t", b"hello")
        with logins.error("SASL_AUTHENTICATION_FAILED"):
            refused = AIOKafkaProducer(**config)
            with pytest.raises(KafkaError):
                await refused.start()
            await refused.stop()
