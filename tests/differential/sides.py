"""One of the two brokers in one sequence: connections, pending requests, responses and names."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from kohort.proxy.talk.request_queue import correlation_id_of
from tests.differential.codec import NO_ID, Unreadable, read_answer, write_request
from tests.talk.messages import write_raw_request
from tests.talk.values import Value, fill

CLOSED = "the broker hung up"
GOES_ON = "the broker did not hang up"
NOBODY: dict[str, Value] = {"generation": 1, "pid": 12345, "epoch": 0, "session": 54321}
"""Value of a name that is not bound yet."""


class Asked(NamedTuple):
    """A request that waits."""

    number: int
    correlation_id: int
    api: str
    """Empty: only whether an answer comes is of interest."""
    version: int


class Talk:
    """One connection of a speaker."""

    def __init__(self, side: Side, client_id: str) -> None:
        self.side = side
        self.client_id = client_id
        self.waiting: deque[Asked] = deque()
        self.correlation_id = 0
        self.closed = False
        self._writer: asyncio.StreamWriter | None = None
        self._listener: asyncio.Task[None] | None = None

    async def connect(self, host: str, port: int) -> None:
        reader, self._writer = await asyncio.open_connection(host, port)
        self._listener = asyncio.create_task(self._listen(reader))

    def say(self, frame: bytes) -> None:
        """Send a frame; ignored if the broker has disconnected."""
        if self._writer is not None and not self.closed:
            self._writer.write(frame)

    def sees_whether_it_goes_on(self, number: int) -> None:
        """Send another request: a broker that responds has not disconnected."""
        self.correlation_id += 1
        self.waiting.append(Asked(number, self.correlation_id, "", 0))
        self.say(write_request("ApiVersions", 0, self.correlation_id, self.client_id, {}))

    async def hang_up(self) -> None:
        self.waiting.clear()
        if self._listener is not None:
            self._listener.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._listener
        if self._writer is not None:
            self._writer.close()

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                length = int.from_bytes(await reader.readexactly(4), "big", signed=True)
                self._hear(await reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            self.closed = True
            for asked in self.waiting:
                self.side.hears(asked, CLOSED)
            self.waiting.clear()

    def _hear(self, frame: bytes) -> None:
        if not self.waiting:
            self.side.hears(Asked(-1, 0, "", 0), f"an answer to nothing: {frame.hex()}")
            return
        asked = self.waiting.popleft()
        if correlation_id_of(frame) != asked.correlation_id:
            self.side.hears(asked, f"an answer with correlation id {correlation_id_of(frame)}: {frame.hex()}")
            return
        try:
            self.side.hears(asked, read_answer(asked.api, asked.version, frame) if asked.api else GOES_ON)
        except Unreadable as problem:
            self.side.hears(asked, str(problem))


class Side:
    """A broker, and all its clients in one sequence."""

    def __init__(self, name: str, address: str, names: dict[str, Value]) -> None:
        self.name = name
        self.names = dict(names)
        self.answers: dict[int, Value] = {}
        """Fields of the response by number of the step, or a text for anything else."""
        self.changed = asyncio.Event()
        self._host, _, port = address.rpartition(":")
        self._port = int(port)
        self._talks: dict[str, Talk] = {}
        self._learn: dict[int, Callable[[Value], None]] = {}

    @property
    def waiting(self) -> set[int]:
        """Which steps are unanswered."""
        return {asked.number for talk in self._talks.values() for asked in talk.waiting}

    async def ask(self, number: int, speaker: str, api: str, version: int, values: Value) -> Value:
        """Send a request and return its fields. Raises ValueError for values that cannot be encoded."""
        talk = await self._talk(speaker)
        talk.correlation_id += 1
        filled = self.fill(values)
        frame = write_request(api, version, talk.correlation_id, talk.client_id, filled)
        talk.say(frame)
        if api == "Produce" and filled.get("acks") == 0:
            talk.sees_whether_it_goes_on(number)
        else:
            talk.waiting.append(Asked(number, talk.correlation_id, api, version))
        return filled

    async def send(self, number: int, speaker: str, values: Value) -> None:
        """Send a handmade header; its response is read as the oldest ApiVersions."""
        talk = await self._talk(speaker)
        talk.correlation_id += 1
        frame, correlation_id = write_raw_request(self.fill(values), talk.client_id, talk.correlation_id)
        talk.waiting.append(Asked(number, correlation_id, "ApiVersions", 0))
        talk.say(frame)

    def fill(self, values: Value) -> Value:
        """Replace names in values by their meaning on this side."""
        return fill(values, Known(self.names))

    def hears(self, asked: Asked, answer: Value) -> None:
        self.answers[asked.number] = answer
        self.changed.set()

    async def hang_up(self, speaker: str) -> None:
        talk = self._talks.pop(speaker, None)
        if talk is not None:
            await talk.hang_up()

    async def close(self) -> None:
        for speaker in list(self._talks):
            await self.hang_up(speaker)

    async def _talk(self, speaker: str) -> Talk:
        talk = self._talks.get(speaker)
        if talk is None or talk.closed:
            talk = self._talks[speaker] = Talk(self, speaker.partition("/")[0])
            await talk.connect(self._host, self._port)
        return talk


class Known(dict[str, Value]):
    """Names that are all bound to a value."""

    def get(self, name: str, default: Value = None) -> Value:
        """Return the value of a name, or the id of an unknown member."""
        if name in self:
            return self[name]
        if name.endswith(("_share", "_standby")):
            return []
        if name.endswith(("_epoch", "_session", "_endpoints")):
            return 0
        return NOBODY.get(name, NO_ID if name.endswith("_id") else "nobody")
