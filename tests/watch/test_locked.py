"""`kohort watch` against brokers that want TLS or a login."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from click.testing import CliRunner

from kohort.cli.watch import watch
from kohort.cli.watch.client import BrokerError
from kohort.cli.watch.looking import WatchedCluster
from kohort.client.security import OPEN, Security, from_settings
from tests.pipeline.locked_broker import LOGIN, LockedBroker, login

pytestmark = pytest.mark.timeout(180)


async def seen(port: int, security: Security = OPEN) -> int:
    """How many brokers the cluster tells of, if it lets us in: none."""
    cluster = WatchedCluster(f"127.0.0.1:{port}", security=security)
    try:
        return (await cluster.look(0)).brokers
    finally:
        cluster.close()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_logging_in(mechanism: str) -> None:
    broker = LockedBroker(mechanism)
    with broker.listening() as port:
        assert await seen(port, login(mechanism)) == 0
        assert len(broker.logins) == 1
        with pytest.raises(BrokerError, match=f"127.0.0.1:{port}: the login failed: Authentication failed"):
            await seen(port, login(mechanism, jaas=LOGIN.replace("s3cret", "wrong")))
        with pytest.raises(
            BrokerError, match="closed the connection; if it requires TLS or SASL, use --command-config"
        ):
            await seen(port)


async def test_tls(authority: Path) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(authority, authority.with_suffix(".key"))
    trusting = {"security.protocol": "SSL", "ssl.truststore.location": str(authority)}
    with LockedBroker(tls=context).listening() as port:
        assert await seen(port, from_settings(trusting)) == 0
        with pytest.raises(BrokerError, match="isn't trusted: self-signed certificate"):
            await seen(port, from_settings({"security.protocol": "SSL"}))
        with pytest.raises(BrokerError, match=r"this port requires TLS|closed the connection; if it requires TLS"):
            await seen(port)
    with LockedBroker().listening() as port, pytest.raises(BrokerError, match=r"doesn't speak TLS|security\.protocol"):
        await seen(port, from_settings(trusting))


async def test_expired_session_is_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = LockedBroker("PLAIN", lasts_ms=10_000)
    with broker.listening() as port:
        cluster = WatchedCluster(f"127.0.0.1:{port}", security=login("PLAIN"))
        await cluster.look(0)
        await cluster.look(1)
        assert broker.connections == 1
        cluster._bootstrap[0]._until = 0.0  # long ago
        await cluster.look(2)
        assert (broker.connections, len(broker.logins)) == (2, 2)
        cluster.close()


def test_command_reads_properties_file(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={LOGIN}\n")
    broker = LockedBroker("PLAIN")
    with broker.listening() as port:
        done = CliRunner().invoke(watch, [f"127.0.0.1:{port}", "--once", "--command-config", str(file)])
    assert (done.exit_code, len(broker.logins)) == (0, 1), done.output
    file.write_text("security.protocol=SASL_SSL\n")
    done = CliRunner().invoke(watch, [f"127.0.0.1:{port}", "--once", "--command-config", str(file)])
    assert done.exit_code == 2
    assert "sasl.mechanism=GSSAPI (Kafka's default) isn't supported" in done.output
