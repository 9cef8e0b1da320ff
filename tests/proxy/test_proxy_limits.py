"""Limits of the cost of one client, and access to the account of the proxy."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kohort.base.logs import log
from kohort.broker.runtime.server import ListenError
from kohort.client.security import OPEN, Security
from kohort.proxy.client_side import ClientSide
from kohort.proxy.proxy_run import Options, check_account
from kohort.proxy.proxy_server import ProxyServer
from kohort.proxy.relay import MAX_UNANSWERED
from tests.proxy.proxied import proxied, until
from tests.support.frames import heartbeat

pytestmark = pytest.mark.timeout(120)


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[ProxyServer, ClientSide, socket.socket, asyncio.StreamWriter]]:
    """Yield a proxy, a client's connection and the client's socket. Its node reads everything and never responds."""
    nodes: list[asyncio.StreamWriter] = []

    async def read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nodes.append(writer)
        while await reader.read(1 << 20):
            pass

    node = await asyncio.start_server(read, "127.0.0.1", 0)
    async with proxied(node.sockets[0].getsockname()[1]) as proxy:
        with socket.create_connection(("127.0.0.1", proxy.port)) as client:
            client.setblocking(False)
            await until(lambda: proxy.clients and nodes)
            (connection,) = proxy.clients
            yield proxy, connection, client, nodes[0]
    node.close()


async def test_client_with_unanswered_requests_is_paused() -> None:
    async with connected() as (_, connection, client, _):
        sent = heartbeat(1) * (MAX_UNANSWERED + 100)
        await asyncio.get_running_loop().sock_sendall(client, sent)
        relay = connection._relay
        await until(lambda: relay.waiting == MAX_UNANSWERED)
        await until(lambda: relay.held_bytes == 100 * len(heartbeat(1)))
        assert not connection._is_reading


async def test_client_that_leaves_unread_is_noticed() -> None:
    async with connected() as (proxy, connection, client, _):
        await asyncio.get_running_loop().sock_sendall(client, heartbeat(1) * (MAX_UNANSWERED + 100))
        await until(lambda: connection._relay.blocked)
        client.close()
        await asyncio.sleep(0)
        proxy.paused.look(0)
        await until(lambda: not proxy.clients)
        assert (connection._relay.waiting, connection.held_bytes) == (0, 0)


async def test_responses_release_waiting_requests() -> None:
    async with connected() as (_, connection, client, node):
        await asyncio.get_running_loop().sock_sendall(client, heartbeat(1) * (MAX_UNANSWERED + 100))
        await until(lambda: connection._relay.blocked)
        node.write(b"\0\0\0\4\0\0\0\1" * MAX_UNANSWERED)
        await until(lambda: connection._relay.waiting == 100)
        await until(lambda: connection._is_reading)
        node.write(b"\0\0\0\4\0\0\0\1" * 100)
        await until(lambda: not connection._relay.waiting)


async def test_rules_wait_for_unread_responses() -> None:
    async with connected() as (proxy, connection, client, _):
        rule = proxy.laboratory.faults.on("Heartbeat").error("UNKNOWN_SERVER_ERROR")
        connection.pause_writing()  # as when more than UNWRITTEN_BYTES are unread
        await asyncio.get_running_loop().sock_sendall(client, heartbeat(1) * 10)
        connection.read_on()
        await until(lambda: connection.held_bytes == 10 * len(heartbeat(1)))
        assert rule.seen == 0
        connection.resume_writing()
        await until(lambda: rule.acted == 10)


ACCOUNT = Security("SASL_PLAINTEXT", "PLAIN", "admin", "secret")
CERTIFICATE = Security("SSL", certificate="a chain and a key")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "nowhere.invalid"])
@pytest.mark.parametrize("security", [ACCOUNT, CERTIFICATE])
def test_account_is_not_shared_without_consent(host: str, security: Security) -> None:
    with pytest.raises(ListenError, match=r"rights of the account .* or consent with --share-account"):
        check_account(Options([("127.0.0.1", 1)], host, 9092, security))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost"])
def test_account_is_shared_on_loopback(host: str) -> None:
    check_account(Options([("127.0.0.1", 1)], host, 9092, ACCOUNT))


@pytest.mark.parametrize("security", [OPEN, Security("SSL")])
def test_proxy_without_account_listens_anywhere(security: Security) -> None:
    check_account(Options([("127.0.0.1", 1)], "0.0.0.0", 9092, security))


def test_shared_account_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(log, "warning", lines.append)
    check_account(Options([("127.0.0.1", 1)], "0.0.0.0", 9092, ACCOUNT, shares_account=True))
    assert lines == [
        "every client that reaches 0.0.0.0:9092 has the rights of the account in the --command-config file"
    ]
