"""One of the two brokers in one sequence: connections, pending requests, responses and names."""

from __future__ import annotations

import asyncio
import contextlib
from typing import NamedTuple

from kohort.proxy.talk.request_queue import RequestQueue, UnexpectedResponse
from tests.differential.codec import NO_ID, Unreadable, read_answer, write_request
from tests.talk.messages import write_raw_request
from tests.talk.values import Value, fill

CLOSED = "the broker hung up"
GOES_ON = "the broker did not hang up"
READ_BYTES = 1 << 16
UNEXPECTED = -1
"""Number under which a response to no request is compared."""

NOBODY: dict[str, Value] = {"generation": 1, "pid": 12345, "epoch": 0, "session": 54321}
"""Value of a name that is not bound yet."""


class PendingRequest(NamedTuple):
    """A request without a response."""

    number: int
    api: str  # empty for a request that only shows whether the broker has disconnected
    version: int

    def read(self, frame: bytes) -> Value:
        try:
            return read_answer(self.api, self.version, frame) if self.api else GOES_ON
        except Unreadable as error:
            return str(error)


class Talk:
    """One connection of a speaker."""

    def __init__(self, side: Side, client_id: str) -> None:
        self.side = side
        self.client_id = client_id
        self.pending: RequestQueue[PendingRequest] = RequestQueue()
        self.closed = False
        self._writer: asyncio.StreamWriter | None = None
        self._listener: asyncio.Task[None] | None = None

    async def connect(self, host: str, port: int) -> None:
        reader, self._writer = await asyncio.open_connection(host, port)
        self._listener = asyncio.create_task(self._listen(reader))

    def send(self, frame: bytes) -> None:
        """Send a frame; ignored if the broker has disconnected."""
        if self._writer is not None and not self.closed:
            self._writer.write(frame)

    def expect(self, correlation_id: int, request: PendingRequest) -> None:
        self.side.waiting.add(request.number)
        self.pending.add(correlation_id, request)

    async def hang_up(self) -> None:
        self.side.waiting -= {request.number for request in self.pending.remove_all()}
        if self._listener is not None:
            self._listener.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._listener
        if self._writer is not None:
            self._writer.close()

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        try:
            while data := await reader.read(READ_BYTES):
                for frame in self.pending.split(data):
                    request = self.pending.take(frame)
                    self.side.receive(request.number, request.read(frame))
        except UnexpectedResponse as error:
            self.side.receive(UNEXPECTED, str(error))
        except ConnectionError:
            pass
        self.closed = True
        for request in self.pending.remove_all():
            self.side.receive(request.number, CLOSED)


class Side:
    """A broker, and all its clients in one sequence."""

    def __init__(self, name: str, address: str, names: dict[str, Value]) -> None:
        self.name = name
        self.names = dict(names)
        self.waiting: set[int] = set()  # numbers of the steps without a response
        self.answers: dict[int, Value] = {}
        """Fields of the response by number of the step, or a text for anything else."""
        self.changed = asyncio.Event()
        self._host, _, port = address.rpartition(":")
        self._port = int(port)
        self._talks: dict[str, Talk] = {}

    async def ask(self, number: int, speaker: str, api: str, version: int, values: Value) -> None:
        """Send a request. Raises ValueError for values that cannot be encoded."""
        talk = await self._talk(speaker)
        filled = self.fill(values)
        correlation_id = talk.pending.next_correlation_id()
        talk.send(write_request(api, version, correlation_id, talk.client_id, filled))
        if api == "Produce" and not filled.get("acks"):
            # It has no response. A broker that responds to another request has not disconnected.
            api, version, correlation_id = "", 0, talk.pending.next_correlation_id()
            talk.send(write_request("ApiVersions", 0, correlation_id, talk.client_id, {}))
        talk.expect(correlation_id, PendingRequest(number, api, version))

    async def send(self, number: int, speaker: str, values: Value) -> None:
        """Send a handmade header; its response is read as the oldest ApiVersions."""
        talk = await self._talk(speaker)
        next_id = talk.pending.next_correlation_id()
        frame, correlation_id = write_raw_request(self.fill(values), talk.client_id, next_id)
        talk.expect(correlation_id, PendingRequest(number, "ApiVersions", 0))
        talk.send(frame)

    def fill(self, values: Value) -> Value:
        """Replace names in values by their meaning on this side."""
        return fill(values, Known(self.names))

    def receive(self, number: int, answer: Value) -> None:
        self.waiting.discard(number)
        self.answers[number] = answer
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
