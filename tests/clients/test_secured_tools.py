"""Kafka's own command-line tools at a secured cluster, with `--command-config`."""

from __future__ import annotations

from pathlib import Path

import pytest

from kohort.testing import Cluster, SyncCluster
from tests.clients.kafkas_own import said

pytestmark = [pytest.mark.libraries, pytest.mark.timeout(600), pytest.mark.usefixtures("kafkas_tools")]

ACLS = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}


def properties(kafka: SyncCluster, folder: Path, user: str, mechanism: str = "SCRAM-SHA-512", name: str = "") -> str:
    """Write a file for `--command-config`. `name`: another user's name in place of the user's."""
    config = kafka.client_config(user, library="java", mechanism=mechanism)
    file = folder / f"{name or user}.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in config.items()).replace(user, name or user))
    return str(file)


def test_created_user_produces_and_consumes(tmp_path: Path) -> None:
    with Cluster(security="SASL_SSL", settings=ACLS) as kafka:
        at = ["--bootstrap-server", kafka.bootstrap]
        admin = [*at, "--command-config", properties(kafka, tmp_path, "admin")]
        said("kafka-topics", *admin, "--create", "--topic", "orders")
        password = "SCRAM-SHA-256=[password=dora-secret]"
        user = ["--entity-type", "users", "--entity-name", "dora"]
        said("kafka-configs", *admin, "--alter", *user, "--add-config", password)
        assert "SCRAM-SHA-256=iterations=4096" in said("kafka-configs", *admin, "--describe", *user)
        allowed = ["--add", "--allow-principal", "User:dora", "--topic", "orders"]
        said("kafka-acls", *admin, *allowed, "--producer")
        said("kafka-acls", *admin, *allowed, "--consumer", "--group", "g")
        dora = properties(kafka, tmp_path, "alice", "SCRAM-SHA-256", name="dora")
        said("kafka-console-producer", *at, "--command-config", dora, "--topic", "orders", told="one\ntwo\n")
        reading = ["--topic", "orders", "--group", "g", "--from-beginning", "--max-messages", "2"]
        heard = said("kafka-console-consumer", *at, "--command-config", dora, *reading, "--timeout-ms", "30000")
        assert heard.split() == ["one", "two"]


def test_certificate_authenticates_tool(tmp_path: Path) -> None:
    with Cluster(security="SSL", settings=ACLS) as kafka:
        kafka.topics.create("orders")
        at = ["--bootstrap-server", kafka.bootstrap, "--list", "--command-config"]
        assert "orders" in said("kafka-topics", *at, properties(kafka, tmp_path, "admin"))
        assert "orders" not in said("kafka-topics", *at, properties(kafka, tmp_path, "bob"))
