"""Where conversations are played: the whole broker, with lines instead of sockets, and a clock moved by hand."""

from __future__ import annotations

import heapq
import json
from collections import deque
from collections.abc import Callable, Sequence
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any

from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.broker.cluster.disk_syncing import Syncs
from kohort.broker.logs import log
from kohort.broker.runtime.connection import Connection
from kohort.broker.runtime.registry import Registry
from kohort.broker.runtime.server import Server
from kohort.broker.settings.broker_settings import Settings
from kohort.coordinator.classic.states import State
from kohort.coordinator.effects import OFFSETS_TOPIC
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.storage.disk.directory import DataDirectory
from kohort.storage.disk.files import Disk, Unsynced
from tests.support.broker import NumberedSocket
from tests.support.manual_clock import ManualClock
from tests.talk.profiles import Profile

FIRST_PORT = 9092
EPOCH_MS = 1_790_000_000_000
"""In 2026, as when conversations were recorded. Their records are of 2023 (values.py): so a marker begins a segment."""
REGISTRY = Registry()


class Timer:
    """What `call_later` returns."""

    def __init__(self, due_ms: int, callback: Callable[[], None]) -> None:
        self.due_ms = due_ms
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        """It will not go off."""
        self.cancelled = True


class Loop:
    """As much of an event loop as the broker asks for. Nothing runs but in `settle` and `advance`."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self._soon: deque[Callable[[], None]] = deque()
        self._timers: list[tuple[int, int, Timer]] = []
        self._numbers = count()

    def call_soon(self, callback: Callable[..., None], *arguments: Any) -> None:
        """Runs it in this turn."""
        self._soon.append(lambda: callback(*arguments))

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        """Runs it when the clock has been moved so far."""
        timer = Timer(self.clock.now_ms() + round(delay_s * 1000), callback)
        heapq.heappush(self._timers, (timer.due_ms, next(self._numbers), timer))
        return timer

    def settle(self) -> None:
        """Runs everything that is due now, and what comes of it."""
        while True:
            while self._soon:
                self._soon.popleft()()
            due_ms = self.next_due_ms
            if due_ms is None or due_ms > self.clock.now_ms():
                return
            heapq.heappop(self._timers)[2].callback()

    def advance(self, length_ms: int, until: Callable[[], bool] = lambda: False) -> None:
        """Moves the clock from one due moment to the next, for `length_ms` or `until` something has come about."""
        end_ms = self.clock.now_ms() + length_ms
        self.settle()
        while not until() and self.clock.now_ms() < end_ms:
            due_ms = self.next_due_ms
            next_ms = end_ms if due_ms is None else min(due_ms, end_ms)
            self.clock.advance(next_ms - self.clock.now_ms())
            self.settle()

    @property
    def next_due_ms(self) -> int | None:
        """When the next timer goes off."""
        while self._timers and self._timers[0][2].cancelled:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None


class Line:
    """One connection: a transport to the broker, and to the player what the client has heard."""

    def __init__(self, loop: Loop, connection: Connection, port: int) -> None:
        self.port = port
        self.closed = False
        self.frames: deque[tuple[int, bytes]] = deque()
        """Frames not yet taken note of, with the moment they came; without their lengths."""
        self.bytes_heard = 0
        self._loop = loop
        self._connection = connection
        self._heard = b""
        connection.connection_made(self)  # type: ignore[arg-type]

    def say(self, data: bytes) -> None:
        """The client sends bytes. What is said to a broker that has hung up is lost."""
        if not self.closed:
            self._connection.data_received(data)
        self._loop.settle()

    def hang_up(self) -> None:
        """The client closes."""
        self.close()
        self._loop.settle()

    # What the connection asks of its transport

    def write(self, data: bytes | memoryview) -> None:
        assert not self.closed
        self._heard += data
        self.bytes_heard += len(data)
        while len(self._heard) >= 4:
            end = 4 + int.from_bytes(self._heard[:4], "big")
            if len(self._heard) < end:
                break
            self.frames.append((self._loop.clock.now_ms(), self._heard[4:end]))
            self._heard = self._heard[end:]

    def writelines(self, pieces: list[bytes | memoryview]) -> None:
        self.write(b"".join(pieces))

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._loop.call_soon(self._connection.connection_lost, None)

    abort = close

    def get_extra_info(self, name: str) -> Any:
        if name == "socket":
            return NumberedSocket(3)
        return ("127.0.0.1", 50_000) if name == "peername" else ("127.0.0.1", self.port)

    def set_write_buffer_limits(self, high: int) -> None:
        """Nothing is buffered here."""

    def pause_reading(self) -> None:
        """What is sent all the same is kept by the connection."""

    def resume_reading(self) -> None:
        """See `pause_reading`."""


class Stage:
    """A cluster of its own for each conversation, which always starts at the same time with the same seed."""

    def __init__(self, profile: Profile, warm: bool = True, data_dir: Path | None = None) -> None:
        """`data_dir`: where the broker keeps its logs, and acknowledges nothing that is not synced."""
        self._profile = profile
        self._data_dir = data_dir
        self.clock = ManualClock(epoch_ms=EPOCH_MS)
        self.loop = Loop(self.clock)
        self._log = StringIO()
        log.configure(json=True, stream=self._log)
        self.server = self.make_server(profile)
        cluster = self.server.cluster
        for number, node in enumerate(cluster.nodes):
            node.port = FIRST_PORT + number
        if warm:
            cluster.offsets_topic.create(self.clock.now_ms())
        self.loop.settle()

    def make_server(self, profile: Profile) -> Server:
        """The server and its cluster; nobody has connected, and nothing has been created."""
        settings = Settings(profile.settings, nodes=profile.nodes)
        if self._data_dir is None:
            cluster = BrokerCluster(settings, self.clock, profile.nodes, seed=1)
            return Server(cluster, REGISTRY, self.loop)  # type: ignore[arg-type]
        disk = Disk(keeps_unsynced=True)
        directory = DataDirectory(self._data_dir, disk=disk, delays=True)
        cluster = BrokerCluster(settings, self.clock, profile.nodes, seed=1, directory=directory)
        server = Server(cluster, REGISTRY, self.loop)  # type: ignore[arg-type]
        cluster.syncs = Syncs(cluster, disk, InThisThread(), self.loop.call_soon)
        cluster.syncs.act = server.act
        return server

    def move_coordinators(self) -> None:
        """Every coordinator loses its groups, and comes back with what the log tells of them."""
        cluster, now_ms = self.server.cluster, self.clock.now_ms()
        topic = cluster.topics.by_name(OFFSETS_TOPIC)
        for partition in () if topic is None else topic.partitions:
            cluster.offsets_topic.resigned(partition, now_ms)
            partition.leader_epoch += 1
            cluster.offsets_topic.elected(partition, now_ms)
        cluster.replays.run_at_once()
        self.loop.settle()

    @property
    def would_survive(self) -> bool:
        """Whether the log tells all there is to know of the groups: nobody waits, and one protocol is all they have."""
        coordinators = self.server.cluster.coordinators
        if any(each.forgotten is not None for each in coordinators):
            return False  # the log has groups that are gone
        return all(_is_in_the_log(each) for one in coordinators for each in one.of_type("streams")) and all(
            group.state in (State.STABLE, State.EMPTY)
            and not group.pending_joins
            and all(len(member.protocols) == 1 for member in group.members.values())
            for coordinator in coordinators
            for group in coordinator.of_type("classic")
        )

    def restart(self, settings: dict[str, str]) -> None:
        """The broker dies, and another one takes its place on the same directory, with some settings changed."""
        before = self.server
        before.stop()
        self.loop.settle()
        assert before.cluster.directory is not None, "a broker that restarts needs a disk"
        before.cluster.directory.abandon()
        self.server = self.make_server(Profile(self._profile.settings | settings, self._profile.nodes))
        for node, old in zip(self.server.cluster.nodes, before.cluster.nodes, strict=True):
            node.port = old.port
        self.loop.settle()

    def connect(self, port: int = FIRST_PORT) -> Line:
        """A new connection to the node that listens there."""
        node = next(node for node in self.server.cluster.nodes if node.port == port)
        return Line(self.loop, Connection(self.server, node), port)

    def log_lines(self) -> list[tuple[str, str]]:
        """Level and text of what the broker has logged since the last time."""
        lines = [json.loads(line) for line in self._log.getvalue().splitlines()]
        self._log.seek(0)
        self._log.truncate()
        return [(line["level"], line["event"]) for line in lines]

    def close(self) -> None:
        """Gives the log and the directory back."""
        if self.server.cluster.directory is not None:
            self.server.cluster.directory.close()
        log.configure()


class InThisThread:
    """Syncs at once; see `broker.syncing.Threads`."""

    def sync(self, files: Sequence[Unsynced], done: Callable[[OSError | None], None]) -> None:
        """Syncs them now."""
        for each in files:
            each.sync()
        done(None)


def _is_in_the_log(group: StreamsGroup) -> bool:
    """Whether nobody would miss what a streams group keeps in memory only."""
    described = group.described
    decided = described.subtopologies if described is not None else ()
    known = set() if group.topology is None else set(group.topology.subtopologies)
    is_told = known.issuperset(decided) and group.shutdown_requested_by is None
    has_listed = group.endpoint_epoch or any(member.listed is not None for member in group.members.values())
    return is_told and not has_listed and not group.is_delayed
