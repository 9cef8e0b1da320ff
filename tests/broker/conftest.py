"""A broker without sockets: a cluster, a server on a loop that stands still, clients that say bytes and hear bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from io import StringIO
from typing import Any

import pytest

from kohort.broker.clock import ManualClock
from kohort.broker.cluster.cluster import Cluster
from kohort.broker.logs import log
from kohort.broker.runtime.connection import Connection
from kohort.broker.runtime.registry import Api, Registry
from kohort.broker.runtime.server import Server
from kohort.broker.settings.broker_settings import Settings
from kohort.protocol.api_keys import API_BY_NAME
from kohort.protocol.messages import message_of
from kohort.storage.disk.directory import DataDirectory


class StillLoop:
    """What the server asks of an event loop, run by hand."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._soon: list[Callable[[], None]] = []
        self.timer: tuple[int, Callable[[], None]] | None = None

    def call_soon(self, function: Callable[[], None]) -> None:
        self._soon.append(function)

    def call_later(self, delay_s: float, function: Callable[[], None]) -> StillLoop:
        assert self.timer is None, "one timer for the whole process"
        self.timer = (self._clock.now_ms() + round(delay_s * 1000), function)
        return self

    def cancel(self) -> None:
        self.timer = None

    def run_soon(self) -> bool:
        """Runs what was to run in the next turn. Returns whether there was something."""
        functions, self._soon = self._soon, []
        for function in functions:
            function()
        return bool(functions)

    def wait(self, length_ms: int) -> None:
        """Lets time pass; the timer rings when it is due."""
        end_ms = self._clock.now_ms() + length_ms
        while self.timer is not None and self.timer[0] <= end_ms:
            due_ms, function = self.timer
            self.timer = None
            self._clock.advance(max(due_ms - self._clock.now_ms(), 0))
            function()
        self._clock.advance(end_ms - self._clock.now_ms())


class Wire:
    """A transport that goes nowhere, and what the connection did to it."""

    def __init__(self, peer: str, listener: tuple[str, int]) -> None:
        self._names = {"peername": (peer, 40_000), "sockname": listener}
        self.writes: list[bytes] = []
        self.reading = True
        self.closed = False

    def get_extra_info(self, name: str) -> object:
        return self._names[name]

    def set_write_buffer_limits(self, high: int) -> None:
        """The test itself calls pause_writing and resume_writing."""

    def write(self, data: bytes) -> None:
        self.writes.append(bytes(data))

    def writelines(self, pieces: Sequence[bytes | memoryview]) -> None:
        self.writes.append(b"".join(pieces))

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True


message = message_of
"""The messages of an API."""


def frame(
    name: str, version: int = 0, correlation_id: int = 0, client_id: str | None = "ada", **fields: object
) -> bytes:
    """A request as it travels, its length included."""
    made = message(name)
    body = made.write_request(version, correlation_id, "ada", made.request(**fields))
    return len(body).to_bytes(4, "big") + bytes(body)


def heartbeat(correlation_id: int = 0, version: int = 0) -> bytes:
    """The smallest request there is."""
    return frame("heartbeat", version, correlation_id, group_id="g", generation_id=1, member_id="m")


class Stopwatch:
    """The machine's time of a broker whose own clock stands still: each look at it takes a while."""

    def __init__(self, broker: Broker, us_a_look: int) -> None:
        self.us_a_look = us_a_look
        self._now_us = 0
        broker.server.turns.now_us = self._look

    def _look(self) -> int:
        self._now_us += self.us_a_look
        return self._now_us


class Client:
    """Somebody at the other end of a wire."""

    def __init__(self, broker: Broker, node: int = 0, peer: str = "10.0.0.7", dialled: str = "10.0.0.1") -> None:
        self.connection = Connection(broker.server, broker.cluster.nodes[node])
        self.wire = Wire(peer, (dialled, 9092 + node))
        self.connection.connection_made(self.wire)  # type: ignore[arg-type]

    def says(self, *data: bytes) -> None:
        """Sends, all in one go."""
        self.connection.data_received(b"".join(data))

    @property
    def closed(self) -> bool:
        return self.wire.closed

    def heard(self) -> list[bytes]:
        """The frames it has been sent since it last listened, without their lengths."""
        data, frames = b"".join(self.wire.writes), []
        while data:
            size = int.from_bytes(data[:4], "big")
            frames.append(data[4 : 4 + size])
            assert len(frames[-1]) == size
            data = data[4 + size :]
        self.wire.writes.clear()
        return frames

    def hears(self, name: str, version: int = 0) -> list[tuple[int, Any]]:
        """The same as responses of one API, with their correlation ids."""
        return [message(name).read_response(version, each) for each in self.heard()]

    def asks(self, name: str, version: int = 0, **fields: Any) -> Any:
        """Sends one request, and expects its answer at once."""
        self.says(frame(name, version, 77, **fields))
        ((correlation_id, response),) = self.hears(name, version)
        assert correlation_id == 77
        return response


class Broker:
    """All of kohort but its sockets."""

    def __init__(
        self,
        nodes: int = 1,
        advertise: str = "",
        directory: DataDirectory | None = None,
        clock: ManualClock | None = None,
        seed: int = 1,
        **settings: Any,
    ) -> None:
        given = {name.replace("_", "."): str(value) for name, value in settings.items()}
        self.clock = clock or ManualClock()
        self.cluster = Cluster(
            Settings(given, nodes=nodes), self.clock, nodes, seed=seed, advertise=advertise, directory=directory
        )
        for number, node in enumerate(self.cluster.nodes):
            node.port = 9092 + number
        self.loop = StillLoop(self.clock)
        self.registry = Registry()
        self.server = Server(self.cluster, self.registry, self.loop)  # type: ignore[arg-type]

    def api(self, name: str) -> Api:
        """An API, whose handler a test may replace."""
        found = self.registry.find(API_BY_NAME[name].key)
        assert found is not None
        return found

    def client(self, node: int = 0, **where: str) -> Client:
        return Client(self, node, **where)


@pytest.fixture
def lines() -> Iterator[StringIO]:
    """What the broker logs."""
    stream = StringIO()
    log.configure(level="info", stream=stream)
    yield stream
    log.configure()
