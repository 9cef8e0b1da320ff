"""Listeners that speak TLS, over real sockets: accepted, rejected and abandoned clients."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme

from kohort.base.clock import SystemClock
from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.broker.runtime import server as server_module
from kohort.broker.runtime.registry import Registry
from kohort.broker.runtime.securing import Securing
from kohort.broker.runtime.server import Server
from kohort.broker.settings.broker_settings import Settings
from kohort.broker.settings.setting import SettingError
from tests.support.frames import frame

AUTHORITY = trustme.CA()
BROKER = AUTHORITY.issue_cert("127.0.0.1")
ALICE = AUTHORITY.issue_cert(common_name="Alice", organization_name="kohort", organization_unit_name="people")
RULES = "RULE:^CN=(.*?),OU=people.*$/$1/L"


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, str]:
    """Configure a listener that requests certificates but does not require them."""
    BROKER.private_key_and_cert_chain_pem.write_to_path(tmp_path / "broker.pem")
    AUTHORITY.cert_pem.write_to_path(tmp_path / "ca.pem")
    return {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(tmp_path / "broker.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(tmp_path / "ca.pem"),
        "ssl.client.auth": "requested",
        "ssl.principal.mapping.rules": RULES,
    }


@asynccontextmanager
async def serving(settings: dict[str, str]) -> AsyncIterator[Server]:
    made = Settings(settings)
    securing = Securing(made, 1, time.time())
    cluster = BrokerCluster(made, SystemClock(), 1)
    server = Server(cluster, Registry(), asyncio.get_running_loop())
    await server.listen_on(securing.listeners(cluster))
    try:
        yield server
    finally:
        server.stop()
        await asyncio.sleep(0)


def context(shows: trustme.LeafCert | None = None, version: ssl.TLSVersion | None = None) -> ssl.SSLContext:
    made = ssl.create_default_context()
    AUTHORITY.configure_trust(made)
    if shows is not None:
        shows.configure_cert(made)
    if version is not None:
        made.minimum_version = made.maximum_version = version
    return made


async def asks(server: Server, tls: ssl.SSLContext) -> str:
    """Request the API versions and return the principal, or raise without a response."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.cluster.nodes[0].port, ssl=tls)
    try:
        writer.write(frame("api_versions", 0, 7))
        size = int.from_bytes(await reader.readexactly(4), "big")
        assert (await reader.readexactly(size))[:4] == (7).to_bytes(4, "big")
        (connection,) = server.connections
        return str(connection.principal)
    finally:
        writer.close()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_certificate_names_principal(settings: dict[str, str], version: ssl.TLSVersion) -> None:
    async with serving(settings) as server:
        assert await asks(server, context(ALICE, version)) == "User:alice"
        await asyncio.sleep(0)
        server.connections.clear()
        assert await asks(server, context(None, version)) == "User:ANONYMOUS"


@pytest.mark.parametrize("auth", ["requested", "required"])
async def test_unknown_authority_closes_connection(settings: dict[str, str], auth: str) -> None:
    stranger = trustme.CA().issue_cert(common_name="Alice")
    async with serving(settings | {"ssl.client.auth": auth}) as server:
        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
            await asks(server, context(stranger))
        assert not server.connections


async def test_required_client_certificate(settings: dict[str, str]) -> None:
    async with serving(settings | {"ssl.client.auth": "required"}) as server:
        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
            await asks(server, context())


async def test_unmapped_name_closes_connection(settings: dict[str, str]) -> None:
    other = AUTHORITY.issue_cert(common_name="x")
    async with serving(settings) as server:
        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
            await asks(server, context(other))


async def test_old_tls_version_is_rejected(settings: dict[str, str]) -> None:
    async with serving(settings | {"ssl.enabled.protocols": "TLSv1.3"}) as server:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asks(server, context(None, ssl.TLSVersion.TLSv1_2))


@pytest.mark.parametrize(
    "garbage", [b"\0\0\0\x0a" + bytes(10), b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff" + bytes(70_000)]
)
async def test_garbage_handshake_is_closed(settings: dict[str, str], garbage: bytes) -> None:
    async with serving(settings) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.cluster.nodes[0].port)
        writer.write(garbage)
        await asyncio.gather(reader.read(), return_exceptions=True)
        writer.close()
        assert not server.connections
        assert await asks(server, context(ALICE)) == "User:alice"


async def test_stalled_handshake_is_closed(settings: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "HANDSHAKE_S", 0.2)
    async with serving(settings) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.cluster.nodes[0].port)
        assert await asks(server, context(ALICE)) == "User:alice"
        await asyncio.gather(reader.read(), return_exceptions=True)
        writer.close()


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"ssl.keystore.location": ""}, "listeners has SSL, which uses TLS, but ssl.keystore.location is not set"),
        ({"ssl.keystore.location": "/nowhere"}, "ssl.keystore.location: /nowhere cannot be read: No such file"),
        ({"ssl.keystore.type": "DER"}, "ssl.keystore.type=DER: must be one of JKS, PKCS12, PEM"),
        ({"ssl.keystore.type": "JKS"}, "is a PEM file; set its type to PEM"),
        ({"ssl.keystore.location": "{ca}"}, "holds no private key in PEM"),
        (
            {"ssl.truststore.location": ""},
            "ssl.client.auth requests certificates, but ssl.truststore.location is not",
        ),
        ({"ssl.client.auth": "perhaps"}, "ssl.client.auth=perhaps: must be one of none, requested, required"),
        ({"ssl.enabled.protocols": "TLSv1.1"}, "ssl.enabled.protocols contains 'TLSv1.1'; supported: TLSv1.2 and"),
        ({"ssl.principal.mapping.rules": "RULE:x"}, "ssl.principal.mapping.rules has a rule that cannot be read"),
        ({"ssl.keystore.key": "x"}, "ssl.keystore.key and ssl.keystore.certificate.chain must be set together"),
        ({"listener.name.ssl.ssl.keystore.location": "/nowhere"}, "listener.name.ssl.ssl.keystore.location: /nowhere"),
    ],
)
def test_startup_errors_are_reported(settings: dict[str, str], changed: dict[str, str], sentence: str) -> None:
    changed = {name: value.replace("{ca}", settings["ssl.truststore.location"]) for name, value in changed.items()}
    with pytest.raises(SettingError) as refusal:
        Securing(Settings(settings | changed), 1, time.time())
    assert sentence in str(refusal.value)


def test_inline_key_and_chain(settings: dict[str, str]) -> None:
    del settings["ssl.keystore.location"]
    settings["ssl.keystore.key"] = BROKER.private_key_pem.bytes().decode()
    settings["ssl.keystore.certificate.chain"] = BROKER.cert_chain_pems[0].bytes().decode()
    Securing(Settings(settings), 1, time.time())


def test_expired_certificate(settings: dict[str, str]) -> None:
    expired = AUTHORITY.issue_cert("127.0.0.1", not_after=datetime(2020, 1, 2, tzinfo=UTC))
    expired.private_key_and_cert_chain_pem.write_to_path(settings["ssl.keystore.location"])
    with pytest.raises(
        SettingError, match=r"ssl.keystore.location: .*broker.pem has a certificate that expired on 2020"
    ):
        Securing(Settings(settings), 1, time.time())
