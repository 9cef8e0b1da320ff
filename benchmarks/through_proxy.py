"""`python -m benchmarks.through_proxy`: kohort through `kohort proxy` beside kohort without it, in turns in one run.

Beside both Toxiproxy, a proxy in Go that knows nothing of Kafka, where it can be built. One connection each; what
counts is the median of the ratios within a round, as in `benchmarks/in_turns.py`, and on a machine that has other work
the proxy's own processor time. Then many connections at once, each held and used.
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
BEATS = 500
"""Heartbeats in a round."""
PRODUCED = 64
"""Batches in a round."""
FETCHED = 40
"""Fetches in a round."""


@contextmanager
def running(*words: str) -> Iterator[tuple[int, int]]:
    """A command of ours that says READY; yields its process and its port."""
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
    """May have one request more under way than it asks for."""

    def says_ahead(self, data: bytes) -> None:
        """Sends what is not waited for."""
        self._socket.sendall(data)

    def hears_last(self) -> bytes:
        """The answer that is still to come."""
        return self._read(int.from_bytes(self._read(4), "big"))


class Way(NamedTuple):
    """A way to the broker, and the process that is asked there."""

    pid: int
    port: int
    wire: Ahead


class Done(NamedTuple):
    """What a round has shown."""

    figure: float
    amount: float
    """Heartbeats, or megabytes."""


def heartbeats(wire: Ahead) -> Done:
    """The median of a heartbeat, there and back, in microseconds."""
    beat = frame("heartbeat", 4, 1, group_id="g", generation_id=1, member_id="m")
    return Done(median(_timed(lambda: wire.exchanges(beat)) for _ in range(BEATS)) / 1_000, BEATS)


def produce(wire: Ahead) -> Done:
    """Batches of 100 KiB, two requests at a time, in MB/s."""
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
    """A mebibyte at a time, from the beginning, again and again, in MB/s."""
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
}
"""What is measured, and of what a proxy's processor time is told."""


def _timed(action: Callable[[], object]) -> int:
    before = perf_counter_ns()
    action()
    return perf_counter_ns() - before


def _batch() -> bytes:
    return build_batch([Record(None, bytes(1_000), 1_000) for _ in range(BATCH_BYTES // 1_010)])


class Seen:
    """Figures and processor times of all rounds."""

    def __init__(self) -> None:
        self._figures: dict[tuple[str, str], list[float]] = {}
        self._cpu_us: dict[tuple[str, str], list[float]] = {}

    def note(self, what: str, who: str, done: Done, used_s: float) -> None:
        """One figure, and what the process on that way has used for it."""
        self._figures.setdefault((what, who), []).append(done.figure)
        self._cpu_us.setdefault((what, who), []).append(used_s / done.amount * 1e6)

    def tell(self, what: str, who: str) -> str:
        """A line; ratios are those to the direct way in the same round."""
        here, there = self._figures[what, "direct"], self._figures[what, who]
        if who == "direct":
            return f"{what:14}  {who:10} {median(here):9.1f}"
        ratio = median(through / direct for direct, through in zip(here, there, strict=True))
        used = f"its processor time {median(self._cpu_us[what, who]):7.1f} us for {MEASURED[what][1]}"
        return f"{what:14}  {who:10} {median(there):9.1f}  ratio {ratio:.2f}  {used}"


def many(way: Way, count: int) -> str:
    """Opens connections, then says a heartbeat on each, three times. Tells what that took, a sentence."""
    beat = frame("heartbeat", 4, 1, group_id="g", generation_id=1, member_id="m")
    before_kib, before_s = rss_kib(way.pid) or 0.0, cpu_s(way.pid) or 0.0
    wires: list[Ahead] = []
    opened_ns = _timed(lambda: wires.extend(Ahead(way.port) for _ in range(count)))
    rounds = [_timed(lambda: [each.exchanges(beat) for each in wires]) for _ in range(3)]
    grown_kib, used_s = (rss_kib(way.pid) or 0.0) - before_kib, (cpu_s(way.pid) or 0.0) - before_s
    for each in wires:
        each.close()
    return (
        f"{count} opened in {opened_ns / 1e6:.0f} ms, each used 3 times, {min(rounds) / count / 1_000:.0f} us at best; "
        f"{grown_kib / count:.1f} KiB each, {used_s * 1_000:.0f} ms of processor time"
    )


@contextmanager
def ways(without: bool, looks: bool) -> Iterator[Mapping[str, Way]]:
    """The broker without a proxy, through ours, and through Toxiproxy, where it can be had."""
    with ExitStack() as open_:
        pid, port = open_.enter_context(running("serve", "--listen", "127.0.0.1:0"))
        options = ("--control", "127.0.0.1:0") if looks else ()
        found = {"direct": (pid, port), "proxy": open_.enter_context(running("proxy", f"127.0.0.1:{port}", *options))}
        if not without:
            try:
                found["toxiproxy"] = open_.enter_context(toxiproxy_peer.before(port))
            except Missing as reason:
                print(f"left out: Toxiproxy: {reason}")
        yield {who: Way(*each, Ahead(each[1])) for who, each in found.items()}


@click.command()
@click.option("--rounds", default=15, show_default=True, type=click.IntRange(1))
@click.option("--connections", default=1_000, show_default=True, type=click.IntRange(0), help="0: not measured")
@click.option("--without-toxiproxy", is_flag=True, help="It is not built.")
@click.option("--looks", is_flag=True, help="The proxy looks at groups.")
def main(rounds: int, connections: int, without_toxiproxy: bool, looks: bool) -> None:
    """Measures all ways in turns, and prints medians."""
    allow_many_sockets()
    with ways(without_toxiproxy, looks) as found:
        topic = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1, assignments=(), configs=())
        found["direct"].wire.asks("create_topics", 7, topics=(topic,), timeout_ms=5_000, validate_only=False)
        seen = Seen()
        names = list(found)
        for number in range(rounds + 1):
            for what, (measure, _) in MEASURED.items():
                for who in names[number % len(names) :] + names[: number % len(names)]:
                    before_s = cpu_s(found[who].pid) or 0.0
                    done = measure(found[who].wire)
                    if number:  # the first round warms up
                        seen.note(what, who, done, (cpu_s(found[who].pid) or 0.0) - before_s)
        for what in MEASURED:
            for who in found:
                print(seen.tell(what, who))
        for who, way in found.items():
            if connections:
                print(f"connections     {who:10} {many(way, connections)}")


if __name__ == "__main__":
    main()
