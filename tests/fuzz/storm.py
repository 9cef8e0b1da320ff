"""Clients that send a broker what they like: valid requests and damaged ones, many at once, behind waiting ones."""

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
from tests.fuzz.broker import PASSWORD, USER
from tests.fuzz.mutations import HUGE, mutate
from tests.fuzz.requests import GROUPS, TOPICS, TRANSACTIONS, VERY_LARGE, Pool, Requests
from tests.protocol.messages import VERSIONS
from tests.support.classic_member import ClassicMember
from tests.support.frames import frame
from tests.support.wires import Waiting

CLIENTS = 64
PATIENCE_S = 1.0
"""How long a client waits for answers before it hangs up; some requests are never answered."""

CONNECTS_WITHIN_S = 10.0
"""After that a client tries again; what has not been accepted is told."""

LOADS_WITHIN_S = 2.0

OF_EACH = 12
"""Bodies to start with, of each API and version."""

REMEMBERED = 2_000
"""Batches that are remembered, for those who look for what a failure came from."""

GREETING = [
    frame("sasl_handshake", 1, mechanism="PLAIN"),
    frame("sasl_authenticate", 1, auth_bytes=f"\0{USER}\0{PASSWORD}".encode()),
]


@dataclass(slots=True)
class Counts:
    """What has happened so far."""

    sent: int = 0
    damaged: int = 0
    answered: int = 0
    hung_up: int = 0
    """Connections that the broker closed."""
    given_up: int = 0
    connections: int = 0
    not_accepted: int = 0
    """Connections that nobody accepted in time."""
    unanswered: Counter[str] = field(default_factory=Counter)
    """What clients waited for when they gave up, but for those that want no answer: APIs and versions."""
    apis: set[tuple[str, int]] = field(default_factory=set)


class Storm:
    """All clients, and where their frames come from: `random` alone, apart from the order in which answers come."""

    def __init__(self, port: int, random: Random, *, logs_in: bool = False) -> None:
        self.port = port
        self._logs_in = logs_in
        self.random = random
        self.counts = Counts()
        self.remembered: deque[list[bytes]] = deque(maxlen=REMEMBERED)
        self.ends = False
        self.clients: set[Client] = set()
        """Those that are connected."""
        self._connecting: set[asyncio.Task[None]] = set()
        self._pool = Pool(random, OF_EACH, VERY_LARGE)
        self._waiting = [
            *(frame("fetch", 11, max_wait_ms=wait_ms, min_bytes=1 << 30, max_bytes=1 << 30, topics=(topic,))
              for wait_ms in (100, 500) for topic in map(_from_the_start, TOPICS[:2])),
            *(frame("join_group", 3, **ClassicMember("fuzz", each).join().fields) for each in GROUPS[:4]),
        ]  # fmt: skip

    async def learns(self, wire: Waiting) -> None:
        """Asks the broker for names that it knows, so that requests get further than to "unknown"."""
        learnt = self._pool.learnt
        topics = (
            await wire.asks("metadata", 12, topics=tuple(MetadataRequestTopic(name=each) for each in TOPICS))
        ).topics
        learnt["topic_id"] = [each.topic_id for each in topics if each.topic_id is not None]
        members: list[str] = []
        for group in GROUPS[:6]:
            await wire.asks("find_coordinator", 0, coordinator_keys=(group,))
            described = (await wire.asks("describe_groups", 0, groups=(group,))).groups[0]
            members += [each.member_id for each in described.members]
        learnt["member_id"] = members[:40]
        producers = [
            await wire.asks("init_producer_id", 0, transactional_id=each, transaction_timeout_ms=2_000)
            for each in TRANSACTIONS
        ]
        learnt["producer_id"] = [each.producer_id for each in producers if each.producer_id >= 0]
        learnt["producer_epoch"] = [each.producer_epoch for each in producers if each.producer_id >= 0]
        for name in ("producer_id", "producer_epoch"):
            learnt[f"v3_and_below_{name}"] = learnt[name]

    def connects(self) -> None:
        """A further client comes."""
        task = asyncio.get_running_loop().create_task(connect(self))
        self._connecting.add(task)  # the loop itself would not keep it
        task.add_done_callback(self._connecting.discard)

    def replace_all(self) -> None:
        """Hangs up on behalf of all clients; others come in their places."""
        for client in list(self.clients):
            client.hang_up()

    def batch(self) -> list[bytes]:
        """Frames that one client sends at once."""
        random = self.random
        frames = [self._frame() for _ in range(random.choice((1, 1, 2, 4, 8, 30)))]
        if random.random() < 0.15:
            frames.insert(0, random.choice(self._waiting))
        self.counts.sent += len(frames)
        self.remembered.append(frames)
        return frames

    def greeting(self) -> list[bytes]:
        """What a client says first: most log in where they have to, some do not, or say something damaged there."""
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
    """Asks once in each version of each API, before anything is measured: code is loaded at its first use."""
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
    """Sends a batch, counts the answers, sends the next one. Connects again when it was hung up on."""

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

    def connection_lost(self, problem: Exception | None) -> None:
        self._storm.clients.discard(self)
        if self._patience is not None:
            self._patience.cancel()
        if not self._gives_up:
            self._storm.counts.hung_up += 1
        if not self._storm.ends:
            self._storm.connects()

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
        """Ends the connection; another client comes in its place."""
        self._gives_up = True
        self._transport.abort()


def _named(frame: bytes) -> str:
    """The API and version that a frame says it is of."""
    api = API_BY_KEY.get(int.from_bytes(frame[4:6], "big", signed=True))
    return "something damaged" if api is None else f"{api.name} v{int.from_bytes(frame[6:8], 'big', signed=True)}"


async def connect(storm: Storm) -> None:
    """A further client. None any more when the broker is gone."""
    while not storm.ends:
        try:
            async with asyncio.timeout(CONNECTS_WITHIN_S):
                await asyncio.get_running_loop().create_connection(lambda: Client(storm), "127.0.0.1", storm.port)
            return
        except TimeoutError:
            storm.counts.not_accepted += 1
        except OSError:
            storm.ends = True
