"""Running a broker, from its settings to its end."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import asyncio
import gc
import logging
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import uvloop

from kohort.base.address import reachable, show_address
from kohort.base.clock import Clock
from kohort.base.line_writer import LineWriter
from kohort.base.logs import LibraryLines, log
from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.broker.cluster.initial_topics import NewTopic, create_topics
from kohort.broker.runtime.listener import Entrances, Listener
from kohort.broker.runtime.memory_trimmer import trim_memory_at_rest
from kohort.broker.runtime.ready_file import ready_file
from kohort.broker.runtime.registry import Registry
from kohort.broker.runtime.server import Server
from kohort.broker.scheduling.loading_ahead import LoadingAhead
from kohort.broker.scheduling.worker_thread import WorkerThread
from kohort.broker.settings.broker_settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from kohort.storage.disk.directory import DataDirectory

STDOUT = 1

# delay of the first log lines: the first member joins before structlog is imported, not after it
RENDER_LOGS_AFTER_S = 0.25

GARBAGE_THRESHOLDS = (2_000, 5, 1_000)
"""Nearly all objects are freed by reference counts. With 10,000 members, a full collection took 40 ms, found nothing,
and delayed heartbeats. So young objects are collected in small portions (a millisecond), old ones rarely.
"""


class Control(Protocol):
    """What `--control` adds to a broker. Its package is above this one, so only its interface is here."""

    @property
    def clock(self) -> Clock: ...

    def attach(self, cluster: BrokerCluster) -> None:
        """Install the hooks (`BrokerHooks`), before the first connection."""
        ...

    def serve(self, server: Server) -> AbstractAsyncContextManager[str]:
        """Serve the control address within the context, which yields it."""
        ...


class Places(NamedTuple):
    """Paths of a broker's files; None for none."""

    event_log: Path | None = None  # file of group events
    data_dir: Path | None = None  # directory of logs; None keeps them in memory
    fsync: str = "never"  # when they are synced; one of `syncing.FSYNC`
    # whether topics are restored from the folders in the data directory if the journal is lost
    restore_topics: bool = False
    ready_file: Path | None = None  # file with the listening addresses


NOWHERE = Places()


