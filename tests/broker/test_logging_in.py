"""Clients of a listener that requires a login: bytes on the wire and their time. Rules: logins.md §3."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest

from kohort.base.logs import log
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.alter_user_scram_credentials import ScramCredentialUpsertion
from kohort.security.sasl.scram import ScramMechanism, credential_of, salted_password
from tests.support.broker import Broker, Client
from tests.support.frames import frame

USERS = 'PlainLoginModule required user_alice="alice-secret" user_bob="bob-secret";'
GOOD, BAD = b"\0alice\0alice-secret", b"\0alice\0hidden-word"


def broker(**settings: Any) -> Broker:
    return Broker(
        listeners="SASL_PLAINTEXT://10.0.0.1:9092",
        sasl_enabled_mechanisms=settings.pop("mechanisms", "PLAIN,SCRAM-SHA-256"),
        sasl_jaas_config=USERS,
        **settings,
    )


def chosen(client: Client, mechanism: str = "PLAIN", version: int = 1) -> None:
    assert client.asks("sasl_handshake", version, mechanism=mechanism).error_code is ErrorCode.none


def test_login_then_requests() -> None:
    client = broker().stranger()
    assert client.asks("api_versions").error_code is ErrorCode.none
    assert client.asks("sasl_handshake", 1, mechanism="PLAIN").mechanisms == ("PLAIN", "SCRAM-SHA-256")
    answer = client.asks("sasl_authenticate", 2, auth_bytes=GOOD)
    assert (answer.error_code, answer.error_message, answer.session_lifetime_ms) == (ErrorCode.none, "", 0)
    assert str(client.connection.principal) == "User:alice"
    assert client.asks("metadata", 9, topics=()).brokers


def test_pipelined_handshake_and_requests() -> None:
    client = broker().stranger()
    client.says(
        frame("sasl_handshake", 1, 1, mechanism="PLAIN"),
        frame("sasl_authenticate", 1, 2, auth_bytes=GOOD),
        frame("metadata", 4, 3, topics=()),
    )
    assert [int.from_bytes(response[:4], "big") for response in client.heard()] == [1, 2, 3]


def test_messages_without_headers() -> None:
    client = broker().stranger()
    chosen(client, version=0)
    client.says(len(GOOD).to_bytes(4, "big") + GOOD)
    assert client.heard() == [b""]
    assert client.asks("metadata", 1, topics=()).brokers


@pytest.mark.parametrize("name", ["metadata", "sasl_authenticate", "heartbeat"])
def test_requests_before_handshake_disconnect(name: str) -> None:
    fields: dict[str, dict[str, Any]] = {
        "metadata": {"topics": ()},
        "sasl_authenticate": {"auth_bytes": GOOD},
        "heartbeat": {"group_id": "g", "generation_id": 1, "member_id": "m"},
    }
    client = broker().stranger()
    client.says(frame(name, 0, 1, **fields[name]))
    assert client.closed
    assert client.heard() == []


def test_rejection_is_delayed_individually() -> None:
    world = broker(connection_failed_authentication_delay_ms=300)
    client, other = world.stranger(), world.stranger()
    chosen(client)
    client.says(frame("sasl_authenticate", 2, 1, auth_bytes=BAD), frame("metadata", 4, 2, topics=()))
    chosen(other)
    assert other.asks("sasl_authenticate", 2, auth_bytes=GOOD).error_code is ErrorCode.none
    world.loop.wait(299)
    assert (client.heard(), client.closed) == ([], False)
    world.loop.wait(1)
    ((_, refusal),) = client.hears("sasl_authenticate", 2)
    assert refusal.error_code is ErrorCode.sasl_authentication_failed
    assert refusal.error_message == "Authentication failed: Invalid username or password"
    assert client.closed


def test_other_request_during_login_fails() -> None:
    world = broker()
    client = world.stranger()
    chosen(client)
    client.says(frame("find_coordinator", 3, 1, coordinator_keys=("g",), key_type=0))
    world.loop.wait(100)
    ((_, refusal),) = client.hears("find_coordinator", 3)
    (coordinator,) = refusal.coordinators
    assert coordinator.error_code is ErrorCode.illegal_sasl_state
    assert coordinator.error_message == "Request is not valid given the current SASL state."
    assert client.closed


def test_oversized_message_closes_after_delay() -> None:
    world = broker(sasl_server_max_receive_size=1_000)
    client = world.stranger()
    client.says((1_001).to_bytes(4, "big"))
    assert not client.closed
    world.loop.wait(100)
    assert client.closed


def test_authenticated_requests_may_be_longer() -> None:
    client = broker(sasl_server_max_receive_size=1_000).stranger()
    chosen(client)
    client.asks("sasl_authenticate", 2, auth_bytes=GOOD)
    assert client.asks("metadata", 9, topics=()).brokers
    assert client.connection.frame_max_bytes == 104_857_600


def test_expired_session_ends_at_request() -> None:
    world = broker(connections_max_reauth_ms=2_000)
    client = world.stranger()
    chosen(client)
    assert client.asks("sasl_authenticate", 1, auth_bytes=GOOD).session_lifetime_ms == 2_000
    world.loop.wait(1_900)
    assert client.asks("metadata", 9, topics=()).brokers
    chosen(client)
    client.asks("sasl_authenticate", 1, auth_bytes=GOOD)
    world.loop.wait(2_000)
    assert not client.closed
    client.says(frame("metadata", 9, 1, topics=()))
    assert client.closed
    assert client.heard() == []


def test_login_on_plaintext_is_rejected() -> None:
    client = Broker().client()
    assert client.asks("sasl_handshake", 1, mechanism="PLAIN").error_code is ErrorCode.illegal_sasl_state
    assert client.asks("sasl_authenticate", 2, auth_bytes=GOOD).error_code is ErrorCode.illegal_sasl_state
    assert not client.closed


def test_failed_logins_leave_nothing() -> None:
    world = broker()
    old_count = len(world.cluster.purgatory)
    for _ in range(1_000):
        client = world.stranger()
        chosen(client)
        client.says(frame("sasl_authenticate", 2, 1, auth_bytes=BAD))
        client.connection.connection_lost(None)
    assert len(world.cluster.purgatory) == old_count
    assert not world.server.connections


def test_no_log_line_shows_a_password(lines: StringIO) -> None:
    log.configure(level="debug", stream=lines)
    world = broker()
    for word in (GOOD, BAD):
        client = world.stranger()
        chosen(client)
        client.says(frame("sasl_authenticate", 2, 1, auth_bytes=word))
        world.loop.wait(100)
    salted = salted_password(ScramMechanism.SCRAM_SHA_256, "hidden-word", b"salt", 4096)
    upsertion = ScramCredentialUpsertion(
        name="carol", mechanism=1, iterations=4096, salt=b"salt", salted_password=salted
    )
    Broker().client().says(frame("alter_user_scram_credentials", 0, 1, deletions=(), upsertions=(upsertion,)))
    text = lines.getvalue()
    assert "sasl_authenticate" in text
    assert "ScramCredentialUpsertion(name='carol'" in text
    assert "Invalid username or password" in text
    for secret in ("alice-secret", "hidden-word", repr(salted)[2:12]):
        assert secret not in text


def test_scram_with_cluster_credential() -> None:
    world = broker()
    salted = salted_password(ScramMechanism.SCRAM_SHA_256, "x", b"salt", 4096)
    sha_256 = ScramMechanism.SCRAM_SHA_256
    world.cluster.scram_credentials.put("carol", sha_256, credential_of(sha_256, salted, b"salt", 4096))
    client = world.stranger()
    chosen(client, "SCRAM-SHA-256")
    answer = client.asks("sasl_authenticate", 2, auth_bytes=b"n,,n=carol,r=abc")
    assert answer.auth_bytes.startswith(b"r=abc")
    assert answer.auth_bytes.endswith(b",s=c2FsdA==,i=4096")
