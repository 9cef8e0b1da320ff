"""Where conversations are played: the whole broker without sockets, and a clock moved by hand."""

from __future__ import annotations

import heapq
import json
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from kohort.base.logs import log
from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.broker.cluster.disk_syncing import Syncs
from kohort.broker.cluster.node import Node
from kohort.broker.runtime.connection import Connection
from kohort.broker.runtime.registry import Registry
from kohort.broker.runtime.server import Server
from kohort.broker.settings.broker_settings import Settings
from kohort.coordinator.classic.states import State
from kohort.coordinator.effects import OFFSETS_TOPIC
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.protocol.releases import CURRENT
from kohort.proxy.answer_rewriting import Pieces
from kohort.proxy.talk.talk_connection import TalkConnection
from kohort.storage.disk.directory import DataDirectory
from kohort.storage.disk.files import Disk, Unsynced
from tests.support.broker import NumberedSocket
from tests.support.manual_clock import ManualClock
from tests.talk.profiles import Profile

FIRST_PORT = 9092
# in 2026, when conversations were recorded; their records are of 2023 (values.py), so a marker begins a segment
EPOCH_MS = 1_790_000_000_000
ResultT = TypeVar("ResultT")
REGISTRIES = {release: Registry(release) for release in ("4.3", "4.4")}


