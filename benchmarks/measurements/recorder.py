"""Cost for heartbeats of recording events, or of a whole laboratory."""

import sys

from benchmarks.bench import Bench
from benchmarks.measurements import heartbeat
from benchmarks.server import Server

CONNECTIONS = 64
LISTEN = "127.0.0.1:0"
RECORDED = [sys.executable, "-m", "benchmarks.recorded", LISTEN]


async def measure(bench: Bench) -> None:
    """Measure heartbeats on three servers: a plain one, one with the recorder, one with a control address."""
    async with bench.server() as server:
        plain_us = await _server_us(bench, server)
    async with bench.program(RECORDED) as server:
        recorded_us = await _server_us(bench, server)
    async with bench.server("--control", ":0") as server:
        laboratory_us = await _server_us(bench, server)
    if plain_us and recorded_us and laboratory_us:
        bench.figure("plain", "µs/request", plain_us)
        bench.figure("recorded", "µs/request", recorded_us)
        bench.figure("laboratory", "µs/request", laboratory_us)
        bench.figure("recorder's cost", "%", 100 * (recorded_us / plain_us - 1))


async def _server_us(bench: Bench, server: Server) -> float | None:
    meter, latencies = await heartbeat.beat(bench, server, CONNECTIONS, 1)
    return meter.per_request_us(len(latencies))
