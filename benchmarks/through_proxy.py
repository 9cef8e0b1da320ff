"""`python -m benchmarks.through_proxy`: compares kohort with and without `kohort proxy`, in turns in one run.

It also measures Toxiproxy, a proxy in Go that does not parse Kafka's protocol, if it can be built. The result is the
median of the ratios within a round, as in `benchmarks/in_turns.py`, and the proxy's own CPU time, which other work on
the machine does not affect. Then it opens and uses many connections at once.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter_ns
from typing import NamedTuple

import click

from benchmarks import toxiproxy_peer
from benchmarks.connection import allow_many_sockets
from benchmarks.server import cpu_s, rss_kib
from kohort.protocol.batches import Record, build_batch
from kohort.protocol.messages.create_topics import CreatableTopic
from kohort.protocol.messages.fetch import FetchPartition, FetchTopic
from kohort.protocol.messages.produce import PartitionProduceData, TopicProduceData
from tests.clients.libraries import Missing
from tests.support.frames import frame
from tests.support.wires import Blocking

KOHORT = Path(sys.executable).parent / "kohort"
READY = re.compile(r"READY bootstrap=[^:]+:(\d+)")
TOPIC = "bench-proxy"
BATCH_BYTES = 100 << 10
FETCHED_BYTES = 1 << 20
BEATS = 500  # heartbeats in a round
PRODUCED = 64  # batches in a round
FETCHED = 40  # fetches in a round


@contextmanager
def running(*words: str) -> Iterator[tuple[int, int]]:
    """Start a command of kohort that prints READY; yield its process id and port."""
    command = [str(KOHORT), *words, "--log-level", "warning"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ready = READY.match(process.stdout.readline())
        if ready is None:
            sys.exit(f"it did not start: {' '.join(command)}")
        try:
            yield process.pid, int(ready[1])
        finally:
            process.terminate()


class Ahead(Blocking):
    """Connection that can have one additional request in flight."""

    def says_ahead(self, data: bytes) -> None:
        self._socket.sendall(data)

    def hears_last(self) -> bytes:
        """Return the response that is still pending."""
        return self._read(int.from_bytes(self._read(4), "big"))


class Way(NamedTuple):
    """Route to the broker, with the process behind it."""

    pid: int
    port: int
    wire: Ahead


class Done(NamedTuple):
    """Result of a round."""

    figure: float
    amount: float  # heartbeats, or megabytes


def heartbeats(wire: Ahead) -> Done:
    """Return the median round trip of a heartbeat in microseconds."""
    beat = frame("heartbeat", 4, 1, group_id="g", generation_id=1, member_id="m")
    return Done(median(_timed(lambda: wire.exchanges(beat)) for _ in range(BEATS)) / 1_000, BEATS)


def produce(wire: Ahead) -> Done:
    """Produce batches of 100 KiB, two requests at a time; return MB/s."""
    data = PartitionProduceData(index=0, records=_batch())
    topics = (TopicProduceData(name=TOPIC, partition_data=(data,)),)
    request = frame("produce", 11, 1, acks=-1, timeout_ms=20_000, topic_data=topics)

    def produced() -> None:
        wire.says_ahead(request)
        for _ in range(PRODUCED - 1):
            wire.exchanges(request)
        wire.hears_last()

    sent = PRODUCED * len(request)
    return Done(sent / _timed(produced) * 1_000, sent / 1_000_000)


def fetch(wire: Ahead) -> Done:
    """Fetch a mebibyte at a time, repeatedly from the beginning; return MB/s."""
    part = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=FETCHED_BYTES)
    topics = (FetchTopic(topic=TOPIC, partitions=(part,)),)
    request = frame("fetch", 12, 1, max_wait_ms=0, min_bytes=1, max_bytes=FETCHED_BYTES, topics=topics)
    sizes: list[int] = []
    took_ns = _timed(lambda: sizes.extend(len(wire.exchanges(request)) for _ in range(FETCHED)))
    if min(sizes) < FETCHED_BYTES - 2 * BATCH_BYTES:
        sys.exit(f"an answer to Fetch holds {min(sizes)} bytes")
    return Done(sum(sizes) / took_ns * 1_000, sum(sizes) / 1_000_000)


MEASURED: dict[str, tuple[Callable[[Ahead], Done], str]] = {
    "heartbeat, us": (heartbeats, "a heartbeat"),
    "produce, MB/s": (produce, "a megabyte"),
    "fetch, MB/s": (fetch, "a megabyte"),
}  # name: measurement, and the unit of the proxy's CPU time


def _timed(action: Callable[[], object]) -> int:
    start = perf_counter_ns()
    action()
    return perf_counter_ns() - start


def _batch() -> bytes:
    return build_batch([Record(None, bytes(1_000), 1_000) for _ in range(BATCH_BYTES // 1_010)])


class Seen:
    """Figures and CPU times of all rounds."""

    def __init__(self) -> None:
        self._figures: dict[tuple[str, str], list[float]] = {}
        self._cpu_us: dict[tuple[str, str], list[float]] = {}

    def note(self, name: str, route: str, result: Done, used_s: float) -> None:
        self._figures.setdefault((name, route), []).append(result.figure)
        self._cpu_us.setdefault((name, route), []).append(used_s / result.amount * 1e6)

    def tell(self, name: str, route: str) -> str:
        """Return a line; ratios are relative to the direct route in the same round."""
        direct_figures, figures = self._figures[name, "direct"], self._figures[name, route]
        if route == "direct":
            return f"{name:14}  {route:10} {median(direct_figures):9.1f}"
        ratio = median(through / direct for direct, through in zip(direct_figures, figures, strict=True))
        used = f"its processor time {median(self._cpu_us[name, route]):7.1f} us for {MEASURED[name][1]}"
        return f"{name:14}  {route:10} {median(figures):9.1f}  ratio {ratio:.2f}  {used}"


def many(way: Way, count: int) -> str:
    """Open connections, send three heartbeats on each, and describe the cost in a sentence."""
    beat = frame("heartbeat", 4, 1, group_id="g", generation_id=1, member_id="m")
    before_kib, before_s = rss_kib(way.pid) or 0.0, cpu_s(way.pid) or 0.0
    wires: list[Ahead] = []
    opened_ns = _timed(lambda: wires.extend(Ahead(way.port) for _ in range(count)))
    rounds = [_timed(lambda: [wire.exchanges(beat) for wire in wires]) for _ in range(3)]
    grown_kib, used_s = (rss_kib(way.pid) or 0.0) - before_kib, (cpu_s(way.pid) or 0.0) - before_s
    for wire in wires:
        wire.close()
    return (
        f"{count} opened in {opened_ns / 1e6:.0f} ms, each used 3 times, {min(rounds) / count / 1_000:.0f} us at best; "
        f"{grown_kib / count:.1f} KiB each, {used_s * 1_000:.0f} ms of processor time"
    )


@contextmanager
def ways(without: bool, looks: bool) -> Iterator[Mapping[str, Way]]:
    """Start the broker, the proxy and, if available, Toxiproxy."""
    with ExitStack() as open_:
        pid, port = open_.enter_context(running("serve", "--listen", "127.0.0.1:0"))
        options = ("--control", "127.0.0.1:0") if looks else ()
        processes = {
            "direct": (pid, port),
            "proxy": open_.enter_context(running("proxy", f"127.0.0.1:{port}", *options)),
        }
        if not without:
            try:
                processes["toxiproxy"] = open_.enter_context(toxiproxy_peer.start_proxy_for(port))
            except Missing as reason:
                print(f"left out: Toxiproxy: {reason}")
        yield {route: Way(*process, Ahead(process[1])) for route, process in processes.items()}


@click.command()
@click.option("--rounds", default=15, show_default=True, type=click.IntRange(1))
@click.option(
    "--connections", default=1_000, show_default=True, type=click.IntRange(0), help="0: skip this measurement"
)
@click.option("--without-toxiproxy", is_flag=True, help="Skip Toxiproxy.")
@click.option("--looks", is_flag=True, help="Start the proxy with --control, so that it tracks groups.")
def main(rounds: int, connections: int, without_toxiproxy: bool, looks: bool) -> None:
    """Measure all routes in turns, and print medians."""
    allow_many_sockets()
    with ways(without_toxiproxy, looks) as routes:
        topic = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1, assignments=(), configs=())
        routes["direct"].wire.asks("create_topics", 7, topics=(topic,), timeout_ms=5_000, validate_only=False)
        figures = Seen()
        names = list(routes)
        for number in range(rounds + 1):
            for name, (measure, _) in MEASURED.items():
                for route in names[number % len(names) :] + names[: number % len(names)]:
                    before_s = cpu_s(routes[route].pid) or 0.0
                    result = measure(routes[route].wire)
                    if number:  # the first round warms up
                        figures.note(name, route, result, (cpu_s(routes[route].pid) or 0.0) - before_s)
        for name in MEASURED:
            for route in routes:
                print(figures.tell(name, route))
        for route, way in routes.items():
            if connections:
                print(f"connections     {route:10} {many(way, connections)}")


if __name__ == "__main__":
    main()
