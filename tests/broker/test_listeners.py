"""The setting `listeners` and those around it: what is taken, and what contradicts itself."""

from __future__ import annotations

import pytest

from kohort.broker.runtime.securing import Securing
from kohort.broker.settings.broker_settings import Settings
from kohort.broker.settings.listeners import ListenerOptions, ListenerSettings, read_advertised, read_listeners
from kohort.broker.settings.setting import SettingError

PLAIN = 'PlainLoginModule required user_a="very-secret";'


def test_kafka_file_ignores_controllers() -> None:
    settings = Settings(
        {
            "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
            "inter.broker.listener.name": "PLAINTEXT",
            "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL",
        }
    )
    (listener,) = found = read_listeners(settings)
    assert listener == ListenerSettings("PLAINTEXT", "PLAINTEXT", "", 9092)
    assert read_advertised(settings, found)["PLAINTEXT"].address(0, "dialled", 1) == ("localhost", 9092)
    assert settings.ignored == []


def test_common_listener_notations() -> None:
    settings = Settings(
        {
            "listeners": "inside://[::1]:0, OUTSIDE://example.org:19092",
            "listener.security.protocol.map": "INSIDE:ssl,outside:SASL_SSL",
        }
    )
    inside, outside = read_listeners(settings)
    assert (inside.name, inside.protocol, inside.host, inside.port) == ("INSIDE", "SSL", "::1", 0)
    assert (outside.asks_login, outside.speaks_tls) == (True, True)


def test_mechanism_settings_take_precedence() -> None:
    listener = ListenerSettings("SASL_SSL", "SASL_SSL", "", 1)
    given = {"x": "all", "listener.name.sasl_ssl.y": "mine", "y": "all", "listener.name.sasl_ssl.plain.z": "plain's"}
    options = ListenerOptions(listener, given)
    assert [options.get("x"), options.get("y"), options.get("z", "PLAIN"), options.get("z")] == [
        "all",
        "mine",
        "plain's",
        "",
    ]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"listeners": "PLAINTEXT"}, "listeners=PLAINTEXT: PLAINTEXT is not a listener; expected NAME://HOST:PORT"),
        ({"listeners": "PLAINTEXT://h:70000"}, "is not a listener"),
        ({"listeners": "SSL://h:1,"}, "an empty part is not a listener"),
        ({"listeners": "SSL://h:1,ssl://h:2"}, "listeners contains SSL twice"),
        (
            {"listeners": "INSIDE://h:1"},
            "listener INSIDE has no entry in listener.security.protocol.map; add INSIDE:SASL_SSL",
        ),
        ({"listeners": "SSL://h:1", "listener.security.protocol.map": "SSL:TLS"}, "SSL:TLS is invalid; expected"),
        ({"listeners": "SSL://h:1,PLAINTEXT://h:1"}, "PLAINTEXT and SSL use the same port 1"),
        ({"advertised.listeners": "SSL://h:1"}, "advertised.listeners requires listeners to be set"),
        (
            {"listeners": "SSL://h:1", "inter.broker.listener.name": "X"},
            "inter.broker.listener.name=X is not in listeners",
        ),
        ({"listeners": "SSL://h:1", "security.inter.broker.protocol": "X"}, "security.inter.broker.protocol=X"),
        (
            {"listeners": "SSL://h:1", "listener.name.sasl_ssl.ssl.client.auth": "none"},
            "unknown listener SASL_SSL; listeners contains SSL",
        ),
        (
            {"listeners": "SSL://h:1", "listener.name.SSL.ssl.client.auth": "none"},
            "are in lower case; use ssl",
        ),
        ({"listeners": "C://h:1", "controller.listener.names": "C"}, "contains no listener for clients"),
    ],
)
def test_rejects_contradictions(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingError) as refusal:
        read_listeners(Settings(given))
    assert sentence in str(refusal.value)


@pytest.mark.parametrize(
    ("advertised", "sentence"),
    [("SSL://h:1", "contains SSL, but listeners does not"), ("PLAINTEXT://0.0.0.0:1", "has no host for PLAINTEXT")],
)
def test_rejects_unadvertisable_address(advertised: str, sentence: str) -> None:
    settings = Settings({"listeners": "PLAINTEXT://h:1", "advertised.listeners": advertised})
    with pytest.raises(SettingError, match=sentence):
        read_advertised(settings, read_listeners(settings))


def test_nodes_take_ports_in_a_row() -> None:
    with pytest.raises(SettingError, match="SSL and PLAINTEXT use the same port 11; 3 nodes need 3 consecutive ports"):
        read_listeners(Settings({"listeners": "PLAINTEXT://h:10,SSL://h:11"}), nodes=3)


SASL = {"listeners": "SASL_PLAINTEXT://h:1"}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "sasl.enabled.mechanisms: GSSAPI, which is Kafka's default, is not supported; supported: PLAIN, SCRAM"),
        ({"sasl.enabled.mechanisms": "plain"}, "sasl.enabled.mechanisms: plain is not supported"),
        ({"sasl.enabled.mechanisms": "PLAIN"}, "sasl.jaas.config must be set, as sasl.enabled.mechanisms contains"),
        (
            {"sasl.enabled.mechanisms": "PLAIN", "listener.name.sasl_plaintext.plain.sasl.jaas.config": PLAIN[:-1]},
            "listener.name.sasl_plaintext.plain.sasl.jaas.config is not a JAAS line",
        ),
        (
            {"sasl.enabled.mechanisms": "SCRAM-SHA-256", "listener.name.sasl_plaintext.connections.max.reauth.ms": "x"},
            "listener.name.sasl_plaintext.connections.max.reauth.ms=x must be a non-negative integer",
        ),
        (
            {"sasl.enabled.mechanisms": "OAUTHBEARER", "sasl.server.callback.handler.class": "org.example.Mine"},
            "sasl.server.callback.handler.class=org.example.Mine is not supported",
        ),
        (
            {
                "sasl.enabled.mechanisms": "OAUTHBEARER",
                "sasl.server.callback.handler.class": "org.apache.kafka.common.security.oauthbearer."
                "OAuthBearerValidatorCallbackHandler",
                "sasl.oauthbearer.jwks.endpoint.url": "file:///nowhere/jwks.json",
                "sasl.oauthbearer.expected.audience": "kohort",
                "sasl.oauthbearer.allow.unverified.issuer": "true",
            },
            "sasl.oauthbearer.jwks.endpoint.url: file:///nowhere/jwks.json cannot be read: No such file",
        ),
    ],
)
def test_logins_that_cannot_be(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingError) as refusal:
        Securing(Settings(SASL | given), 1, 0)
    assert sentence in str(refusal.value)
    assert "very-secret" not in str(refusal.value)
