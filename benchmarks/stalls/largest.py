"""The largest requests of all APIs, each sent once: the wait of a ping, CPU time and memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, NamedTuple

from benchmarks.stalls.client import PING, Client
from kohort.protocol.api_keys import API_BY_NAME
from kohort.protocol.messages import message_of
from tests.support.frames import frame
from tests.support.largest_requests import prepare, requests_of

ELEMENTS = 49_000
"""Just fewer elements than a request may hold (`kohort.request.max.elements`)."""

PARTITIONS = 9_000

LIMIT_MS, LIMIT_MB = 50, 256
"""What one client may cost: the wait of others, and memory."""


class Cost(NamedTuple):
    """What one request has cost."""

    title: str
    wait_ms: float
    cpu_s: float
    peak_mb: float
    left_mb: float


def ping_on_request(port: int, pipe: Connection) -> None:
    """Send a ping every millisecond, and report the longest wait whenever something is received."""
    client = Client(port)
    longest_ms = 0.0
    pipe.send(None)
    while True:
        start = perf_counter()
        client.ask(PING)
        longest_ms = max(longest_ms, (perf_counter() - start) * 1_000)
        if pipe.poll():
            if pipe.recv() is None:
                return
            pipe.send(longest_ms)
            longest_ms = 0.0
        sleep(0.001)


def costs_of(name: str, port: int, pid: int, waits: Connection) -> Iterator[Cost]:
    """Send the requests of one API to a broker with this process id, one after the other."""
    client = Client(port)

    def ask(api: str, version: int, **fields: Any) -> Any:
        client.socket.sendall(frame(api, version, 1, **fields))
        return message_of(api).read_response(version, client.read())[1]

    topic_id = prepare(ask, PARTITIONS)
    for epoch in (1, 1, 1):
        sleep(0.7)
        ask("share_group_heartbeat", 1, group_id="share", member_id="member", member_epoch=epoch)
    for request in requests_of(API_BY_NAME[name], topic_id, PARTITIONS, ELEMENTS):
        sleep(0.05)
        longest(waits)
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak of memory is reset
        before_s, before_mb = cpu_s(pid), memory_mb(pid, "VmRSS")
        sender = Client(port, timeout_s=20)
        try:
            sender.socket.sendall(request.frame)
            sender.skip_response()
        except (ConnectionError, TimeoutError):
            pass  # it is too large for an answer, or waits
        sender.socket.close()
        sleep(0.05)
        wait_ms, peak_mb = longest(waits), memory_mb(pid, "VmHWM")
        sleep(0.3)
        left_mb = memory_mb(pid, "VmRSS") - before_mb
        yield Cost(request.title, wait_ms, cpu_s(pid) - before_s, peak_mb - before_mb, left_mb)


def longest(waits: Connection) -> float:
    """Return how many milliseconds the slowest ping took since the last call."""
    waits.send(True)
    longest_ms: float = waits.recv()
    return longest_ms


def memory_mb(pid: int, field: str) -> float:
    """Return a figure of /proc/PID/status, as VmRSS and VmHWM."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    return 0.0


def cpu_s(pid: int) -> float:
    """Return the processor time that a process has had."""
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
