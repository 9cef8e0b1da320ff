"""Client libraries in other languages with a secured cluster: passwords and certificates, with and without permissions.

test_secured.py has the Python libraries, and test_secured_tools.py Kafka's own tools.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kohort.testing import Cluster, SyncCluster
from tests.clients.libraries import Missing
from tests.clients.secured_trips import TRIPS, Done, Trip
from tests.support.lacking import lacks

pytestmark = [pytest.mark.libraries, pytest.mark.timeout(1_500)]

ACLS = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}

# how a client connects; over SSL by a certificate
WAYS = [("SASL_SSL", "SCRAM-SHA-256"), ("SASL_SSL", "SCRAM-SHA-512"), ("SASL_SSL", "PLAIN"), ("SSL", "")]

by_library = pytest.mark.parametrize("library", TRIPS)
by_way = pytest.mark.parametrize(("security", "mechanism"), WAYS)


def travel(library: str, trip: Trip, folder: Path) -> Done:
    """Run a library's program, or skip the test if the library is missing."""
    try:
        return TRIPS[library](trip, folder)
    except Missing as reason:
        lacks("program", f"{library}: {reason}")


def trip_of_alice(kafka: SyncCluster, mechanism: str, password: str = "alice-secret") -> Trip:
    """Return the access to the topic `orders` and the group `billing`."""
    config = kafka.client_config("alice", library="librdkafka", mechanism=mechanism or "PLAIN")
    authority, certificate = str(config["ssl.ca.location"]), str(config.get("ssl.certificate.location", ""))
    return Trip(kafka.bootstrap, "orders", "billing", authority, certificate, mechanism, "alice", password)


@by_way
@by_library
def test_alice_uses_her_rights(library: str, security: str, mechanism: str, tmp_path: Path) -> None:
    with Cluster(security=security, settings=ACLS) as kafka:
        kafka.topics.create("orders")
        for operation in ("Read", "Write"):
            kafka.acls.allow("User:alice", operation, topic="orders")
        kafka.acls.allow("User:alice", "Read", group="billing")
        assert travel(library, trip_of_alice(kafka, mechanism), tmp_path) == Done(0, "hello")


REFUSED = {
    "kafka-clients 4.4.0": "Not authorized to access topics: [orders]",
    "franz-go": "TOPIC_AUTHORIZATION_FAILED",
    "kafkajs": "Not authorized to access topics",
}


@pytest.mark.parametrize("library", REFUSED)
def test_missing_right_is_reported(library: str, tmp_path: Path) -> None:
    with Cluster(security="SSL", settings=ACLS) as kafka:
        kafka.topics.create("orders")
        done = travel(library, trip_of_alice(kafka, ""), tmp_path)
    assert done.status == 1
    assert REFUSED[library] in done.said


@pytest.mark.parametrize("library", REFUSED)
def test_wrong_password_is_reported(library: str, tmp_path: Path) -> None:
    with Cluster(security="SASL_SSL") as kafka:
        done = travel(library, trip_of_alice(kafka, "SCRAM-SHA-512", password="wrong"), tmp_path)
    assert done.status == 1
    assert "invalid credentials with SASL mechanism SCRAM-SHA-512" in done.said