def run(
    settings: Settings,
    entrances: Entrances,
    nodes: int,
    control: Control | None = None,
    places: Places = NOWHERE,
    topics: Sequence[NewTopic] = (),
) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        topics: Topics that are created before the first connection, unless they exist.

    Raises:
        ListenError: If an address cannot be listened on.
        EventLogError: If the event log cannot be written.
        DataDirectoryError: If the data directory cannot be used.
        TopicError: If a topic cannot be created.
    """
    raise_file_limit()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, entrances, nodes, control, places, topics))


async def _serve(
    settings: Settings,
    entrances: Entrances,
    nodes: int,
    control: Control | None,
    places: Places,
    topics: Sequence[NewTopic],
) -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(_caught_by_loop)
    logging.getLogger().addHandler(LibraryLines(logging.WARNING))
    if settings.ignored:
        from kohort.broker.settings.unsupported import ignored

        for name in settings.ignored:
            log.info(ignored(name), setting=name)
    for passed_over in settings.passed_over:
        (log.error if passed_over.is_slip else log.warning)(passed_over.sentence)
    clock = log.clock if control is None else control.clock
    with _directory(places) as directory:
        cluster = BrokerCluster(settings, clock, nodes, advertised=entrances.advertised, directory=directory)
        if control is not None:
            control.attach(cluster)
        create_topics(cluster.topics, topics)
        server = Server(cluster, Registry(settings.kohort_as_kafka), loop)
        with _events_written(cluster, places.event_log, loop), _worker_started(server), _synced(server, places):
            await _until_stopped(cluster, server, entrances.listeners(cluster), control, places.ready_file)


async def _until_stopped(
    cluster: BrokerCluster, server: Server, listeners: Sequence[Listener], control: Control | None, file: Path | None
) -> None:
    loop = server.loop
    stopped = asyncio.Event()
    # `signal.signal` formats the handler that it replaces, the runner's with its task, which would import `inspect`.
    _signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    await server.listen_on(listeners)
    if cluster.settings.kohort_offsets_topic_at_start:
        cluster.offsets_topic.create(cluster.clock.now_ms())
    log.later = lambda flush: loop.call_later(RENDER_LOGS_AFTER_S, flush)
    try:
        ready = f"READY bootstrap={_addresses(cluster, listeners[0])}"
        if len(listeners) > 1:
            ready += " listeners=" + ",".join(
                f"{listener.name}://{_addresses(cluster, listener)}" for listener in listeners
            )
        async with AsyncExitStack() as open_:
            if control is not None:
                ready += f" control={await open_.enter_async_context(control.serve(server))}"
            open_.enter_context(ready_file(file, cluster, listeners))
            announce(ready, loop)
            cluster.replays.when_loaded(collect_garbage_seldom)
            trim_memory_at_rest(loop)
            LoadingAhead(loop, server.dispatcher.registry).wait()
            await stopped.wait()
        log.info("stopped")
    finally:
        log.later = None
        server.stop()
        log.flush()


def _addresses(cluster: BrokerCluster, listener: Listener) -> str:
    dialled = reachable(listener.host)
    return ",".join(show_address(*node.address(dialled, listener.name)) for node in cluster.nodes)


@contextmanager
def _directory(places: Places) -> Iterator[DataDirectory | None]:
    """Lock the data directory within the context, and mark it as cleanly closed at the end."""
    if places.data_dir is None:
        yield None
        return
    from kohort.broker.cluster.disk_syncing import ALWAYS, NEVER
    from kohort.storage.disk.directory import DataDirectory
    from kohort.storage.disk.files import Disk

    disk = Disk(keeps_unsynced=places.fsync != NEVER)
    directory = DataDirectory(
        places.data_dir, disk=disk, delays=places.fsync == ALWAYS, restore_topics=places.restore_topics
    )
    try:
        yield directory
    except BaseException:
        directory.abandon()
        raise
    try:
        directory.close()
    except OSError as error:
        log.warning(
            f"{directory.path} cannot be marked as cleanly closed: {error.strerror}; the next start will check it"
        )


@contextmanager
def _synced(server: Server, places: Places) -> Iterator[None]:
    directory = server.cluster.directory
    if directory is None or places.fsync == "never":
        yield
        return
    from kohort.broker.cluster.disk_syncing import ALWAYS, SyncNowAndThen, Syncs, SyncThreads

    threads = SyncThreads(server.loop)
    syncs = Syncs(server.cluster, directory.disk, threads, server.loop.call_soon)
    syncs.act = server.act
    if places.fsync == ALWAYS:
        server.cluster.syncs = syncs
    else:
        SyncNowAndThen(server.cluster, syncs, server.cluster.settings.log_flush_interval_ms).wait(server.clock.now_ms())
    try:
        yield
    finally:
        threads.stop()


@contextmanager
def _events_written(cluster: BrokerCluster, directory: Path | None, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    if directory is None:
        yield
        return
    from kohort.broker.cluster.event_log import written

    with written(cluster, directory, loop.call_later, WorkerThread(loop, "event-log")):
        yield


@contextmanager
def _worker_started(server: Server) -> Iterator[None]:
    thread = WorkerThread(server.loop, "long-work")
    worker = server.cluster.worker
    worker.jobs, worker.act = thread, server.act
    try:
        yield
    finally:
        thread.close()


def _caught_by_loop(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an exception that was not handled elsewhere.

    The connection that caused it is closed; others are not affected.
    """
    log.error(context["message"], context.get("exception"))


def announce(ready: str, loop: asyncio.AbstractEventLoop) -> None:
    """Write READY to stdout, without waiting for its reader."""

    def failed(error: OSError) -> None:
        sentence = f"cannot write READY to stdout: {error.strerror}; the broker runs all the same"
        loop.call_soon_threadsafe(log.warning, sentence)

    line = f"{ready}\n".encode()
    LineWriter(STDOUT, failed=failed).write(lambda: line, len(line))


def raise_file_limit() -> None:
    """Raise the limit of open files to the maximum that the system permits."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def collect_garbage_seldom() -> None:
    """Freeze loaded modules and groups, so that they are not collected, and collect other objects rarely."""
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    gc.callbacks.append(_freeze_modules())
    gc.enable()


def _freeze_modules() -> Callable[[str, dict[str, int]], None]:
    """Return a callback that freezes modules imported later, which leaves a fifth of the objects for a full collection.

    It runs after a collection of young objects, so that it freezes little else.
    """
    loaded = len(sys.modules)

    def collected(phase: str, info: dict[str, int]) -> None:
        nonlocal loaded
        if phase == "stop" and info["generation"] and len(sys.modules) != loaded:
            loaded = len(sys.modules)
            gc.freeze()

    return collected
