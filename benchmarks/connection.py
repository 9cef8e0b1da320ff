"""One connection of the load generator: sends requests, matches responses, counts anomalies."""

import asyncio
import resource
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from time import perf_counter_ns
from typing import Any, TypeVar

from benchmarks.failures import Failures, UnmeasurableError
from kohort.protocol.wire import INT

TOGETHER = 32  # connections opened at the same time, fewer than the backlog of a listening socket

ANSWER_WITHIN_S = 20
LOST = "connection lost"

T = TypeVar("T")


class Connection(asyncio.Protocol):
    """Connection that counts a failure unless responses arrive in the order of the requests, each once."""

    def __init__(self, failures: Failures, measuring: "asyncio.Task[Any] | None" = None) -> None:
        self.failures = failures
        self._measuring = measuring  # cancelled when the connection is lost, since no response can arrive
        self.waiting: deque[tuple[bytes, Callable[[bytes, Any], None], Any]] = deque()
        self.bytes_received = 0
        self.sent = 0  # number of requests, and the last correlation id
        # beginning of a response; its length is in the first piece if that has four bytes
        self._pieces: list[bytes] = []
        self._held = self._expected = 0
        self._transport: Any = None
        self._closing = False

    def ask(self, frame: bytes, on_reply: Callable[[bytes, Any], None], argument: Any = None) -> None:
        """Send a request; `on_reply` is called with the payload of the response and `argument`."""
        self.sent += 1
        packed = INT.pack(self.sent)
        self.waiting.append((packed, on_reply, argument))
        if len(frame) < 4096:
            self._transport.write(frame[:8] + packed + frame[12:])
        else:
            self._transport.writelines((frame[:8] + packed, memoryview(frame)[12:]))

    async def call(self, frame: bytes, within_s: float = ANSWER_WITHIN_S) -> bytes:
        """Send a request and return the payload of its response.

        Raises:
            UnmeasurableError: No response arrived in time.
        """
        answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.ask(frame, lambda payload, _: answered.set_result(payload))
        return await within(answered, within_s, "a request was not answered")

    def close(self) -> None:
        """Close the connection; pending responses do not count as missing."""
        self._closing = True
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        if not self._closing:
            self.failures.add(LOST, f"{len(self.waiting)} unanswered; {error or 'the server hung up'}")
            if self._measuring is not None:
                self._measuring.cancel()

    def data_received(self, data: bytes) -> None:
        self.bytes_received += len(data)
        if self._pieces:
            self._pieces.append(data)
            self._held += len(data)
            if self._held < self._expected:
                return
            pieces, self._pieces = self._pieces, []
            if self._held == self._expected > 4:  # a long reply is put together once, and not copied again
                self._reply(b"".join((pieces[0][4:], *pieces[1:])))
                return
            data = b"".join(pieces)
        at, end = 0, len(data)
        while end - at >= 4:
            next_at = at + 4 + int.from_bytes(data[at : at + 4], "big")
            if next_at > end:
                break
            self._reply(data[at + 4 : next_at])
            at = next_at
        if at < end:
            self._pieces = [data[at:]]
            self._held = end - at
            self._expected = next_at - at if end - at >= 4 else 4

    def _reply(self, payload: bytes) -> None:
        if not self.waiting:
            self.failures.add("reply to nothing", payload[:64].hex())
            return
        correlation_id, on_reply, argument = self.waiting.popleft()
        if payload[:4] != correlation_id:
            self.failures.add("wrong correlation id", f"{payload[:4].hex()} for {correlation_id.hex()}")
            return
        on_reply(payload, argument)


class ClosedLoop:
    """Load that keeps requests in flight on one connection: each checked response is followed by the next request."""

    def __init__(self, connection: Connection, next_frame: Callable[[], bytes], judge: Callable[[bytes], bool]) -> None:
        self.connection = connection
        self.next_frame = next_frame
        self.judge = judge  # returns whether a payload without correlation id is right, and counts failures itself
        self.good: bytes | None = None  # last right response; the next one is right if it has the same bytes
        self.latencies_ns: list[int] = []
        self.counting = False
        self.running = True

    def start(self, in_flight: int = 1) -> None:
        for _ in range(in_flight):
            self._fire()

    def _fire(self) -> None:
        self.connection.ask(self.next_frame(), self._answered, perf_counter_ns())

    def _answered(self, payload: bytes, sent_ns: int) -> None:
        if self.counting:
            self.latencies_ns.append(perf_counter_ns() - sent_ns)
        if self.running:
            self._fire()
        body = payload[4:]
        if body != self.good and self.judge(body):
            self.good = body


async def run_closed_loops(loops: Sequence[ClosedLoop], warm_up_s: float, seconds: float, meter: Any) -> None:
    """Run started loops, with the meter during the second part, and wait for pending responses."""
    await asyncio.sleep(warm_up_s)
    meter.start()
    for loop in loops:
        loop.counting = True
    await asyncio.sleep(seconds)
    for loop in loops:
        loop.counting = loop.running = False
    meter.stop()
    await drain(loop.connection for loop in loops)


async def drain(connections: Iterable[Connection], within_s: float = ANSWER_WITHIN_S) -> None:
    """Wait until no request is in flight; count missing responses as failures."""
    clients = list(connections)
    until_ns = perf_counter_ns() + int(within_s * 1e9)
    while any(client.waiting for client in clients) and perf_counter_ns() < until_ns:
        await asyncio.sleep(0.002)
    for client in clients:
        if client.waiting:
            client.failures.add("unanswered", count=len(client.waiting))


def allow_many_sockets() -> None:
    """Raise the limit of open files of this process and the servers that it starts as far as possible."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def connect(host: str, port: int, count: int, failures: Failures) -> list[Connection]:
    """Open `count` connections.

    Raises:
        UnmeasurableError: The server does not accept them.
    """
    loop = asyncio.get_running_loop()
    measuring = asyncio.current_task()
    connections: list[Connection] = []

    async def one() -> Connection:
        _, client = await loop.create_connection(lambda: Connection(failures, measuring), host, port)
        return client

    try:
        while len(connections) < count:
            connections += await asyncio.gather(*(one() for _ in range(min(TOGETHER, count - len(connections)))))
    except OSError as problem:
        raise UnmeasurableError(f"connection {len(connections) + 1} of {count}: {problem}") from problem
    return connections


async def within(awaitable: Awaitable[T], seconds: float, otherwise: str) -> T:
    """Wait for an awaitable, at most `seconds`.

    Raises:
        UnmeasurableError: Timeout; `otherwise` is the message.
    """
    try:
        return await asyncio.wait_for(awaitable, seconds)
    except TimeoutError:
        raise UnmeasurableError(f"{otherwise} within {seconds:g} s") from None
