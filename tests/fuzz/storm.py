"""Clients that send valid and damaged requests to a broker, many at once, also behind waiting ones."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

from kohort.protocol.api_keys import API_BY_KEY
from kohort.protocol.messages.fetch import FetchPartition, FetchTopic
from kohort.protocol.messages.metadata import MetadataRequestTopic
from kohort.protocol.wire import INT
from kohort.whatif.clients.classic_group_member import ClassicMember
from tests.fuzz.broker import PASSWORD, USER
from tests.fuzz.mutations import HUGE, mutate
from tests.fuzz.requests import GROUPS, TOPICS, TRANSACTIONS, VERY_LARGE, Pool, Requests
from tests.protocol.messages import VERSIONS
from tests.support.frames import frame
from tests.support.wires import Waiting

CLIENTS = 64
# how long a client waits for responses before it closes the connection; some requests are never answered
PATIENCE_S = 1.0

CONNECTS_WITHIN_S = 10.0  # after that a client retries; failed connections are reported

LOADS_WITHIN_S = 2.0

OF_EACH = 12  # initial bodies of each API and version

REMEMBERED = 2_000  # number of batches that are kept for the search for the cause of an error

GREETING = [
    frame("sasl_handshake", 1, mechanism="PLAIN"),
    frame("sasl_authenticate", 1, auth_bytes=f"\0{USER}\0{PASSWORD}".encode()),
]


@dataclass(slots=True)
class Counts:
    """Events so far."""

    sent: int = 0
    damaged: int = 0
    answered: int = 0
    hung_up: int = 0  # connections that the broker closed
    given_up: int = 0
    connections: int = 0
    not_accepted: int = 0  # connections that were not accepted in time
    # APIs and versions of requests without a response at the timeout, except those that need none
    unanswered: Counter[str] = field(default_factory=Counter)
    apis: set[tuple[str, int]] = field(default_factory=set)


class Storm:
    """All clients. Their frames depend on `random` only, apart from the order of responses."""

    def __init__(self, port: int, random: Random, *, logs_in: bool = False) -> None:
        self.port = port
        self._logs_in = logs_in
        self.random = random
        self.counts = Counts()
        self.remembered: deque[list[bytes]] = deque(maxlen=REMEMBERED)
        self.ends = False
        self.clients: set[Client] = set()  # connected clients
        self._connecting: set[asyncio.Task[None]] = set()
        self._pool = Pool(random, OF_EACH, VERY_LARGE)
        self._waiting = [
            *(frame("fetch", 11, max_wait_ms=wait_ms, min_bytes=1 << 30, max_bytes=1 << 30, topics=(topic,))
              for wait_ms in (100, 500) for topic in map(_from_the_start, TOPICS[:2])),
            *(frame("join_group", 3, **ClassicMember("fuzz", item).join().fields) for item in GROUPS[:4]),
        ]  # fmt: skip

    async def learn(self, wire: Waiting) -> None:
        """Query the broker for existing names, so that requests pass the first checks."""
        learnt = self._pool.learnt
        topics = (
            await wire.asks("metadata", 12, topics=tuple(MetadataRequestTopic(name=item) for item in TOPICS))
        ).topics
        learnt["topic_id"] = [item.topic_id for item in topics if item.topic_id is not None]
        members: list[str] = []
        for group in GROUPS[:6]:
            await wire.asks("find_coordinator", 0, coordinator_keys=(group,))
            described = (await wire.asks("describe_groups", 0, groups=(group,))).groups[0]
            members += [member.member_id for member in described.members]
        learnt["member_id"] = members[:40]
        producers = [
            await wire.asks("init_producer_id", 0, transactional_id=transaction, transaction_timeout_ms=2_000)
            for transaction in TRANSACTIONS
        ]
        learnt["producer_id"] = [producer.producer_id for producer in producers if producer.producer_id >= 0]
        learnt["producer_epoch"] = [producer.producer_epoch for producer in producers if producer.producer_id >= 0]
        for name in ("producer_id", "producer_epoch"):
            learnt[f"v3_and_below_{name}"] = learnt[name]

    def connect_client(self) -> None:
        """Connect another client."""
        task = asyncio.get_running_loop().create_task(connect(self))
        self._connecting.add(task)  # the loop itself would not keep it
        task.add_done_callback(self._connecting.discard)

    def replace_all(self) -> None:
        """Close all connections, and connect new clients."""
        for client in list(self.clients):
            client.hang_up()

    def batch(self) -> list[bytes]:
        """Return frames that one client sends at once."""
        random = self.random
        frames = [self._frame() for _ in range(random.choice((1, 1, 2, 4, 8, 30)))]
        if random.random() < 0.15:
            frames.insert(0, random.choice(self._waiting))
        self.counts.sent += len(frames)
        self.remembered.append(frames)
        return frames

    def greeting(self) -> list[bytes]:
        """Return the first frames of a client: most log in if necessary, some do not, or send a damaged login."""
        draw = self.random.random()
        if not self._logs_in or draw < 0.1:
            return []
        if draw < 0.8:
            return GREETING
        damaged = mutate(self.random, self.random.choice(GREETING)[4:])
        return [self.random.choice(GREETING), INT.pack(len(damaged)) + damaged]

    def _frame(self) -> bytes:
        random, pool = self.random, self._pool
        name, version, body = pool.body()
        self.counts.apis.add((name, version))
        if random.random() < 0.85:
            return pool.frame(name, version, body)
        self.counts.damaged += 1
        if random.random() < 0.9:
            return pool.frame(name, version, mutate(random, body))
        raw = mutate(random, pool.frame(name, version, body)[4:])
        return (random.choice(HUGE)[:4] if random.random() < 0.2 else INT.pack(len(raw))) + raw


async def loads(port: int, random: Random) -> None:
    """Send a request in each version of each API before the measurement, because code is loaded with its first use."""
    requests = Requests(random)

    async def asks(name: str, version: int) -> None:
        wire = await Waiting.to(port)
        with suppress(OSError):  # some wait for long, some are never answered
            async with asyncio.timeout(LOADS_WITHIN_S):
                await wire.exchanges(requests.frame(name, version, requests.body(name, version)))
        wire.close()

    for start in range(0, len(VERSIONS), CLIENTS):
        await asyncio.gather(*(asks(*pair) for pair in VERSIONS[start : start + CLIENTS]))


def _from_the_start(topic: str) -> FetchTopic:
    return FetchTopic(topic=topic, partitions=(FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1),))


class Client(asyncio.Protocol):
    """Sends a batch, counts the responses, sends the next batch. Reconnects when the broker closes the connection."""

    def __init__(self, storm: Storm) -> None:
        self._storm = storm
        self._received = bytearray()
        self._awaited = 0
        self._frames: list[bytes] = []
        self._patience: asyncio.TimerHandle | None = None
        self._gives_up = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._storm.counts.connections += 1
        self._storm.clients.add(self)
        self._greeting = self._storm.greeting()
        self._send()

    def data_received(self, data: bytes) -> None:
        received = self._received
        received += data
        at = 0
        while len(received) - at >= 4:
            end = at + 4 + INT.unpack_from(received, at)[0]
            if end > len(received):
                break
            at = end
            self._awaited -= 1
            self._storm.counts.answered += 1
        del received[:at]
        if self._awaited <= 0:  # a damaged length may make two requests of one
            self._send()

    def connection_lost(self, error: Exception | None) -> None:
        self._storm.clients.discard(self)
        if self._patience is not None:
            self._patience.cancel()
        if not self._gives_up:
            self._storm.counts.hung_up += 1
        if not self._storm.ends:
            self._storm.connect_client()

    def _send(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
        if self._storm.ends:
            self.hang_up()
            return
        frames = [*self._greeting, *self._storm.batch()]
        self._greeting = []
        self._awaited, self._frames = len(frames), frames
        self._transport.write(b"".join(frames))
        self._patience = asyncio.get_running_loop().call_later(PATIENCE_S, self._lose_patience)

    def _lose_patience(self) -> None:
        counts = self._storm.counts
        counts.given_up += 1
        counts.unanswered[_named(self._frames[-self._awaited])] += 1
        self.hang_up()

    def hang_up(self) -> None:
        """Close the connection; another client replaces it."""
        self._gives_up = True
        self._transport.abort()


def _named(frame: bytes) -> str:
    """Return the API and version in the header of a frame."""
    api = API_BY_KEY.get(int.from_bytes(frame[4:6], "big", signed=True))
    return "something damaged" if api is None else f"{api.name} v{int.from_bytes(frame[6:8], 'big', signed=True)}"


async def connect(storm: Storm) -> None:
    """Connect another client, unless the broker is gone."""
    while not storm.ends:
        try:
            async with asyncio.timeout(CONNECTS_WITHIN_S):
                await asyncio.get_running_loop().create_connection(lambda: Client(storm), "127.0.0.1", storm.port)
            return
        except TimeoutError:
            storm.counts.not_accepted += 1
        except OSError:
            storm.ends = True
