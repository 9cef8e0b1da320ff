"""Reports about logins: counters by listener, and events of failures, which never contain secrets."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kohort.broker.cluster.event_log import line_of
from kohort.broker.cluster.group_events import MOST_TOLD, Recorded
from kohort.broker.cluster.logins import (
    EXPIRED,
    FAILED,
    MOST_REMEMBERED,
    NOT_RENEWED,
    RENEWED,
    SUCCEEDED,
    TOLD_EVERY_MS,
)
from kohort.broker.settings.broker_settings import STANDARD_AUTHORIZER
from kohort.control.http.metrics import Metrics
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.delete_topics import DeleteTopicState
from tests.support.broker import Broker, Client
from tests.support.frames import frame

USERS = 'PlainLoginModule required user_alice="alice-secret" user_bob="bob-secret";'
GOOD, BAD = b"\0alice\0alice-secret", b"\0alice\0hidden-word"
LISTENER = "SASL_PLAINTEXT"


class Told:
    """A broker whose events are recorded."""

    def __init__(self, **settings: Any) -> None:
        self.broker = Broker(
            listeners="SASL_PLAINTEXT://10.0.0.1:9092",
            sasl_enabled_mechanisms="PLAIN,SCRAM-SHA-256",
            sasl_jaas_config=USERS,
            **settings,
        )
        self.recorded: list[Recorded] = []
        self.broker.cluster.group_events.listen(self.recorded.append)

    def logs_in(self, message: bytes = GOOD, client: Client | None = None) -> Client:
        """Log in and wait until the delay of a failed login has passed."""
        client = client or self.broker.stranger()
        assert client.asks("sasl_handshake", 1, mechanism="PLAIN").error_code is ErrorCode.none
        client.says(plain(message))
        if message is not GOOD:
            self.broker.loop.wait(100)
        client.heard()
        return client

    @property
    def events(self) -> list[Any]:
        """Return the events about clients."""
        return [each.event for each in self.recorded if each.event.co_partition == -1]

    def count(self, outcome: str) -> int:
        """Return the number of logins with this outcome."""
        return self.broker.cluster.logins.counts[self.broker.cluster.nodes[0].id, LISTENER, outcome]


def plain(message: bytes) -> bytes:
    return frame("sasl_authenticate", 1, 2, auth_bytes=message)


@pytest.fixture
def told() -> Told:
    return Told()


def test_failed_login_event_has_no_password(told: Told) -> None:
    told.logs_in(BAD)
    (event,) = told.events
    assert (event.kind, event.client_host, event.group_id) == ("authentication_failed", "/10.0.0.7", None)
    assert event.detail == {
        "listener": LISTENER,
        "reason": "Authentication failed: Invalid username or password",
        "n": "1",
    }
    assert not any(b"hidden-word" in line_of(each) for each in told.recorded)
    assert (told.count(FAILED), told.count(SUCCEEDED)) == (1, 0)


def test_successful_login_is_only_counted(told: Told) -> None:
    told.logs_in()
    assert told.events == []
    assert (told.count(FAILED), told.count(SUCCEEDED)) == (0, 1)


def test_bare_messages_count_too(told: Told) -> None:
    for message in (GOOD, BAD):
        client = told.broker.stranger()
        client.asks("sasl_handshake", 0, mechanism="PLAIN")
        client.says(len(message).to_bytes(4, "big") + message)
        told.broker.loop.wait(100)
    unknown = told.broker.stranger()
    unknown.asks("sasl_handshake", 0, mechanism="SCRAM-SHA-256")
    unknown.says(b"\0\0\0\2hi")
    assert (told.count(SUCCEEDED), told.count(FAILED)) == (1, 2)


def test_repeated_failure_is_reported_periodically(told: Told) -> None:
    for _ in range(3):
        told.logs_in(BAD)
    told.broker.loop.wait(TOLD_EVERY_MS)
    told.logs_in(BAD)
    assert [event.detail["n"] for event in told.events] == ["1", "4"]


def test_login_storm_is_counted(told: Told) -> None:
    many = MOST_REMEMBERED + 100
    for number in range(many):
        client = told.broker.stranger(f"10.1.{number // 250}.{number % 250}")
        client.asks("sasl_handshake", 1, mechanism="PLAIN")
        client.says(plain(BAD))
    assert told.count(FAILED) == many
    assert len(told.events) == MOST_TOLD
    assert len(told.broker.cluster.logins._failing) == MOST_REMEMBERED


def test_session_expiry_and_renewal_events() -> None:
    told = Told(connections_max_reauth_ms=5_000)
    alice, bob = told.logs_in(), told.logs_in()
    told.broker.loop.wait(2_000)
    told.logs_in(client=alice)
    told.broker.loop.wait(4_000)
    bob.says(plain(GOOD))
    assert bob.closed
    (event,) = told.events
    assert (event.kind, event.detail["principal"]) == ("authentication_expired", "User:alice")
    told.logs_in(BAD, alice)
    assert [told.count(each) for each in (SUCCEEDED, RENEWED, NOT_RENEWED, FAILED, EXPIRED)] == [2, 1, 1, 0, 1]


def test_metrics_have_kafkas_names(told: Told) -> None:
    told.broker.cluster.nodes[0].listens(LISTENER, 9092)
    told.logs_in()
    told.logs_in(BAD)
    text = Metrics(told.broker.cluster).text().decode()
    assert "hidden-word" not in text
    found = {
        sample.name.removeprefix("kafka_server_socket_server_metrics_"): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.get("listener") == LISTENER
    }
    assert found["successful_authentication_total"] == 1
    assert found["failed_authentication_total"] == 1
    assert found["expired_connections_killed_count"] == 0


def test_missing_topic_right_is_reported() -> None:
    told = Told(authorizer_class_name=STANDARD_AUTHORIZER)
    alice = told.logs_in()
    alice.asks("delete_topics", 5, topics=(DeleteTopicState(name="secret"),), timeout_ms=1_000)
    (event,) = told.events
    assert (event.kind, event.detail["principal"], event.detail["resource"]) == (
        "access_denied",
        "User:alice",
        "TOPIC:secret",
    )
    assert (event.detail["operation"], event.detail["api"]) == ("DELETE", "delete_topics")
