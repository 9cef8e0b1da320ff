"""Broker without sockets: a cluster, a server on a stopped event loop, and clients that send and receive bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kohort.base.address import parse_advertised
from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.broker.runtime.connection import Connection
from kohort.broker.runtime.listener import PLAINTEXT_LISTENER, Listener
from kohort.broker.runtime.registry import Api, Registry
from kohort.broker.runtime.securing import Securing
from kohort.broker.runtime.server import Server
from kohort.broker.settings.broker_settings import Settings
from kohort.protocol.api_keys import API_BY_NAME
from kohort.storage.disk.directory import DataDirectory
from tests.support.frames import frame, message
from tests.support.manual_clock import ManualClock
from tests.support.still_loop import StillLoop


class NumberedSocket(NamedTuple):
    """A socket of which only the descriptor exists."""

    number: int

    def fileno(self) -> int:
        return self.number


class Wire:
    """A transport without a network that records the calls of its connection."""

    def __init__(self, peer: str, listener: tuple[str, int], descriptor: int = 3) -> None:
        self.names: dict[str, object] = {
            "peername": (peer, 40_000),
            "sockname": listener,
            "socket": NumberedSocket(descriptor),
        }
        self.writes: list[bytes] = []
        self.reading = True
        self.closed = False

    def get_extra_info(self, name: str) -> object:
        return self.names[name]

    def set_write_buffer_limits(self, high: int) -> None:
        """Ignore the limits: tests call pause_writing and resume_writing themselves."""

    def get_write_buffer_size(self) -> int:
        return sum(map(len, self.writes))

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


class Client:
    """A client at the other end of a wire."""

    def __init__(
        self,
        broker: Broker,
        node: int = 0,
        peer: str = "10.0.0.7",
        dialled: str = "10.0.0.1",
        listener: Listener = PLAINTEXT_LISTENER,
        descriptor: int = 3,
    ) -> None:
        self._broker = broker
        self.connection = Connection(broker.server, broker.cluster.nodes[node], listener)
        self.wire = Wire(peer, (dialled, 9092 + node), descriptor)
        self.connection.connection_made(self.wire)  # type: ignore[arg-type]

    def sends(self, *data: bytes) -> None:
        """Send data without a turn of the loop.

        The broker writes its responses in the next turn, together with others.
        """
        self.connection.data_received(b"".join(data))

    def says(self, *data: bytes) -> None:
        """Send data and run the loop, so that immediate responses are written."""
        self.sends(*data)
        self._broker.loop.run_first(self._broker.server.writes.write)

    @property
    def closed(self) -> bool:
        return self.wire.closed

    def heard(self) -> list[bytes]:
        """Return the frames received since the last call, without their lengths."""
        data, frames = b"".join(self.wire.writes), []
        while data:
            size = int.from_bytes(data[:4], "big")
            frames.append(data[4 : 4 + size])
            assert len(frames[-1]) == size
            data = data[4 + size :]
        self.wire.writes.clear()
        return frames

    def ids(self) -> list[int]:
        """Return the correlation ids of the frames received since the last call."""
        return [int.from_bytes(response[:4]) for response in self.heard()]

    def hears(self, name: str, version: int = 0) -> list[tuple[int, Any]]:
        """Decode the frames received since the last call and return them with their correlation ids."""
        return [message(name).read_response(version, response) for response in self.heard()]

    def asks(self, name: str, version: int = 0, **fields: Any) -> Any:
        """Send a request and return its response, which must be immediate."""
        self.says(frame(name, version, 77, **fields))
        ((correlation_id, response),) = self.hears(name, version)
        assert correlation_id == 77
        return response


class Broker:
    """All of kohort except its sockets."""

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
        self.cluster = BrokerCluster(
            Settings(given, nodes=nodes),
            self.clock,
            nodes,
            seed=seed,
            advertised={"PLAINTEXT": parse_advertised(advertise, nodes)},
            directory=directory,
        )
        for number, node in enumerate(self.cluster.nodes):
            node.port = 9092 + number
        self.loop = StillLoop(self.clock)
        self.registry = Registry(self.cluster.settings.kohort_as_kafka)
        self.server = Server(self.cluster, self.registry, self.loop)  # type: ignore[arg-type]
        self.stopwatch: Stopwatch | None = None  # measures the turns, if a test sets it

    def api(self, name: str) -> Api:
        """Return an API, whose handler a test may replace."""
        found = self.registry.find(API_BY_NAME[name].key)
        assert found is not None
        return found

    def client(self, node: int = 0, **where: Any) -> Client:
        return Client(self, node, **where)

    def stranger(self, peer: str = "10.0.0.7") -> Client:
        """Connect a client without a login to the first of `listeners`."""
        securing = Securing(self.cluster.settings, 1, 0)
        return Client(self, peer=peer, listener=securing.listeners(self.cluster)[0])


class Stopwatch:
    """The machine's time of a broker with a stopped clock: each reading takes a fixed time."""

    def __init__(self, broker: Broker, us_a_look: int) -> None:
        broker.stopwatch = self
        self.us_a_look = us_a_look
        self._now_us = 0
        broker.server.scheduler.now_ns = self._look

    def passes(self, us: int) -> None:
        """Let this much time pass."""
        self._now_us += us

    def _look(self) -> int:
        self._now_us += self.us_a_look
        return self._now_us * 1_000