def run(playing: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Run a player to its end. It never suspends, because a stage in this process moves the clock itself."""
    try:
        playing.send(None)
    except StopIteration as end:
        result: ResultT = end.value
        return result
    raise AssertionError("the player waits for something other than its stage")


class Timer:
    """What `call_later` returns."""

    def __init__(self, due_ms: int, callback: Callable[[], None]) -> None:
        self.due_ms = due_ms
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """The part of an event loop that the broker uses. Callbacks run only in `settle` and `advance`."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self._soon: deque[Callable[[], None]] = deque()
        self._timers: list[tuple[int, int, Timer]] = []
        self._numbers = count()

    def call_soon(self, callback: Callable[..., None], *arguments: Any) -> None:
        self._soon.append(lambda: callback(*arguments))

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        """Schedule a callback for the time at which the clock has moved that far."""
        timer = Timer(self.clock.now_ms() + round(delay_s * 1000), callback)
        heapq.heappush(self._timers, (timer.due_ms, next(self._numbers), timer))
        return timer

    def settle(self) -> None:
        """Run all due callbacks, and those that they schedule."""
        while True:
            while self._soon:
                self._soon.popleft()()
            due_ms = self.next_due_ms
            if due_ms is None or due_ms > self.clock.now_ms():
                return
            heapq.heappop(self._timers)[2].callback()

    def advance(self, length_ms: int, until: Callable[[], bool] = lambda: False) -> None:
        """Move the clock from one due time to the next, for `length_ms` or until `until` returns true."""
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


class InProcessSide:
    """Transport of one connection to a broker in this process (`talk_connection.BrokerSide`)."""

    def __init__(self, loop: Loop, connection: Connection, port: int) -> None:
        self.broker_connection = connection
        self.lost = False
        self.received_bytes = 0
        self._loop = loop
        self._port = port

    def serves(self, client: TalkConnection) -> None:
        self._client = client
        self.broker_connection.connection_made(self)  # type: ignore[arg-type]

    def send(self, pieces: Pieces) -> None:
        for piece in pieces:
            if not self.lost:
                self.broker_connection.data_received(bytes(piece))
            self._loop.settle()

    # methods of the broker's transport

    def write(self, data: bytes | memoryview) -> None:
        assert not self.lost
        self.received_bytes += len(data)
        self._client.on_node_data(bytes(data))

    def writelines(self, pieces: list[bytes | memoryview]) -> None:
        self.write(b"".join(pieces))

    def close(self) -> None:
        """Close the connection from either side."""
        if not self.lost:
            self.lost = True
            self._loop.call_soon(self.broker_connection.connection_lost, None)

    abort = close

    def get_extra_info(self, name: str) -> Any:
        if name == "socket":
            return NumberedSocket(3)
        return ("127.0.0.1", 50_000) if name == "peername" else ("127.0.0.1", self._port)

    def set_write_buffer_limits(self, high: int) -> None:
        pass

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


class Stage:
    """Cluster for one conversation, which always starts at the same time with the same seed."""

    def __init__(
        self, profile: Profile, warm: bool = True, data_dir: Path | None = None, release: str = CURRENT
    ) -> None:
        """Create the stage.

        Args:
            data_dir: Directory of the broker's logs. With it, acknowledgements wait for the sync.
        """
        self.release = release
        self._profile = profile
        self._data_dir = data_dir
        self.clock = ManualClock(epoch_ms=EPOCH_MS)
        self.loop = Loop(self.clock)
        self._log = StringIO()
        log.configure(json=True, stream=self._log)
        self.server = self._start_server(profile)
        cluster = self.server.cluster
        for number, node in enumerate(cluster.nodes):
            node.port = FIRST_PORT + number
        if warm:
            cluster.offsets_topic.create(self.clock.now_ms())
        self.loop.settle()

    def _start_server(self, profile: Profile) -> Server:
        server = self.make_server(profile)
        if profile.prepare is not None:
            profile.prepare(server.cluster)
        return server

    def new_settings(self, profile: Profile) -> Settings:
        newer = profile.settings_4_4 if self.release == "4.4" else {}
        return Settings({"kohort.as.kafka": self.release} | profile.settings | newer, nodes=profile.nodes)

    def make_server(self, profile: Profile) -> Server:
        """Create the server and its cluster, without connections and topics."""
        settings = self.new_settings(profile)
        if self._data_dir is None:
            cluster = BrokerCluster(settings, self.clock, profile.nodes, seed=1)
            return Server(cluster, REGISTRIES[self.release], self.loop)  # type: ignore[arg-type]
        disk = Disk(keeps_unsynced=True)
        directory = DataDirectory(self._data_dir, disk=disk, delays=True)
        cluster = BrokerCluster(settings, self.clock, profile.nodes, seed=1, directory=directory)
        server = Server(cluster, REGISTRIES[self.release], self.loop)  # type: ignore[arg-type]
        cluster.syncs = Syncs(cluster, disk, InThisThread(), self.loop.call_soon)
        cluster.syncs.act = server.act
        return server

    def move_coordinators(self) -> None:
        """Make every coordinator lose its groups and load them again from the log."""
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
        """Return whether the log contains the complete state of the groups, without waiting requests."""
        coordinators = self.server.cluster.coordinators
        if any(coordinator.forgotten is not None for coordinator in coordinators):
            return False  # the log has groups that are gone
        return all(_is_in_the_log(group) for one in coordinators for group in one.of_type("streams")) and all(
            group.state in (State.STABLE, State.EMPTY)
            and not group.pending_joins
            and all(len(member.protocols) == 1 for member in group.members.values())
            for coordinator in coordinators
            for group in coordinator.of_type("classic")
        )

    def restart(self, settings: dict[str, str]) -> None:
        """Kill the broker, and start another one on the same directory with changed settings."""
        before = self.server
        before.stop()
        self.loop.settle()
        assert before.cluster.directory is not None, "a broker that restarts needs a disk"
        before.cluster.directory.abandon()
        self.server = self._start_server(self._profile._replace(settings=self._profile.settings | settings))
        for node, old in zip(self.server.cluster.nodes, before.cluster.nodes, strict=True):
            node.port = old.port
        self.loop.settle()

    # See `Stage`

    def now_ms(self) -> int:
        return self.clock.now_ms()

    async def wait(self, timeout_ms: float, is_over: Callable[[], bool]) -> None:
        self.loop.advance(int(timeout_ms), is_over)

    def on_received(self) -> None:
        pass

    def connect(self, port: int = FIRST_PORT, client_id: str | None = None) -> TalkConnection:
        """Return a new connection to the node that listens on this port."""
        node = next(node for node in self.server.cluster.nodes if node.port == port)
        return TalkConnection(self, ("127.0.0.1", port), self.new_side(node, port), client_id)

    def new_side(self, node: Node, port: int) -> InProcessSide:
        return InProcessSide(self.loop, Connection(self.server, node), port)

    def log_lines(self) -> list[tuple[str, str]]:
        """Return level and text of log lines since the last call."""
        lines = [json.loads(line) for line in self._log.getvalue().splitlines()]
        self._log.seek(0)
        self._log.truncate()
        return [(line["level"], line["event"]) for line in lines]

    def close(self) -> None:
        if self.server.cluster.directory is not None:
            self.server.cluster.directory.close()
        log.configure()


class InThisThread:
    """Syncs at once; see `broker.syncing.Threads`."""

    def sync(self, files: Sequence[Unsynced], done: Callable[[OSError | None], None]) -> None:
        for file in files:
            file.sync()
        done(None)


def _is_in_the_log(group: StreamsGroup) -> bool:
    """Return whether a streams group has no state that is kept in memory only."""
    described = group.described
    decided = described.subtopologies if described is not None else ()
    known = set() if group.topology is None else set(group.topology.subtopologies)
    is_told = known.issuperset(decided) and group.shutdown_requested_by is None
    has_offsets = any(member.task_offsets or member.task_end_offsets for member in group.members.values())
    has_listed = group.endpoint_epoch or any(member.listed is not None for member in group.members.values())
    return is_told and not has_listed and not has_offsets and not group.is_delayed
