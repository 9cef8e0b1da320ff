"""Existing cluster behind a proxy, for the duration of a `with` block."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from kohort.base.address import AddressError, parse_address
from kohort.base.clock import SystemClock
from kohort.base.forking import FORKED, unwatch_forks, watch_forks
from kohort.base.logs import log
from kohort.client.client_connection import BrokerError
from kohort.client.security import OPEN, SecurityError, from_file
from kohort.control.control_errors import ControlError, unknown
from kohort.control.suggesting import suggest_names
from kohort.proxy.proxy_server import ProxyServer
from kohort.testing.left_held import report
from kohort.testing.secured import ADDRESSES_NAME, LIBRARIES

if TYPE_CHECKING:
    from kohort.control.faults.table import Faults
    from kohort.control.gates.gates import Gates
    from kohort.proxy.observed.proxy_group import ProxyGroup
    from kohort.testing.remote import InThread
    from kohort.testing.sync import SyncProxy


@suggest_names
class Proxy:
    """Proxy in front of a cluster, kohort's or any other Kafka, with the laboratory's rules and gates.

    Use it with `async with` in the event loop of the test, or with `with`, which runs it in a thread.
    """

    def __init__(self, bootstrap: str, *, command_config: str | Path | None = None) -> None:
        """Set up a proxy without starting it.

        Args:
            bootstrap: HOST:PORT, several with commas.
            command_config: Kafka's client properties for TLS and a login.

        Raises:
            ControlError: An address is invalid, or the file can't be used.
        """
        try:
            self._addresses = [parse_address(address.strip()) for address in bootstrap.split(",")]
            self._security = OPEN if command_config is None else from_file(Path(command_config))
        except (AddressError, SecurityError) as problem:
            raise ControlError(str(problem)) from None
        self._server: ProxyServer | None = None
        self._runs = False
        self._is_forked = False
        self._in_thread: InThread | None = None

    async def start(self) -> None:
        """Connect to the cluster and start listening, as `async with` does.

        Raises:
            ControlError: No broker accepts the proxy.
            RuntimeError: The proxy is running.
        """
        if self._runs:
            raise RuntimeError("the proxy is running already; create another one, or leave its block first")
        log.configure(level="warning")
        server = ProxyServer(self._addresses, asyncio.get_running_loop(), SystemClock(), self._security)
        try:
            await server.reach()
        except BrokerError as problem:
            raise ControlError(str(problem)) from None
        server.look_at_groups()
        await server.listen("127.0.0.1", 0)
        self._server = server
        self._runs = True
        watch_forks(self)

    async def stop(self) -> list[str]:
        """Close all connections, as the end of `async with` does. Return a line for each gate that was still held."""
        held_gates = self._started.laboratory.lift()
        self._started.laboratory.waiters.close("the proxy has ended; call it before its block or its test ends")
        self._started.stop()
        self._runs = False
        unwatch_forks(self)
        await asyncio.sleep(0)  # lets the loop close the closed transports
        return held_gates

    def on_forked(self) -> tuple[()]:
        """Make all calls fail in a forked child, whose server closes the sockets."""
        self._started.laboratory.waiters.close(FORKED)
        self._is_forked = True
        return ()

    @property
    def _started(self) -> ProxyServer:
        if self._is_forked:
            raise RuntimeError(FORKED)
        if self._server is None:
            raise RuntimeError("the proxy has not started; use it within `async with Proxy(…) as kafka:`")
        return self._server

    @property
    def bootstrap(self) -> str:
        """Value of `bootstrap.servers`."""
        return self._started.address

    def client_config(
        self, user: str = "alice", *, library: str = "confluent-kafka", mechanism: str = "SCRAM-SHA-512"
    ) -> dict[str, Any]:
        """Return the settings that a client needs to connect, with the same arguments as `Cluster.client_config`.

        They only have the address, because clients connect in plaintext. A client that logs in itself adds its login.
        """
        if library not in LIBRARIES:
            raise unknown("library", library, LIBRARIES)
        return {ADDRESSES_NAME[library]: self.bootstrap}

    @property
    def nodes(self) -> list[int]:
        """Ids of the brokers that clients know."""
        return self._started.nodes

    @property
    def faults(self) -> Faults:
        """Rules that change requests and responses."""
        return self._started.laboratory.faults

    def group(self, group_id: str) -> ProxyGroup:
        """Return a group as far as its members connect through this proxy; it need not exist."""
        return self._started.laboratory.group_seen(group_id)

    @property
    def groups(self) -> list[ProxyGroup]:
        """All observed groups, sorted by id."""
        laboratory = self._started.laboratory
        return [laboratory.group_seen(group_id) for group_id in laboratory.group_ids()]

    @property
    def gates(self) -> Gates:
        """Gates at which requests wait for the test."""
        return self._started.laboratory.gates

    def __repr__(self) -> str:
        return (
            "<a proxy that is not running>" if self._server is None or self._is_forked else f"<proxy {self.bootstrap}>"
        )

    # As a context

    async def __aenter__(self) -> Proxy:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        report(await self.stop())

    def __enter__(self) -> SyncProxy:
        """Start the proxy in a thread; its methods need no `await` (`kohort.testing.remote`)."""
        from kohort.testing.remote import InThread

        runner = InThread(self)
        entered: SyncProxy = runner.start()
        self._in_thread = runner
        return entered

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._in_thread is not None, "it was entered"
        report(self._in_thread.stop())
