"""ACLs under a test's control: rights come and go while a client is at work."""

from __future__ import annotations

import logging

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import GroupAuthorizationFailedError, TopicAuthorizationFailedError

from kohort.broker.settings.broker_settings import STANDARD_AUTHORIZER
from kohort.control.control_errors import ControlError
from kohort.testing import Cluster
from tests.security.acls_as_text import acl

logging.getLogger("aiokafka").setLevel(logging.CRITICAL)

GUARDED = {"authorizer.class.name": STANDARD_AUTHORIZER}


@pytest.mark.clients
@pytest.mark.timeout(180)
async def test_consumer_needs_group_and_topic_rights() -> None:
    async with Cluster(settings=GUARDED) as kafka:
        kafka.topics.create("orders")
        kafka.acls.allow("User:*", "Read", topic="orders")
        consumer = AIOKafkaConsumer("orders", bootstrap_servers=kafka.bootstrap, group_id="billing", client_id="ada")
        with pytest.raises(GroupAuthorizationFailedError):
            await consumer.start()
        await consumer.stop()
        with kafka.acls.allow("User:ANONYMOUS", "Read", group="bill", prefixed=True) as acl:
            consumer = AIOKafkaConsumer(
                "orders", bootstrap_servers=kafka.bootstrap, group_id="billing", client_id="ada"
            )
            await consumer.start()
            await kafka.group("billing").wait_stable(members=1)
            acl.remove()
            with pytest.raises(GroupAuthorizationFailedError):
                await consumer.commit(dict.fromkeys(consumer.assignment(), 1))
            (text,) = [each for each in kafka.group("billing").explain().denied if "OffsetCommit" in each]
            assert "it needs Read on group billing; no ACL allows it" in text
            await consumer.stop()
        assert [str(each) for each in kafka.acls] == ["User:* from *: ALLOW READ on TOPIC:LITERAL:orders"]
        kafka.acls.clear()
        assert len(kafka.acls) == 0


@pytest.mark.clients
@pytest.mark.timeout(180)
async def test_rule_denies_producer_without_authorizer() -> None:
    async with Cluster() as kafka:
        kafka.topics.create("orders")
        with kafka.faults.on(client_id="bob").deny("Write", topic="orders"):
            async with (
                AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, client_id="ada") as ada,
                AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, client_id="bob") as bob,
            ):
                await ada.send_and_wait("orders", b"one")
                with pytest.raises(TopicAuthorizationFailedError):
                    await bob.send_and_wait("orders", b"two")
        assert [record.value for record in kafka.topics.records("orders")] == [b"one"]


async def test_acl_needs_authorizer_principal_and_resource() -> None:
    async with Cluster() as kafka:
        with pytest.raises(ControlError, match=r"no authorizer; start it with the setting authorizer\.class\.name=org"):
            kafka.acls.allow("User:alice", "Read", topic="orders")
    async with Cluster(settings=GUARDED) as kafka:
        with pytest.raises(ControlError, match="as in User:alice; got 'alice'"):
            kafka.acls.allow("alice", "Read", topic="orders")
        with pytest.raises(ControlError, match="name a resource"):
            kafka.acls.deny("User:alice", "Read")
        with pytest.raises(ControlError, match="did you mean Read"):
            kafka.acls.deny("User:alice", "Raed", group="g")
        assert repr(kafka.acls) == "<ACLs: none>"


def test_acls_without_await() -> None:
    with Cluster(settings=GUARDED) as kafka:
        acl = kafka.acls.deny("User:alice", "Write", topic="orders", host="10.0.0.1")
        assert str(acl) == "User:alice from 10.0.0.1: DENY WRITE on TOPIC:LITERAL:orders"
        acl.remove()
        acl.remove()
        assert len(kafka.acls) == 0
        for topic in ("orders", "bills"):
            kafka.acls.allow("User:alice", "Read", topic=topic)
        kafka.acls.allow("User:bob", "Read", topic="orders")
        assert len(kafka.acls.remove("User:alice")) == 2
        assert [str(each) for each in kafka.acls] == ["User:bob from *: ALLOW READ on TOPIC:LITERAL:orders"]


async def test_acls_end_with_their_test() -> None:
    async with Cluster(settings=GUARDED) as kafka:
        access = kafka.laboratory.cluster.access
        assert access is not None
        kafka.acls.allow("User:alice", "Read", topic="orders")
        access.add([acl("allow User:bob Read topic orders")])
        kafka.laboratory.reset()
        assert [str(each) for each in kafka.acls] == ["User:bob from *: ALLOW READ on TOPIC:LITERAL:orders"]
