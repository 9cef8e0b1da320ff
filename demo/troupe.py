"""Processes of the demo, as their parent controls them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import asdict

from kohort.demo.reports import Closed, Ready, Report, Working, read
from kohort.demo.workers.consumer import Part

LINES_KEPT = 20


class Actor:
    """One process."""

    def __init__(self, name: str, arguments: list[str], on_report: Callable[[Report], None]) -> None:
        self.name = name
        self.doing = "starts"  # activity, in a word or two
        self.ready = self.working = self.closed = self.ended = False
        self.last_words: deque[str] = deque(maxlen=LINES_KEPT)
        self._arguments = arguments
        self._on_report = on_report
        self._ending = False
        self._process: asyncio.subprocess.Process | None = None
        self._listening: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the process; `ready` is called after its library is imported."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            *self._arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # only the parent handles Ctrl-C
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
        self._listening = asyncio.create_task(self._listen(self._process))

    def order(self, *words: object) -> None:
        """Send an order to the process, unless it has ended."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._ending |= words[0] == "stop"
        self.doing = {"join": "consumes", "stop": "stops"}.get(str(words[0]), self.doing)
        if not self.ended:
            self._process.stdin.write((" ".join(map(str, words)) + "\n").encode())

    def kill(self) -> None:
        self._ending = True
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def wait(self) -> None:
        if self._listening is not None:
            await self._listening

    @property
    def vanished(self) -> bool:
        """True if the process ended unexpectedly."""
        return self.ended and not self._ending

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        overhearing = asyncio.create_task(self._overhear(process.stderr))
        async for line in process.stdout:
            report = read(line)
            self._note(report)
            self._on_report(report)
        await overhearing
        await process.wait()
        self.ended, self.doing = True, "gone"
        self._on_report(Closed())

    def _note(self, report: Report) -> None:
        match report:
            case Ready():
                self.ready, self.doing = True, "waits"
            case Working(_, seconds):
                self.working, self.doing = True, f"processes for {seconds:g} s"
            case Closed():
                self.closed = True
            case _:
                if self.working:
                    self.working, self.doing = False, "consumes"

    async def _overhear(self, stderr: asyncio.StreamReader) -> None:
        async for line in stderr:
            self.last_words.append(line.decode(errors="replace").rstrip())


class Troupe:
    """All processes that were ever started; none outlives the demo."""

    def __init__(self) -> None:
        self.actors: list[Actor] = []

    async def consumer(self, part: Part, on_report: Callable[[Report], None]) -> Actor:
        """Start a consumer, which waits for the order to join."""
        return await self._start(part.name, ["kohort.demo.workers.consuming", json.dumps(asdict(part))], on_report)

    async def producer(
        self, bootstrap: str, topic: str, seed: int, offsets: list[int], on_report: Callable[[Report], None]
    ) -> Actor:
        """Start the producer, which waits for the order to join."""
        arguments = [bootstrap, topic, str(seed), *map(str, offsets)]
        return await self._start("producer", ["kohort.demo.workers.producing", *arguments], on_report)

    async def _start(self, name: str, arguments: list[str], on_report: Callable[[Report], None]) -> Actor:
        actor = Actor(name, arguments, on_report)
        self.actors.append(actor)
        await actor.start()
        return actor

    def kill(self) -> None:
        for actor in self.actors:
            actor.kill()

    async def ended(self) -> None:
        """Wait until all processes have ended."""
        await asyncio.gather(*(actor.wait() for actor in self.actors))
