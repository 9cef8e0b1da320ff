"""Server of the control address: uvicorn inside the broker's own event loop, so that no locks are needed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from kohort.base.address import show_address
from kohort.base.forking import Address, unwatch_forks, watch_forks
from kohort.base.logs import log
from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.broker.runtime.server import ListenError, Server, bind
from kohort.control.clock.lab_clock import LabClock
from kohort.control.http.app import make_app
from kohort.control.http.impatient import ImpatientProtocol
from kohort.control.http.loopback import is_loopback
from kohort.control.http.metrics import Metrics
from kohort.control.laboratory import Laboratory
from kohort.control.oracle.safety import Budget

LAST_WORDS_S = 1  # Time for running requests when the broker stops.


class Control:
    """The control address of a broker, with its laboratory. See `kohort.broker.runtime.run.Control`."""

    def __init__(
        self, host: str, port: int, token: str = "", names: Iterable[str] = (), certificate: Path | None = None
    ) -> None:
        """Check the address and the certificate.

        Args:
            names: Further host names that clients use.
            certificate: PEM file with certificate and key, for HTTPS.

        Raises:
            ListenError: Other machines can reach the address without a token, or the certificate is unusable.
        """
        if certificate is not None:
            check_certificate(certificate)
        if not token and not is_loopback(host):
            raise ListenError(
                f"any client that reaches {show_address(host, port)} could control this broker; set a token with "
                "KOHORT_CONTROL_TOKEN, or listen on loopback only, as in --control 127.0.0.1:9099"
            )
        self._host, self._port, self._token, self._names = host, port, token, tuple(names)
        self._certificate = certificate
        self.clock = LabClock(log.clock)

    def attach(self, cluster: BrokerCluster) -> None:
        self._laboratory = Laboratory(cluster, self.clock)
        self._metrics = Metrics(cluster)

    def serve(self, server: Server) -> AbstractAsyncContextManager[str]:
        self._laboratory.attach(server)
        self._laboratory.watch_safety(Budget())
        app = make_app(server, self._token, self._laboratory, host=self._host, names=self._names)
        app.state.metrics = self._metrics  # counts from the start of the broker
        return serve(app, self._host, self._port, self._certificate)


@asynccontextmanager
async def serve(app: FastAPI, host: str, port: int, certificate: Path | None = None) -> AsyncIterator[str]:
    sockets = bind(host, port)
    config = uvicorn.Config(
        app,
        log_config=None,
        # Clients that do not speak HTTP, such as an early `kohort watch`, are only disconnected; app.py logs our bugs.
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
        address = show_address(host, sockets[0].getsockname()[1])
        yield address if certificate is None else f"https://{address}"
    finally:
        http.should_exit = True
        await serving
        unwatch_forks(listening)


def check_certificate(file: Path) -> None:
    """Raise ListenError for a file without certificate or key, or with an encrypted key."""
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(file, password="")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise ListenError(
            f"cannot use --control-certificate {file}: {reason}; it must be a PEM file with a certificate and its key, "
            "without a password"
        ) from None


class _Listening:
    """Sockets that listen at a control address, which a forked child must close."""

    def __init__(self, addresses: list[Address]) -> None:
        self._addresses = addresses

    def on_forked(self) -> list[Address]:
        return self._addresses


class _Guest(uvicorn.Server):
    """A uvicorn server that leaves signals to the broker."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
