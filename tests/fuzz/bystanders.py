"""`python -m tests.fuzz.bystanders PORT COUNT`: clients that do nothing odd, and must be served whatever others do.

Each is the member of a group of its own, and beats once a second. An echo server for the sentinel runs here, too. The
first line says its port, every second one line of JSON tells how the clients fare.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from time import perf_counter

from kohort.protocol.errors import ErrorCode
from tests.fuzz.wire import LATER, Waiting, join, request
from tests.protocol.messages import load

EVERY_S = 1.0


class Bystanders:
    """All of them."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.joined = self.served = 0
        self.worst_ms = 0.0
        self.failures: list[str] = []

    async def one(self, number: int) -> None:
        """Joins and beats until it is cancelled."""
        try:
            await self._beats(await Waiting.to(self._port), f"bystander-{number}")
        except (OSError, EOFError) as problem:
            self.failures.append(f"bystander {number} was cut off: {problem!r}")

    async def _beats(self, wire: Waiting, group: str) -> None:
        frame = await self._joins(wire, group)
        self.joined += 1
        while True:
            await asyncio.sleep(EVERY_S)
            start = perf_counter()
            answer = await wire.exchanges(frame)
            self.worst_ms = max(self.worst_ms, (perf_counter() - start) * 1e3)
            self.served += 1
            error = int.from_bytes(answer[8:10], "big", signed=True)
            if error:
                self.failures.append(f"{group} was answered {ErrorCode(error).name}")

    async def _joins(self, wire: Waiting, group: str) -> bytes:
        while True:
            await wire.asks("find_coordinator", 0, coordinator_keys=(group,))
            joined = load("join_group").read_response(3, await wire.exchanges(join(group)))[1]
            if joined.error_code is ErrorCode.none:
                break
            if joined.error_code not in LATER:
                raise OSError(f"cannot join: {joined.error_code.name}")
            await asyncio.sleep(0.05)
        member = {"group_id": group, "member_id": joined.member_id, "generation_id": joined.generation_id}
        await wire.asks("sync_group", 3, **member, assignments=())
        return request("heartbeat", 3, **member)

    def tells(self) -> None:
        """One line of JSON."""
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
                bystanders.tells()
    except* BrokenPipeError:
        pass  # nobody listens any more


if __name__ == "__main__":
    asyncio.run(main())
