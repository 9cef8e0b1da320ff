"""Lets the control address be reached: uvicorn inside the broker's own event loop, so that nothing needs a lock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn

from kohort.broker.address import show_address
from kohort.broker.logs import log
from kohort.broker.server import Server, bind
from kohort.control.app import make_app

LAST_WORDS_S = 1
"""How long requests under way may take when the broker stops."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@asynccontextmanager
async def control(server: Server, host: str, port: int, token: str) -> AsyncIterator[str]:
    """Serves the control address; yields it as `HOST:PORT`. Raises ListenError."""
    if host not in LOOPBACK and not token:
        log.warning(f"whoever reaches {host or 'this machine'} may control this broker; set KOHORT_CONTROL_TOKEN")
    sockets = bind(host, port)
    config = uvicorn.Config(
        make_app(server, token),
        log_config=None,
        access_log=False,
        lifespan="off",
        loop="none",
        ws="none",
        timeout_graceful_shutdown=LAST_WORDS_S,
    )
    http = _Guest(config)
    serving = asyncio.create_task(http.serve(sockets=sockets))
    while not http.started and not serving.done():
        await asyncio.sleep(0.001)
    try:
        yield show_address(host, sockets[0].getsockname()[1])
    finally:
        http.should_exit = True
        await serving


class _Guest(uvicorn.Server):
    """A server that leaves signals to the broker."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
