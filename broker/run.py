"""From settings to a broker that serves, and back."""

from __future__ import annotations

import asyncio
import gc
import resource
import signal
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import uvloop

from kohort.broker.address import reachable, show_address
from kohort.broker.clock import Clock
from kohort.broker.cluster import Cluster
from kohort.broker.logs import log
from kohort.broker.registry import Registry
from kohort.broker.server import Server
from kohort.broker.settings import Settings

RENDER_LOGS_AFTER_S = 0.25
"""How long the first log lines wait: the first member joins before structlog is loaded, not after it."""

GARBAGE_THRESHOLDS = (2_000, 5, 1_000)
"""Nearly everything here dies by reference count: with 10,000 members joined, a full collection took 40 ms and found
nothing, and heartbeats waited. So the young are looked at in small portions (a millisecond), the old hardly ever."""


class Control(Protocol):
    """What `--control` adds to a broker. Its room is above this one, so it is only named here."""

    clock: Clock
    """The brokers', for whoever controls them to move."""

    def registry(self, cluster: Cluster) -> Registry:
        """The APIs, behind what may hold or spoil their requests."""
        ...

    def serve(self, server: Server) -> AbstractAsyncContextManager[str]:
        """Serves the control address while it is entered, and yields where that is."""
        ...


def run(
    settings: Settings,
    host: str,
    port: int,
    nodes: int,
    advertise: str,
    control: Control | None = None,
    event_log: Path | None = None,
) -> None:
    """Serves until SIGINT or SIGTERM. `event_log`: where group events go. Raises ListenError, EventLogError."""
    raise_file_limit()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, host, port, nodes, advertise, control, event_log))


async def _serve(
    settings: Settings,
    host: str,
    port: int,
    nodes: int,
    advertise: str,
    control: Control | None,
    event_log: Path | None,
) -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(_caught_by_loop)
    for name in settings.ignored:
        log.info(f"{name} has no meaning here", setting=name)
    clock = log.clock if control is None else control.clock
    cluster = Cluster(settings, clock, nodes, advertise=advertise)
    registry = Registry() if control is None else control.registry(cluster)
    with _events_written(cluster, event_log, loop):
        await _until_stopped(cluster, Server(cluster, registry, loop), host, port, control)


async def _until_stopped(cluster: Cluster, server: Server, host: str, port: int, control: Control | None) -> None:
    loop = server.loop
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    await server.listen(host, port)
    if cluster.settings.kohort_offsets_topic_at_start:
        cluster.offsets_topic.create(cluster.clock.now_ms())
    log.later = lambda flush: loop.call_later(RENDER_LOGS_AFTER_S, flush)
    try:
        told = cluster.advertise or reachable(host)
        ready = "READY bootstrap=" + ",".join(show_address(told, node.port) for node in cluster.nodes)
        async with AsyncExitStack() as open_:
            if control is not None:
                ready += f" control={await open_.enter_async_context(control.serve(server))}"
            print(ready, flush=True)
            collect_garbage_seldom()
            await stopped.wait()
        log.info("stopped")
    finally:
        log.later = None
        server.stop()
        log.flush()


@contextmanager
def _events_written(cluster: Cluster, directory: Path | None, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    if directory is None:
        yield
        return
    from kohort.broker.event_log import written

    with written(cluster, directory, loop.call_later):
        yield


def _caught_by_loop(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What slipped through everything else; the connection it came from is gone, the others are not."""
    log.error(context["message"], context.get("exception"))


def raise_file_limit() -> None:
    """As many open connections as the system lets us have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def collect_garbage_seldom() -> None:
    """What is loaded stays, and need not be looked at again; of the rest little is garbage."""
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    gc.enable()
