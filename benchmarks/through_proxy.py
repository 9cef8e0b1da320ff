"""`python -m benchmarks.through_proxy`: kohort through `kohort proxy` beside kohort without it, in turns in one run.

One connection each. What counts is the median of the ratios within a round, as in `benchmarks/in_turns.py`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter_ns

import click

from kohort.protocol.batches import Record, build_batch
from kohort.protocol.messages.create_topics import CreatableTopic
from kohort.protocol.messages.fetch import FetchPartition, FetchTopic
from kohort.protocol.messages.produce import PartitionProduceData, TopicProduceData
from tests.support.frames import frame
from tests.support.wires import Blocking

KOHORT = Path(sys.executable).parent / "kohort"
READY = re.compile(r"READY bootstrap=[^:]+:(\d+)")
TOPIC = "bench-proxy"
BATCH_BYTES = 100 << 10
FETCHED_BYTES = 1 << 20
PRODUCED = 64
"""Batches in a round."""


@contextmanager
def running(*words: str) -> Iterator[int]:
    """A command of ours that says READY; yields its port."""
    command = [str(KOHORT), *words, "--log-level", "warning"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ready = READY.match(process.stdout.readline())
        if ready is None:
            sys.exit(f"it did not start: {' '.join(command)}")
        try:
            yield int(ready[1])
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


def heartbeat_us(wire: Blocking) -> float:
    """The median of a heartbeat, there and back."""
    beat = frame("heartbeat", 4, 1, group_id="g", generation_id=1, member_id="m")
    return median(_timed(lambda: wire.exchanges(beat)) for _ in range(500)) / 1_000


def produce_mb_s(wire: Ahead) -> float:
    """Batches of 100 KiB, two requests at a time."""
    data = PartitionProduceData(index=0, records=_batch())
    topics = (TopicProduceData(name=TOPIC, partition_data=(data,)),)
    request = frame("produce", 11, 1, acks=-1, timeout_ms=20_000, topic_data=topics)

    def produce() -> None:
        wire.says_ahead(request)
        for _ in range(PRODUCED - 1):
            wire.exchanges(request)
        wire.hears_last()

    return PRODUCED * len(request) / _timed(produce) * 1_000


def fetch_mb_s(wire: Blocking) -> float:
    """A mebibyte at a time, from the beginning, again and again."""
    part = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=FETCHED_BYTES)
    topics = (FetchTopic(topic=TOPIC, partitions=(part,)),)
    request = frame("fetch", 12, 1, max_wait_ms=0, min_bytes=1, max_bytes=FETCHED_BYTES, topics=topics)
    sizes: list[int] = []
    took_ns = _timed(lambda: sizes.extend(len(wire.exchanges(request)) for _ in range(40)))
    if min(sizes) < FETCHED_BYTES - 2 * BATCH_BYTES:
        sys.exit(f"an answer to Fetch holds {min(sizes)} bytes")
    return sum(sizes) / took_ns * 1_000


MEASURED: dict[str, Callable[[Ahead], float]] = {
    "heartbeat, us": heartbeat_us,
    "produce, MB/s": produce_mb_s,
    "fetch, MB/s": fetch_mb_s,
}


def _timed(action: Callable[[], object]) -> int:
    before = perf_counter_ns()
    action()
    return perf_counter_ns() - before


def _batch() -> bytes:
    return build_batch([Record(None, bytes(1_000), 1_000) for _ in range(BATCH_BYTES // 1_010)])


@click.command()
@click.option("--rounds", default=15, show_default=True, type=click.IntRange(1))
@click.option("--looks", is_flag=True, help="The proxy looks at groups.")
def main(rounds: int, looks: bool) -> None:
    """Measures both in turns, and prints medians."""
    options = ("--control", "127.0.0.1:0") if looks else ()
    with (
        running("serve", "--listen", "127.0.0.1:0") as port,
        running("proxy", f"127.0.0.1:{port}", *options) as proxy_port,
    ):
        wires = {"direct": Ahead(port), "proxy": Ahead(proxy_port)}
        topic = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1, assignments=(), configs=())
        wires["direct"].asks("create_topics", 7, topics=(topic,), timeout_ms=5_000, validate_only=False)
        seen: dict[tuple[str, str], list[float]] = {(what, who): [] for what in MEASURED for who in wires}
        for number in range(rounds + 1):
            for what, measure in MEASURED.items():
                for who in sorted(wires, reverse=bool(number % 2)):
                    figure = measure(wires[who])
                    if number:  # the first round warms up
                        seen[what, who].append(figure)
    for what in MEASURED:
        direct, through = seen[what, "direct"], seen[what, "proxy"]
        ratio = median(there / here for here, there in zip(direct, through, strict=True))
        print(f"{what:14}  direct {median(direct):8.1f}  through the proxy {median(through):8.1f}  ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
