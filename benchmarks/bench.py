"""What a measurement works with: servers, connections, a meter, and a place for its figures and failures."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from time import perf_counter, process_time

from benchmarks import connection
from benchmarks.connection import Connection
from benchmarks.failures import Failures
from benchmarks.server import Server, command, machine_s


@dataclass(frozen=True)
class Figure:
    """One number. `title` and `unit` say which."""

    title: str
    unit: str
    value: float


class Bench:
    """One measurement in one round."""

    def __init__(self, *, quick: bool = False, arguments: Sequence[str] = (), kohort: Path | None = None) -> None:
        self.quick = quick
        self.kohort = kohort
        """The `kohort` that is measured; None: that of this environment."""
        self.arguments = arguments
        """More arguments for `kohort serve`."""
        self.failures = Failures()
        self.figures: list[Figure] = []
        self.others_percent = 0.0
        """Share of the machine that neither server nor load generator used, at worst: the noise."""

    def figure(self, title: str, unit: str, value: float | None) -> None:
        """Puts a figure down; None when it cannot be had here."""
        if value is not None:
            self.figures.append(Figure(title, unit, value))

    @asynccontextmanager
    async def server(self, *arguments: str) -> AsyncIterator[Server]:
        """A server that accepts connections. It is stopped whatever happens."""
        async with self.program(
            command(["--listen", "127.0.0.1:0", *arguments, *self.arguments], self.kohort)
        ) as server:
            yield server

    @asynccontextmanager
    async def program(self, words: Sequence[str]) -> AsyncIterator[Server]:
        """Starts any program that says READY as `kohort serve` does."""
        server = Server(words, self.failures)
        try:
            await server.ready()
            yield server
        finally:
            server.stop()

    @asynccontextmanager
    async def connections(self, server: Server, count: int) -> AsyncIterator[list[Connection]]:
        """Connections to the server."""
        made = await connection.connect(server.host, server.port, count, self.failures)
        try:
            yield made
        finally:
            for each in made:
                each.close()

    def meter(self, server: Server) -> "Meter":
        """For who uses the processors during an interval."""
        return Meter(self, server)


class Meter:
    """Measures an interval."""

    def __init__(self, bench: Bench, server: Server) -> None:
        self.seconds = 0.0
        self.own_s = 0.0
        """Processor time that the load generator used."""
        self.server_s: float | None = None
        """Processor time that the server used; None when it cannot be known."""
        self._bench = bench
        self._server = server

    def start(self) -> None:
        """The interval begins."""
        self._machine, self._cpu, self._own, self._clock = (
            machine_s(),
            self._server.cpu_s(),
            process_time(),
            perf_counter(),
        )

    def stop(self) -> None:
        """The interval ends."""
        self.seconds = perf_counter() - self._clock
        self.own_s = process_time() - self._own
        cpu, machine = self._server.cpu_s(), machine_s()
        if cpu is None or self._cpu is None or machine is None or self._machine is None:
            return
        self.server_s = cpu - self._cpu
        worked, had = machine[0] - self._machine[0], machine[1] - self._machine[1]
        if self.seconds > 0.5:  # ticks are too coarse for less
            others = 100 * (worked - self.server_s - self.own_s) / max(had, 0.01)
            self._bench.others_percent = max(self._bench.others_percent, others)

    def per_request_us(self, requests: int) -> float | None:
        """Microseconds of the server's processor time for each request."""
        return None if self.server_s is None or not requests else self.server_s / requests * 1e6


def percentile(values: Sequence[float], share: float) -> float:
    """The least value that `share` of all values (0 to 1) do not exceed; 0 when there are none."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[max(ceil(len(ordered) * share) - 1, 0)]
