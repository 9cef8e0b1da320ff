"""TLS and SASL under Kafka's own names: what a properties file may say, and clusters behind a lock."""

from __future__ import annotations

import ssl
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from kohort.cli.analyze import analyze
from kohort.client import sasl
from kohort.client.security import OPEN, Security, SecurityError, from_file, from_settings
from kohort.pipeline.sources.source_cluster import SourceCluster, WireError
from tests.pipeline.locked_broker import LOGIN, PASSWORD, USER, LockedBroker, login


def reached(port: int, security: Security = OPEN) -> str:
    cluster = SourceCluster(f"127.0.0.1:{port}", security)
    try:
        return cluster.metadata(None).cluster_id or ""
    finally:
        cluster.close()


def test_properties_file_parses_like_java(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "# a comment\r\n! another\n\n  security.protocol = SASL_SSL\nsasl.mechanism:PLAIN\nclient.id me and you\n"
        'sasl.jaas.config=a.Module required \\\n    username="ana" \\\n    password="\\u00fc\\\\\\\\y\u0085z";\n'
        "sasl.mechanism=SCRAM-SHA-256",
        encoding="utf-8",
    )
    read = from_file(file)
    assert (read.protocol, read.mechanism) == ("SASL_SSL", "SCRAM-SHA-256")
    assert (read.username, read.password) == ("ana", "ü\\y\u0085z")


def test_unreadable_properties_file(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("sasl.mechanism=\\u12x")
    with pytest.raises(SecurityError, match=r"\\u12x is not a character"):
        from_file(file)
    file.write_bytes(b"sasl.mechanism=\xff")
    with pytest.raises(SecurityError, match="isn't text"):
        from_file(file)


def test_librdkafkas_words_mean_the_same(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    (tmp_path / "chain.pem").write_text("the chain")
    (tmp_path / "key.pem").write_text("the key")
    file = tmp_path / "client.properties"
    file.write_text(
        "bootstrap.servers=b:9092\nsecurity.protocol=sasl_ssl\nsasl.mechanisms=SCRAM-SHA-512\nsasl.username=ana\n"
        f'sasl.password=a"b\\\\c;d\nssl.ca.location={tmp_path}/ca.pem\nssl.certificate.location={tmp_path}/chain.pem\n'
        f"ssl.key.location={tmp_path}/key.pem\nssl.key.password=x\nssl.endpoint.identification.algorithm=none\n"
    )
    read = from_file(file)
    assert (read.protocol, read.mechanism, read.username) == ("SASL_SSL", "SCRAM-SHA-512", "ana")
    assert read.password == 'a"b\\c;d'
    assert read.authorities.startswith("-----BEGIN")
    assert (read.certificate, read.key_password, read.check_hostname) == ("the chain\nthe key\n", "x", False)
    assert from_settings(dict(read.settings)) == read, "it travels in the words that Java's clients understand"


def test_unknown_setting_fails_at_once() -> None:
    with pytest.raises(SecurityError, match=r"sasl\.usernam isn't .*sasl\.username.*; sasl\.oauthbearer\.config isn't"):
        from_settings({"sasl.usernam": "x", "sasl.oauthbearer.config": "y", "linger.ms": "5"})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"sasl.username": "x"}, "sasl.password is missing"),
        ({"sasl.mechanisms": "PLAIN", "sasl.mechanism": "SCRAM-SHA-256"}, "two names of one setting"),
        ({"ssl.key.location": "/nowhere/key.pem"}, "ssl.key.location: /nowhere/key.pem can't be read"),
        ({"enable.ssl.certificate.verification": "False"}, "give the certificate in ssl.ca.location"),
        ({"security.protcol": "SSL"}, "did you mean security.protocol?"),
        ({"sasl.login.callback.handler.class": "x"}, "isn't supported"),
        ({"security.protocol": "TLS"}, "it is one of PLAINTEXT, SSL"),
        ({"security.protocol": "SASL_SSL"}, "sasl.mechanism=GSSAPI (Kafka's default) isn't supported"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "names no username and no password"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "/nowhere/t.pem"}, "can't be read"),
        ({"security.protocol": "SSL", "ssl.keystore.key": "x"}, "belong together"),
        ({"security.protocol": "${file:/x:y}"}, "write the value itself"),
    ],
)
def test_unsupported_setting_suggests_another(settings: dict[str, str], words: str) -> None:
    with pytest.raises(SecurityError) as told:
        from_settings(settings)
    assert words in str(told.value)


def test_java_keystore_is_rejected(tmp_path: Path) -> None:
    store = tmp_path / "trust.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")
    with pytest.raises(SecurityError, match=r"isn't PEM.*keytool"):
        from_settings({"security.protocol": "SSL", "ssl.truststore.location": str(store)})


