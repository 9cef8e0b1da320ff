"""Kafka's own tools on a broker with ACLs: rights are given, listed and taken away, and refusals are understood."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from kohort.broker.settings.broker_settings import STANDARD_AUTHORIZER
from tests.clients.kafkas_own import TIMEOUT_S, command, said
from tests.clients.serving import serving

pytestmark = [pytest.mark.libraries, pytest.mark.timeout(600)]

OPEN = ("authorizer.class.name=" + STANDARD_AUTHORIZER, "allow.everyone.if.no.acl.found=true")
ANYBODY = "User:ANONYMOUS"


@pytest.fixture(scope="module")
def broker(kafkas_tools: None) -> Iterator[str]:
    """A broker on which resources without ACLs are open, so that ANONYMOUS may create ACLs."""
    with serving(options=("--set", OPEN[0], "--set", OPEN[1])) as bootstrap:
        yield bootstrap


def acls(broker: str, *arguments: str) -> str:
    return said("kafka-acls", "--bootstrap-server", broker, *arguments)


def refused(name: str, *arguments: str, told: str = "") -> str:
    """Return the output of a tool that must fail."""
    done = subprocess.run(
        command(name, *arguments), input=told, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    return done.stdout + done.stderr


def test_acls_are_created_listed_and_deleted(broker: str) -> None:
    added = acls(broker, "--add", "--allow-principal", "User:alice", "--producer", "--topic", "orders")
    assert "operation=WRITE" in added
    acls(broker, "--add", "--deny-principal", "User:bob", "--operation", "All", "--group", "bill")
    listed = acls(broker, "--list")
    assert "ResourcePattern(resourceType=TOPIC, name=orders, patternType=LITERAL)" in listed
    assert "(principal=User:bob, host=*, operation=ALL, permissionType=DENY)" in listed
    of_topic = acls(broker, "--list", "--topic", "orders", "--principal", "User:alice")
    assert "User:bob" not in of_topic
    acls(broker, "--remove", "--force", "--topic", "orders")
    acls(broker, "--remove", "--force", "--group", "bill")
    assert "principal=" not in acls(broker, "--list")


def test_console_tools_report_missing_rights(broker: str) -> None:
    said("kafka-topics", "--bootstrap-server", broker, "--create", "--topic", "closed")
    said("kafka-console-producer", "--bootstrap-server", broker, "--topic", "closed", told="one\n")
    acls(broker, "--add", "--allow-principal", "User:alice", "--operation", "All", "--topic", "closed")
    assert "closed" not in said("kafka-topics", "--bootstrap-server", broker, "--list").split()
    topic = ["--bootstrap-server", broker, "--topic", "closed"]
    assert "does not exist as expected" in refused("kafka-topics", *topic, "--alter", "--partitions", "3")
    refused("kafka-console-producer", *topic, told="two\n")  # the response goes to its log
    acls(broker, "--add", "--allow-principal", ANYBODY, "--consumer", "--topic", "closed", "--group", "readers")
    read = ["--group", "readers", "--from-beginning", "--max-messages", "1", "--timeout-ms", "30000"]
    assert said("kafka-console-consumer", *topic, *read).split() == ["one"]
    offsets = said("kafka-get-offsets", "--bootstrap-server", broker, "--topic", "closed")
    assert offsets.split() == ["closed:0:1"]
