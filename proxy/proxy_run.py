"""The proxy as a process of its own, from its start to Ctrl-C."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

import uvloop

from kohort.base.address import show_address
from kohort.base.clock import SystemClock
from kohort.base.logs import LibraryLines, log
from kohort.broker.runtime.memory_trimmer import trim_memory_at_rest
from kohort.broker.runtime.run import announce, collect_garbage_seldom, raise_file_limit
from kohort.broker.runtime.server import ListenError
from kohort.broker.scheduling.worker_thread import WorkerThread
from kohort.client.security import OPEN, Security
from kohort.control.http.loopback import is_loopback
from kohort.proxy.proxy_server import ProxyServer
from kohort.proxy.talk.talk_writer import recording


class ControlAddress(NamedTuple):
    """Address of the HTTP control API."""

    host: str
    port: int
    token: str = ""


class Options(NamedTuple):
    """Options of a proxy."""

    bootstrap: Sequence[tuple[str, int]]
    host: str
    port: int
    security: Security = OPEN
    control: ControlAddress | None = None
    event_log: Path | None = None
    record: Path | None = None  # file to which the group conversation is written
    chosen_ports: Mapping[int, int] = {}
    shares_account: bool = False
    """Whether clients of other machines may have the rights of the account in `security`."""


def run(options: Options) -> None:
    """Serve until SIGINT or SIGTERM.

    Raises:
        BrokerError: No broker responds.
        ListenError, SecurityError, EventLogError, RecordError: An option can't be used.
    """
    check_account(options)
    raise_file_limit()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(options))


def check_account(options: Options) -> None:
    """Raise ListenError if other machines would have the rights of the account without consent; else log it."""
    if not options.security.has_account or is_loopback(options.host):
        return
    address = show_address(options.host, options.port)
    if not options.shares_account:
        raise ListenError(
            f"every client that reaches {address} would have the rights of the account in the --command-config file; "
            "listen on this machine alone, as in --listen 127.0.0.1:9092, or consent with --share-account"
        )
    log.warning(f"every client that reaches {address} has the rights of the account in the --command-config file")


async def _serve(options: Options) -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(_caught_by_loop)
    logging.getLogger().addHandler(LibraryLines(logging.WARNING))
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    server = ProxyServer(options.bootstrap, loop, SystemClock(), options.security, options.chosen_ports)
    try:
        await _reached(server, stopped)
        if stopped.is_set():
            return
        async with AsyncExitStack() as open_:
            if options.record is not None:
                open_.enter_context(recording(server.tap, options.record))
            await server.listen(options.host, options.port)
            if options.event_log is not None:
                jobs = WorkerThread(loop, "event-log")
                open_.enter_context(server.look_at_groups().written(options.event_log, loop.call_later, jobs))
            ready = f"READY bootstrap={server.address}"
            if options.control is not None:
                from kohort.proxy.proxy_control import served

                server.look_at_groups()
                ready += f" control={await open_.enter_async_context(served(server.laboratory, *options.control))}"
            announce(ready, loop)
            collect_garbage_seldom()
            trim_memory_at_rest(loop)
            await stopped.wait()
        log.info("stopped")
    finally:
        server.stop()
        log.flush()


async def _reached(server: ProxyServer, stopped: asyncio.Event) -> None:
    """Wait until the cluster has responded or the proxy is stopped. Raise BrokerError if it can't be reached."""
    reaching, ended = asyncio.ensure_future(server.reach()), asyncio.ensure_future(stopped.wait())
    await asyncio.wait({reaching, ended}, return_when=asyncio.FIRST_COMPLETED)
    ended.cancel()
    if reaching.done():
        reaching.result()
    else:
        reaching.cancel()


def _caught_by_loop(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an exception that no connection has handled. Its connection is closed, the others are not affected."""
    log.error(context["message"], context.get("exception"))