def test_unrelated_client_settings_are_ignored(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("client.id=x\nbootstrap.servers=b:9092\nrequest.timeout.ms=10\n")
    assert from_file(file) == OPEN


def test_secrets_are_not_shown() -> None:
    security = login("PLAIN")
    assert PASSWORD not in repr(security)
    assert security.options["kafka.sasl.mechanism"] == "PLAIN"
    assert from_settings({name[6:]: value for name, value in security.options.items()}) == security


def test_rfc_7677_example() -> None:
    # the only published SCRAM-SHA-256 exchange with every byte
    steps = sasl._scram(Security("SASL_PLAINTEXT", "SCRAM-SHA-256", "user", "pencil"), "rOprNGfwEbeRWgbNEkqO")
    assert next(steps) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    nonce = b"rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    assert steps.send(b"r=" + nonce + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096") == (
        b"c=biws,r=" + nonce + b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    with pytest.raises(StopIteration):
        steps.send(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


@pytest.mark.parametrize(
    ("challenge", "words"),
    [
        ("r=somebody,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "does not contain this client's nonce"),
        ("r=mine-and-theirs,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=1", "fewer than 4096 are unsafe"),
        ("r=mine-and-theirs,i=4096", "can't be read"),
        ("", "can't be read"),
    ],
)
def test_rejected_challenge(challenge: str, words: str) -> None:
    steps = sasl._scram(Security("SASL_PLAINTEXT", "SCRAM-SHA-256", "user", "pencil"), "mine")
    next(steps)
    with pytest.raises(sasl.LoginError, match=words):
        steps.send(challenge.encode())


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_logging_in(mechanism: str) -> None:
    broker = LockedBroker(mechanism)
    with broker.listening() as port:
        assert reached(port, login(mechanism)) == "c"
        assert broker.logins == [USER]
        with pytest.raises(WireError, match="the login failed: Authentication failed"):
            reached(port, login(mechanism, jaas=LOGIN.replace(PASSWORD, "wrong")))
        with pytest.raises(WireError, match="closed the connection; if it requires TLS or SASL"):
            reached(port)


def test_mechanism_not_enabled_by_broker() -> None:
    with (
        LockedBroker("PLAIN").listening() as port,
        pytest.raises(WireError, match=r"doesn't take sasl\.mechanism=SCRAM-SHA-512; it offers PLAIN"),
    ):
        reached(port, login("SCRAM-SHA-512"))


def test_broker_without_password_is_rejected() -> None:
    with (
        LockedBroker("SCRAM-SHA-256", honest=False).listening() as port,
        pytest.raises(WireError, match="it may be an impostor"),
    ):
        reached(port, login("SCRAM-SHA-256"))


def test_expired_session_is_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    # a broker disconnects clients after connections.max.reauth.ms
    broker = LockedBroker("PLAIN", lasts_ms=10_000)
    with broker.listening() as port:
        cluster = SourceCluster(f"127.0.0.1:{port}", login("PLAIN"))
        cluster.metadata(None)
        cluster.metadata(None)
        assert broker.connections == 1
        now = time.monotonic()
        monkeypatch.setattr(time, "monotonic", lambda: now + 9)
        cluster.metadata(None)
        assert (broker.connections, len(broker.logins)) == (2, 2)
        cluster.close()


def test_tls(authority: Path) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(authority, authority.with_suffix(".key"))
    trusting = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(authority)}
    with LockedBroker("SCRAM-SHA-512", context).listening() as port:
        jaas = {"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": LOGIN}
        assert reached(port, from_settings({"security.protocol": "SASL_SSL", **trusting, **jaas})) == "c"
        with pytest.raises(WireError, match="isn't trusted: self-signed certificate"):
            reached(port, from_settings({"security.protocol": "SASL_SSL", **jaas}))
        with pytest.raises(WireError, match=r"this port requires TLS|closed the connection; if it requires TLS"):
            reached(port)
        elsewhere = SourceCluster(f"localhost:{port}", from_settings({"security.protocol": "SSL", **trusting}))
        with pytest.raises(WireError, match=r"ssl\.endpoint\.identification\.algorithm="):
            elsewhere.metadata(None)
    with (
        LockedBroker().listening() as port,
        pytest.raises(WireError, match="doesn't speak TLS"),
    ):
        reached(port, from_settings({"security.protocol": "SSL", **trusting}))


def test_custom_client_key(authority: Path) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority))
    context.load_cert_chain(authority, authority.with_suffix(".key"))
    context.verify_mode = ssl.CERT_REQUIRED
    trusting = {"security.protocol": "SSL", "ssl.truststore.location": str(authority)}
    own = {
        "ssl.keystore.certificate.chain": authority.read_text(),
        "ssl.keystore.key": authority.with_suffix(".key").read_text(),
    }
    with LockedBroker(tls=context).listening() as port:
        assert reached(port, from_settings(trusting | own)) == "c"
        with pytest.raises(WireError):
            reached(port, from_settings(trusting))


@pytest.mark.parametrize("given", [True, False])
def test_command_validates_settings_before_spark(given: bool, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=SASL_SSL\n")
    arguments, environment = (
        (["--command-config", str(file)], {}) if given else ([], {"KOHORT_COMMAND_CONFIG": str(file)})
    )
    result = CliRunner().invoke(analyze, ["localhost:1", *arguments], env=environment)
    assert result.exit_code == 2
    assert "sasl.mechanism=GSSAPI (Kafka's default) isn't supported; there are PLAIN, SCRAM-SHA-256" in result.output


@pytest.mark.parametrize("given", [True, False])
def test_environment_file_needs_address(given: bool, tmp_path: Path) -> None:
    config, log = tmp_path / "client.properties", tmp_path / "server.log"
    config.write_text("")
    log.write_text("")
    arguments, environment = (
        (["--command-config", str(config)], {}) if given else ([], {"KOHORT_COMMAND_CONFIG": str(config)})
    )
    result = CliRunner().invoke(analyze, [str(log), *arguments, "--out", str(tmp_path / "out")], env=environment)
    assert ("none of the sources is an address" in result.output) == given
