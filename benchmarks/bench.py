"""Tools of a measurement: servers, connections, a CPU meter, and a list of figures and failures."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from time import perf_counter, process_time
from typing import Protocol

from benchmarks import connection
from benchmarks.connection import Connection
from benchmarks.failures import Failures
from benchmarks.server import Server, command, machine_s


@dataclass(frozen=True)
class Figure:
    """One number with its title and unit."""

    title: str
    unit: str
    value: float


class Bench:
    """One measurement in one round."""

    def __init__(self, *, quick: bool = False, arguments: Sequence[str] = (), kohort: Path | None = None) -> None:
        self.quick = quick
        self.kohort = kohort  # the `kohort` that is measured, or None for the one of this environment
        self.arguments = arguments  # further arguments of `kohort serve`
        self.failures = Failures()
        self.figures: list[Figure] = []
        self.others_percent = 0.0  # noise: highest share of the machine that neither server nor load generator used

    def figure(self, title: str, unit: str, value: float | None) -> None:
        """Record a figure, or None if it cannot be measured here."""
        if value is not None:
            self.figures.append(Figure(title, unit, value))

    @asynccontextmanager
    async def server(self, *arguments: str) -> AsyncIterator[Server]:
        async with self.program(
            command(["--listen", "127.0.0.1:0", *arguments, *self.arguments], self.kohort)
        ) as server:
            yield server

    @asynccontextmanager
    async def program(self, words: Sequence[str]) -> AsyncIterator[Server]:
        """Start a program that prints READY as `kohort serve` does; stop it afterwards."""
        server = Server(words, self.failures)
        try:
            await server.ready()
            yield server
        finally:
            server.stop()

    @asynccontextmanager
    async def connections(self, server: Server, count: int) -> AsyncIterator[list[Connection]]:
        connections = await connection.connect(server.host, server.port, count, self.failures)
        try:
            yield connections
        finally:
            for opened in connections:
                opened.close()

    def meter(self, server: "Measured") -> "Meter":
        return Meter(self, server)


class Measured(Protocol):
    """Process whose CPU time is measured."""

    def cpu_s(self) -> float | None: ...


class Meter:
    """Meter of CPU time during an interval."""

    def __init__(self, bench: Bench, server: Measured) -> None:
        self.seconds = 0.0
        self.own_s = 0.0  # CPU time of the load generator
        self.server_s: float | None = None  # CPU time of the server, or None if unknown
        self._bench = bench
        self._server = server

    def start(self) -> None:
        self._machine, self._cpu, self._own, self._clock = (
            machine_s(),
            self._server.cpu_s(),
            process_time(),
            perf_counter(),
        )

    def stop(self) -> None:
        self.seconds = perf_counter() - self._clock
        self.own_s = process_time() - self._own
        cpu, machine = self._server.cpu_s(), machine_s()
        if cpu is None or self._cpu is None or machine is None or self._machine is None:
            return
        self.server_s = cpu - self._cpu
        worked, had = machine[0] - self._machine[0], machine[1] - self._machine[1]
        if self.seconds > 0.5:  # ticks are too coarse for less
            other_s = 100 * (worked - self.server_s - self.own_s) / max(had, 0.01)
            self._bench.others_percent = max(self._bench.others_percent, other_s)

    def per_request_us(self, requests: int) -> float | None:
        """Return the server's CPU time per request in microseconds."""
        return None if self.server_s is None or not requests else self.server_s / requests * 1e6


def percentile(values: Sequence[float], share: float) -> float:
    """Return the least value that `share` (0 to 1) of all values do not exceed, or 0 without values."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[max(ceil(len(ordered) * share) - 1, 0)]
