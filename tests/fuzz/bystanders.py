"""`python -m tests.fuzz.bystanders PORT COUNT`: well-behaved clients that must be served during the fuzzing.

Each is the member of its own group and sends a heartbeat every second. An echo server for the sentinel runs here, too.
The first line contains its port; then one line of JSON per second reports the state of the clients.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from time import perf_counter

from kohort.protocol.errors import ErrorCode
from kohort.whatif.clients.classic_group_member import SYNCED, ClassicMember
from kohort.whatif.clients.group_member import JOINING
from tests.support.frames import frame
from tests.support.wires import Waiting

EVERY_S = 1.0


class Bystanders:
    """All well-behaved clients."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.joined = self.served = 0
        self.worst_ms = 0.0
        self.failures: list[str] = []

    async def one(self, number: int) -> None:
        """Join, and send heartbeats until cancelled."""
        try:
            await self._beats(await Waiting.to(self._port), f"bystander-{number}")
        except OSError as problem:
            self.failures.append(f"bystander {number} was cut off: {problem!r}")

    async def _beats(self, wire: Waiting, group: str) -> None:
        beat = await self._joins(wire, group)
        self.joined += 1
        while True:
            await asyncio.sleep(EVERY_S)
            start = perf_counter()
            answer = await wire.exchanges(beat)
            self.worst_ms = max(self.worst_ms, (perf_counter() - start) * 1e3)
            self.served += 1
            error = int.from_bytes(answer[8:10], "big", signed=True)
            if error:
                self.failures.append(f"{group} was answered {ErrorCode(error).name}")

    async def _joins(self, wire: Waiting, group: str) -> bytes:
        member = ClassicMember(group, group)
        while member.phase != SYNCED:
            await wire.asks("find_coordinator", 0, coordinator_keys=(group,))
            error = await wire.says(member.next())
            if error not in JOINING:
                raise OSError(f"cannot join: {error.name}")
            await asyncio.sleep(0.05)
        return frame("heartbeat", 3, **member.beat().fields)

    def report(self) -> None:
        """Print one line of JSON."""
        print(json.dumps({
            "joined": self.joined, "served": self.served, "worst_ms": self.worst_ms, "failures": self.failures,
        }), flush=True)  # fmt: skip
        self.failures = []


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(100):
        writer.write(data)


async def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    port, count = map(int, sys.argv[1:])
    echo = await asyncio.start_server(_echo, "127.0.0.1", 0)
    print(json.dumps({"echo_port": echo.sockets[0].getsockname()[1]}), flush=True)
    bystanders = Bystanders(port)
    try:
        async with asyncio.TaskGroup() as tasks:
            for number in range(count):
                tasks.create_task(bystanders.one(number))
            while True:
                await asyncio.sleep(EVERY_S)
                bystanders.report()
    except* BrokenPipeError:
        pass  # the reader has closed the pipe


if __name__ == "__main__":
    asyncio.run(main())
