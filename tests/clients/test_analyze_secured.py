"""`kohort analyze` at a secured cluster, let in by `--command-config` as Kafka's tools are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from kohort.testing import Cluster, SyncCluster

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]

ACLS = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}


def analyzed(kafka: SyncCluster, user: str, folder: Path) -> subprocess.CompletedProcess[str]:
    config = kafka.client_config(user, library="java")
    del config["bootstrap.servers"]
    file = folder / f"{user}.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in config.items()))
    command = [sys.executable, "-m", "kohort.cli", "analyze", kafka.bootstrap, "--command-config", str(file)]
    return subprocess.run(
        [*command, "--out", str(folder / "out")], capture_output=True, text=True, timeout=240, check=False
    )


def read_and_commit(kafka: SyncCluster) -> None:
    config = kafka.client_config("admin")
    producer = Producer(config)
    producer.produce("orders", b"1")
    assert producer.flush(60) == 0
    consumer = Consumer(config | {"group.id": "billing", "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe(["orders"])
        kafka.group("billing").wait_for(lambda: consumer.poll(0.2) is not None, 60)
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()


@pytest.mark.parametrize("security", ["SASL_SSL", "SSL"])
def test_offsets_topic_reader_gets_report(security: str, tmp_path: Path) -> None:
    with Cluster(security=security, settings=ACLS) as kafka:
        kafka.topics.create("orders")
        read_and_commit(kafka)
        done = analyzed(kafka, "admin", tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "billing" in done.stdout
        refused = analyzed(kafka, "bob", tmp_path)
    assert refused.returncode == 1, refused.stdout + refused.stderr
    assert "__consumer_offsets is closed to this user" in refused.stdout + refused.stderr
