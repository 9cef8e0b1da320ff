"""Secured clusters in a test: what clients are to be told, and that nothing is left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from kohort.control.control_errors import ControlError
from kohort.testing import Cluster

SCRAM = {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "alice", "sasl.password": "alice-secret"}


async def test_each_library_gets_its_config() -> None:
    async with Cluster(security="SASL_SSL") as kafka:
        address = {"bootstrap.servers": kafka.bootstrap, "security.protocol": "SASL_SSL"}
        config = kafka.client_config("alice")
        ca = str(config.pop("ssl.ca.location"))
        assert config == address | SCRAM
        assert Path(ca).read_text().startswith("-----BEGIN CERTIFICATE")
        java = kafka.client_config("bob", library="java", mechanism="PLAIN")
        assert java["sasl.jaas.config"] == (
            'org.apache.kafka.common.security.plain.PlainLoginModule required username="bob" password="bob-secret";'
        )
        assert java["ssl.truststore.location"] == ca
        assert kafka.client_config(library="aiokafka")["ssl_context"]
        assert kafka.client_config(library="kafka-python")["sasl_plain_password"] == "alice-secret"
    assert not Path(ca).exists()


async def test_certificates_replace_passwords_over_ssl() -> None:
    async with Cluster(security="SSL") as kafka:
        config = kafka.client_config("bob", library="librdkafka")
        own = Path(config["ssl.certificate.location"])
        assert own.name == "bob.pem"
        assert "-----BEGIN PRIVATE KEY-----" in own.read_text()
        assert own.stat().st_mode & 0o077 == 0
        assert not [name for name in config if name.startswith("sasl")]


async def test_plaintext_cluster_gives_its_address() -> None:
    async with Cluster() as kafka:
        assert kafka.client_config() == {"bootstrap.servers": kafka.bootstrap}
        assert kafka.client_config(library="aiokafka") == {"bootstrap_servers": kafka.bootstrap}


async def test_unknown_security_and_user_are_named() -> None:
    with pytest.raises(ControlError, match="unknown security 'SASL-SSL'; did you mean SASL_SSL"):
        Cluster(security="SASL-SSL")
    with pytest.raises(ControlError, match="security and the setting listeners exclude each other"):
        Cluster(security="SSL", settings={"listeners": "SSL://127.0.0.1:0"})
    async with Cluster(security="SASL_PLAINTEXT") as kafka:
        with pytest.raises(ControlError, match="unknown user 'alise'; did you mean alice"):
            kafka.client_config("alise")
        with pytest.raises(ControlError, match="unknown library 'confluent_kafka'; did you mean confluent-kafka"):
            kafka.client_config(library="confluent_kafka")
        with pytest.raises(ControlError, match="unknown mechanism 'SCRAM'"):
            kafka.client_config(mechanism="SCRAM")


def test_secured_cluster_in_thread() -> None:
    with Cluster(2, security="SASL_PLAINTEXT") as kafka:
        assert len(kafka.bootstrap.split(",")) == 2
        assert kafka.client_config("bob", library="kafka-python")["sasl_plain_username"] == "bob"


async def test_listeners_may_be_set_directly() -> None:
    async with Cluster(settings={"listeners": "PLAINTEXT://127.0.0.1:0"}) as kafka:
        assert kafka.client_config() == {"bootstrap.servers": kafka.bootstrap}
