"""`python -m benchmarks.stalls [NAME …]`: the longest wait of a client that pings every 5 ms, under each attack.

In addition the largest requests of every API are sent once each: NAME may be one of `describe_configs` or `largest`.
For comparison an echo server in a process of its own gets the same pings: its response times are those of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from subprocess import PIPE, Popen, TimeoutExpired
from time import sleep
from typing import Any

import uvloop

from benchmarks.stalls.attacks import ATTACKS, Attack
from benchmarks.stalls.client import Client, pings
from benchmarks.stalls.largest import LIMIT_MB, LIMIT_MS, costs_of, memory_mb, ping_on_request
from kohort.protocol.api_keys import API_BY_NAME

SECONDS = 4.0
LARGEST = "largest"  # name of the largest requests of all APIs


def main() -> None:
    """Run the attacks, each with a broker of its own."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stalls", description=__doc__.partition(": ")[2])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all if left out: {', '.join(ATTACKS)}")
    names = parser.parse_args().names
    if unknown := [name for name in names if name not in ATTACKS and name not in API_BY_NAME and name != LARGEST]:
        parser.error(f"unknown attack {unknown[0]!r}; choose among {', '.join((*ATTACKS, LARGEST, *API_BY_NAME))}")
    processes = get_context("spawn")
    far_end, near_end = processes.Pipe()
    echo = processes.Process(target=_echo, args=(far_end,), daemon=True)
    echo.start()
    echo_port = near_end.recv()
    attacks = [name for name in names or ATTACKS if name in ATTACKS]
    if attacks:
        print("attack                requests  pings   p99 ms   max ms  echo p99  echo max     MB")
    for name in attacks:
        _play(name, ATTACKS[name], echo_port, processes)
    apis = API_BY_NAME if not names or LARGEST in names else [name for name in names if name in API_BY_NAME]
    if apis:
        _send_largest(apis, processes)


def _send_largest(apis: Iterable[str], processes: Any) -> None:
    """Send the largest requests of these APIs, with a broker for each API."""
    print(f"{'largest request':80} wait ms  CPU s    MB  left MB  (limits: {LIMIT_MS} ms, {LIMIT_MB} MB)")
    for name in apis:
        broker, port = _start()
        far_end, near_end = processes.Pipe()
        pinger = processes.Process(target=ping_on_request, args=(port, far_end), daemon=True)
        try:
            Client(port).ask(_ready())
            pinger.start()
            near_end.recv()
            for cost in costs_of(name, port, broker.pid, near_end):
                mark = " !" if cost.wait_ms > LIMIT_MS or cost.peak_mb > LIMIT_MB else ""
                figures = f"{cost.wait_ms:7.1f} {cost.cpu_s:6.2f} {cost.peak_mb:5.0f} {cost.left_mb:8.0f}"
                print(f"{cost.title:80} {figures}{mark}", flush=True)
            near_end.send(None)
            pinger.join(5)
        finally:
            _stop(broker)


def _start() -> tuple[Popen[bytes], int]:
    """Start a broker; return it and its port."""
    words = [str(Path(sys.executable).with_name("kohort")), "serve", "--listen", "127.0.0.1:0"]
    words += ["--set", "group.initial.rebalance.delay.ms=1500", "--log-level", "warning"]
    broker = Popen(words, stdout=PIPE, stderr=sys.stderr if os.environ.get("VERBOSE") else PIPE)
    assert broker.stdout is not None
    port = int(broker.stdout.readline().split(b"bootstrap=")[1].split(b",")[0].split()[0].rpartition(b":")[2])
    return broker, port


def _stop(broker: Popen[bytes]) -> None:
    broker.send_signal(signal.SIGTERM)
    try:
        broker.wait(10)
    except TimeoutExpired:
        broker.kill()


def _play(name: str, attack: Attack, echo_port: int, processes: Any) -> None:
    broker, port = _start()
    try:
        Client(port).ask(_ready())
        sleep(0.3)
        attack.prepare(Client(port))
        far_end, near_end = processes.Pipe()
        attackers = processes.Process(target=_attack, args=(name, port, far_end), daemon=True)
        attackers.start()
        near_end.recv()  # they are ready
        pingers = [_in_process(processes, pings, pinger, SECONDS) for pinger in (port, echo_port)]
        near_end.send(None)
        took, plain = (pinger.recv() for pinger in pingers)
        attackers.terminate()
        count = near_end.recv() if near_end.poll(5) else 0
        _tell(name, count, took, plain, memory_mb(broker.pid, "VmHWM"))
    finally:
        _stop(broker)


def _ready() -> bytes:
    from benchmarks.stalls.attacks import frame

    return frame("find_coordinator", 4, coordinator_keys=("g",))


def _tell(name: str, count: int, took: list[float], plain: list[float], peak_mb: float) -> None:
    took.sort()
    plain.sort()
    p99, echo_p99 = took[int(len(took) * 0.99)], plain[int(len(plain) * 0.99)]
    print(
        f"{name:20} {count:9} {len(took):6} {p99:8.1f} {took[-1]:8.1f} {echo_p99:9.1f} {plain[-1]:9.1f} {peak_mb:6.0f}",
        flush=True,
    )


def _in_process(processes: Any, function: Callable[..., Any], *arguments: Any) -> Connection:
    far_end, near_end = processes.Pipe()
    process = processes.Process(target=_send_result, args=(far_end, function, arguments), daemon=True)
    process.start()
    result: Connection = near_end
    return result


def _send_result(pipe: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    pipe.send(function(*arguments))


def _attack(name: str, port: int, pipe: Connection) -> None:
    """Send an attack's frames on all of its connections repeatedly."""
    attack = ATTACKS[name]
    answered = 0
    if attack.parked is not None:
        parked = [Client(port) for _ in range(attack.parked[1])]
        for attacker in parked:
            attacker.socket.sendall(attack.parked[0])
        sleep(0.5)

    class Attacker(asyncio.Protocol):
        def __init__(self) -> None:
            self.received = bytearray()
            self.waiting = 0

        def connection_made(self, transport: Any) -> None:
            self.transport = transport

        def go(self) -> None:
            self.waiting = len(attack.frames)
            self.transport.writelines(attack.frames)

        def data_received(self, data: bytes) -> None:
            nonlocal answered
            received = self.received
            received += data
            while len(received) >= 4 and len(received) >= 4 + (size := int.from_bytes(received[:4], "big")):
                del received[: 4 + size]
                answered += 1
                self.waiting -= 1
                if not self.waiting:
                    self.go()

    async def run() -> None:
        loop = asyncio.get_running_loop()
        attackers = [await loop.create_connection(Attacker, "127.0.0.1", port) for _ in range(attack.connections)]
        stopped = asyncio.Event()
        loop.add_signal_handler(signal.SIGTERM, stopped.set)
        pipe.send(None)
        await loop.run_in_executor(None, pipe.recv)
        if attack.frames:
            for _, attacker in attackers:
                attacker.go()
        await stopped.wait()
        pipe.send(answered)

    uvloop.run(run())


def _echo(pipe: Connection) -> None:
    """Send everything received back."""

    class Echo(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            self.transport = transport

        def data_received(self, data: bytes) -> None:
            self.transport.write(data)

    async def run() -> None:
        listening = socket.create_server(("127.0.0.1", 0))
        pipe.send(listening.getsockname()[1])
        server = await asyncio.get_running_loop().create_server(Echo, sock=listening)
        await server.serve_forever()

    uvloop.run(run())
