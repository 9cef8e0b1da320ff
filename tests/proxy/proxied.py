"""A proxy in front of something, for as long as a block lasts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from kohort.base.clock import SystemClock
from kohort.client import sasl
from kohort.client.security import OPEN, Security
from kohort.protocol.wire import INT, SHORT
from kohort.proxy.proxy_server import ProxyServer
from kohort.testing import Cluster, Proxy
from tests.support.wires import Waiting


@asynccontextmanager
async def proxied(*ports: int, security: Security = OPEN) -> AsyncIterator[ProxyServer]:
    """Yield a proxy before servers on ports of this machine."""
    where = [("127.0.0.1", port) for port in ports]
    proxy = ProxyServer(where, asyncio.get_running_loop(), SystemClock(), security)
    await proxy.listen("127.0.0.1", 0)
    try:
        yield proxy
    finally:
        proxy.stop()


async def wire_to(where: Cluster | Proxy) -> Waiting:
    """Return a client's connection to a cluster, or through a proxy."""
    return await Waiting.to(int(where.bootstrap.rpartition(":")[2]))


async def until(condition: Callable[[], object], timeout_s: float = 30) -> None:
    """Wait for a condition that depends on sockets."""
    async with asyncio.timeout(timeout_s):
        while not condition():
            await asyncio.sleep(0.001)


async def log_in(wire: Waiting, security: Security) -> None:
    """Log in with the client's own credentials."""
    talk = sasl.log_in(security, 1)
    key, version, body = next(talk)
    while True:
        data = SHORT.pack(key) + SHORT.pack(version) + INT.pack(1) + SHORT.pack(-1) + body
        answer = await wire.exchanges(INT.pack(len(data)) + data)
        try:
            key, version, body = talk.send(answer[4:])
        except StopIteration:
            return
