"""Lets the control address be reached: uvicorn inside the broker's own event loop, so that nothing needs a lock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from kohort.broker.address import show_address
from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.broker.forking import Address, unwatch_forks, watch_forks
from kohort.broker.logs import log
from kohort.broker.runtime.server import ListenError, Server, bind
from kohort.control.app import make_app
from kohort.control.impatient import ImpatientProtocol
from kohort.control.lab_clock import LabClock
from kohort.control.laboratory import Laboratory
from kohort.control.loopback import is_loopback
from kohort.control.safety import Budget

LAST_WORDS_S = 1
"""How long requests under way may take when the broker stops."""


class Control:
    """A broker's control address, and the laboratory behind it. See `kohort.broker.runtime.run.Control`."""

    def __init__(
        self, host: str, port: int, token: str = "", names: Iterable[str] = (), certificate: Path | None = None
    ) -> None:
        """`names`: what else it is dialled by. `certificate`: a PEM file with its key, for HTTPS.

        Raises ListenError where others could reach it without a token, and for a certificate that cannot be used.
        """
        if certificate is not None:
            check_certificate(certificate)
        if not token and not is_loopback(host):
            raise ListenError(
                f"whoever reaches {show_address(host, port)} could control this broker; set a token with "
                "KOHORT_CONTROL_TOKEN, or listen on this machine alone, as in --control 127.0.0.1:9099"
            )
        self._host, self._port, self._token, self._names = host, port, token, tuple(names)
        self._certificate = certificate
        self.clock = LabClock(log.clock)

    def attach(self, cluster: BrokerCluster) -> None:
        """Makes the laboratory of a cluster."""
        self._laboratory = Laboratory(cluster, self.clock)

    def serve(self, server: Server) -> AbstractAsyncContextManager[str]:
        """Serves the control address while it is entered; yields it as `HOST:PORT`, with `https://` before it for TLS.

        Raises ListenError.
        """
        self._laboratory.attach(server)
        self._laboratory.watch_safety(Budget())
        app = make_app(server, self._token, self._laboratory, host=self._host, names=self._names)
        return serve(app, self._host, self._port, self._certificate)


@asynccontextmanager
async def serve(app: FastAPI, host: str, port: int, certificate: Path | None = None) -> AsyncIterator[str]:
    """The control address in the broker's event loop. Raises ListenError."""
    sockets = bind(host, port)
    config = uvicorn.Config(
        app,
        log_config=None,
        # Who does not speak HTTP, as `kohort watch` at first, is hung up on, and no more; app.py logs our mistakes.
        log_level="critical",
        access_log=False,
        lifespan="off",
        loop="none",
        http=ImpatientProtocol,
        ws="none",
        timeout_graceful_shutdown=LAST_WORDS_S,
        ssl_certfile=certificate,
    )
    http = _Guest(config)
    listening = _Listening([socket.getsockname()[:2] for socket in sockets])
    watch_forks(listening)
    serving = asyncio.create_task(http.serve(sockets=sockets))
    while not http.started and not serving.done():
        await asyncio.sleep(0.001)
    try:
        where = show_address(host, sockets[0].getsockname()[1])
        yield where if certificate is None else f"https://{where}"
    finally:
        http.should_exit = True
        await serving
        unwatch_forks(listening)


def check_certificate(file: Path) -> None:
    """Raises ListenError for a file without a certificate, without its key, or with one that a password protects."""
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(file, password="")
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else problem
        raise ListenError(
            f"--control-certificate {file} cannot be used: {reason}; it is a PEM file with a certificate and its key, "
            "which no password protects"
        ) from None


class _Listening:
    """The local addresses of a control address, which a forked child must close."""

    def __init__(self, addresses: list[Address]) -> None:
        self._addresses = addresses

    def on_forked(self) -> list[Address]:
        return self._addresses


class _Guest(uvicorn.Server):
    """A server that leaves signals to the broker."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
