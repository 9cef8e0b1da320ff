"""A cluster that is there already, through a proxy, for as long as a `with` block lasts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from kohort.broker.address import AddressError, parse_address
from kohort.broker.clock import SystemClock
from kohort.broker.forking import FORKED, unwatch_forks, watch_forks
from kohort.broker.logs import log
from kohort.client.client_connection import BrokerError
from kohort.client.security import OPEN, SecurityError, from_file
from kohort.control.control_errors import ControlError, unknown
from kohort.proxy.proxy_server import ProxyServer
from kohort.testing.left_held import report
from kohort.testing.secured import ADDRESSES_NAME, LIBRARIES

if TYPE_CHECKING:
    from kohort.control.faults.table import Faults
    from kohort.control.gates import Gates
    from kohort.proxy.seen.proxy_group import ProxyGroup
    from kohort.testing.remote import InThread
    from kohort.testing.sync import SyncProxy


class Proxy:
    """Stands before a cluster, of kohort or any other Kafka, with the laboratory's rules and gates.

    Use it with `async with`, in the event loop that the test runs in, or with `with`, which runs it in a thread.
    """

    def __init__(self, bootstrap: str, *, command_config: str | Path | None = None) -> None:
        """`bootstrap`: HOST:PORT, several with commas. `command_config`: Kafka's client properties for TLS and a login.

        Raises ControlError for what is no address, or no such file.
        """
        try:
            self._where = [parse_address(each.strip()) for each in bootstrap.split(",")]
            self._security = OPEN if command_config is None else from_file(Path(command_config))
        except (AddressError, SecurityError) as problem:
            raise ControlError(str(problem)) from None
        self._server: ProxyServer | None = None
        self._runs = False
        self._is_forked = False
        self._in_thread: InThread | None = None

    async def start(self) -> None:
        """What `async with` does first.

        Raises ControlError if no broker lets the proxy in, and RuntimeError if the proxy runs already.
        """
        if self._runs:
            raise RuntimeError("the proxy runs already; make another one, or leave its block first")
        log.configure(level="warning")
        server = ProxyServer(self._where, asyncio.get_running_loop(), SystemClock(), self._security)
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
        """What `async with` does last. Returns a line for each gate that was still held."""
        left = self._started.laboratory.lift()
        self._started.laboratory.waiters.close("the proxy has ended; call it before its block or its test ends")
        self._started.stop()
        self._runs = False
        unwatch_forks(self)
        await asyncio.sleep(0)  # lets the loop close what was closed
        return left

    def on_forked(self) -> tuple[()]:
        """Let all calls fail in a forked child; its server closes the sockets."""
        self._started.laboratory.waiters.close(FORKED)
        self._is_forked = True
        return ()

    @property
    def _started(self) -> ProxyServer:
        if self._is_forked:
            raise RuntimeError(FORKED)
        if self._server is None:
            raise RuntimeError("the proxy has not started; ask it within `async with Proxy(…) as kafka:`")
        return self._server

    @property
    def bootstrap(self) -> str:
        """What clients call `bootstrap.servers`."""
        return self._started.address

    def client_config(
        self, user: str = "alice", *, library: str = "confluent-kafka", mechanism: str = "SCRAM-SHA-512"
    ) -> dict[str, Any]:
        """What a client needs to come in, in the words of its `library`, as of `Cluster.client_config`.

        It is the address alone, whoever comes: clients speak plainly. A login that is passed on is theirs to add.
        """
        if library not in LIBRARIES:
            raise unknown("library", library, LIBRARIES)
        return {ADDRESSES_NAME[library]: self.bootstrap}

    @property
    def nodes(self) -> list[int]:
        """The ids of the brokers that clients have heard of."""
        return self._started.nodes

    @property
    def faults(self) -> Faults:
        """Rules that spoil requests."""
        return self._started.laboratory.faults

    def group(self, group_id: str) -> ProxyGroup:
        """A group, as far as its members speak through this proxy; asked for before it exists, or afterwards."""
        return self._started.laboratory.group_seen(group_id)

    @property
    def groups(self) -> list[ProxyGroup]:
        """Those that have been heard of, by their ids."""
        laboratory = self._started.laboratory
        return [laboratory.group_seen(each) for each in laboratory.group_ids()]

    @property
    def gates(self) -> Gates:
        """Stops at which requests wait for the test."""
        return self._started.laboratory.gates

    def __repr__(self) -> str:
        return "<a proxy that does not run>" if self._server is None or self._is_forked else f"<proxy {self.bootstrap}>"

    # As a context

    async def __aenter__(self) -> Proxy:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        report(await self.stop())

    def __enter__(self) -> SyncProxy:
        """A proxy with the same methods, without `await`; see `kohort.testing.remote`."""
        from kohort.testing.remote import InThread

        runner = InThread(self)
        entered: SyncProxy = runner.start()
        self._in_thread = runner
        return entered

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._in_thread is not None, "it was entered"
        report(self._in_thread.stop())
