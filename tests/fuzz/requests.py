"""Generates requests of any API and version from a seed, quickly and with names that the broker knows.

Hypothesis generates better ones for tests of single messages (`tests/protocol/strategies.py`), but a hundred times
slower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import timedelta
from functools import cache
from io import BytesIO
from math import inf, nan
from random import Random
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints
from uuid import UUID

from kio.serial import entity_writer
from kio.static.constants import EntityType

from kohort.protocol.consumer_protocol import Assignment, Subscription, write_assignment, write_subscription
from kohort.protocol.wire import INT, SHORT, string
from tests.protocol.messages import VERSIONS, load
from tests.support.batches import batch

GROUPS = tuple(f"fuzz-group-{n}" for n in range(12))
TOPICS = tuple(f"fuzz-topic-{n}" for n in range(6))
TRANSACTIONS = tuple(f"fuzz-transaction-{n}" for n in range(4))
LONGEST = 400_000
MOST_ELEMENTS = 50_000  # maximum for nested arrays: 20,000 elements with as many elements each took minutes to write

LARGE = (20, 130, 1_000)
VERY_LARGE = (*LARGE * 20, 20_000)
SESSION_MS = 6_000  # session timeout of most generated members; short, so that no member remains after a run

_SUBSCRIPTION = write_subscription(Subscription(topics=TOPICS[:2], owned_partitions={TOPICS[0]: (0, 1)}))
_ASSIGNMENT = write_assignment(Assignment(partitions={TOPICS[0]: (0, 1)}))
_BATCHES = (
    batch(b"one"),
    batch(*[b"some"] * 20),
    batch((b"key", b"value"), (b"key", None), attributes=1),
    batch(b"idempotent", producer=(1_000, 0, 0)),
    batch(b"transactional", producer=(1_000, 0, 0), attributes=0x10),
    batch(b"one") * 2,
)

_WORDS: dict[str, Sequence[Any]] = {
    "name": TOPICS,
    "topic": TOPICS,
    "topic_names": TOPICS,
    "group_id": GROUPS,
    "groups": GROUPS,
    "groups_names": GROUPS,
    "key": (*GROUPS, *TRANSACTIONS),
    "coordinator_keys": (*GROUPS, *TRANSACTIONS),
    "transactional_id": TRANSACTIONS,
    "transactional_ids": TRANSACTIONS,
    "v3_and_below_transactional_id": TRANSACTIONS,
    "resource_name": (*TOPICS, *GROUPS, "", "1"),
    "member_id": ("", "", "fuzz-member"),
    "group_instance_id": (None, None, "fuzz-instance-1", "fuzz-instance-2"),
    "protocol_type": ("consumer", "consumer", "connect", ""),
    "protocol_name": ("range", "range", "sticky"),
    "generation_id": (-1, 0, 1, 2, 3),
    "generation_id_or_member_epoch": (-1, 0, 1, 2, 3),
    "session_timeout": (timedelta(milliseconds=SESSION_MS),) * 4 + (timedelta(0), timedelta(milliseconds=-1)),
    "rebalance_timeout": (timedelta(milliseconds=300), timedelta(milliseconds=2_000), timedelta(milliseconds=-1)),
    "metadata": (_SUBSCRIPTION, b""),
    "assignment": (_ASSIGNMENT, b""),
    "records": (*_BATCHES, b"", None),
    "partition_index": (0, 0, 1, 2, -1),
    "partition_indexes": (0, 0, 1, 2, -1),
    "partition": (0, 0, 1, 2, -1),
    "partitions": (0, 0, 1, 2, -1),
    "index": (0, 0, 1, 2, -1),
    "num_partitions": (1, 3, -1, 0),
    "count": (1, 3, 5),
    "replication_factor": (1, 1, -1, 2),
    "broker_ids": (1, 1, 2),
    "replicas": (1, 1, 2),
    "acks": (1, 1, -1, 0, 2),
    "max_wait": tuple(timedelta(milliseconds=ms) for ms in (0, 0, 1, 200, 1_000, -1)),
    "min_bytes": (0, 1, 1, 2**31 - 1),
    "timeout": (timedelta(milliseconds=1_000), timedelta(0), timedelta(milliseconds=-1)),
    "session_id": (0, 0, 1, -1),
    "session_epoch": (0, -1, 1),
    "producer_id": (-1, 0, 1_000, 1_001),
    "producer_epoch": (-1, 0, 0, 1),
    "transaction_timeout": (timedelta(seconds=2), timedelta(seconds=60), timedelta(0)),
    "resource_type": (2, 2, 4, 32, 0),
    "config_operation": (0, 1, 2, 3, 9),
    "key_type": (0, 0, 1, 2),
    "isolation_level": (0, 1),
    "client_software_name": ("fuzz", "", "two words"),
}  # frequent values of fields with these names

_CONFIGS = ("cleanup.policy", "retention.ms", "max.message.bytes", "segment.bytes", "consumer.session.timeout.ms", "x")


class Requests:
    """Endless supply of requests, which depends on `random` only."""

    def __init__(self, random: Random, large: Sequence[int] = LARGE) -> None:
        """Create the generator.

        Args:
            large: Sizes of arrays that are larger than most.
        """
        self._random = random
        self._large = large
        self._times = 1  # product of the sizes of the enclosing arrays
        # further values from the broker: ids of topics, of members, of producers
        self.learnt: dict[str, list[Any]] = {}

    def body(self, name: str, version: int) -> bytes:
        """Generate the body of a request with valid encoding and unusual values, at most LONGEST bytes."""
        entity, write = _entity(name, version)
        while True:
            buffer = BytesIO()
            write(buffer, self._instance(entity))
            if buffer.tell() <= LONGEST:
                return buffer.getvalue()

    def frame(self, name: str, version: int, body: bytes) -> bytes:
        """Return a whole request with its length prefix."""
        api = load(name).api
        correlation_id = self._random.randrange(1 << 31)
        header = SHORT.pack(api.key) + SHORT.pack(version) + INT.pack(correlation_id) + string("fuzz")
        raw = header + (b"\x00" if version >= api.first_flexible else b"") + body
        return INT.pack(len(raw)) + raw

    def _instance(self, entity: type) -> Any:
        return entity(**{member.name: self._field(member, hint) for member, hint in _members(entity)})

    def _field(self, member: Field[Any], hint: Any) -> Any:
        random = self._random
        if member.default is not MISSING and random.random() < 0.5:
            return member.default
        tagged = "tag" in member.metadata
        if isinstance(hint, UnionType):
            (hint,) = (element for element in get_args(hint) if element is not NoneType)
            if random.random() < 0.2 and (not tagged or member.metadata.get("kafka_type") == "uuid"):
                return None
        if get_origin(hint) is tuple:
            inner = get_args(hint)[0]
            if isinstance(inner, UnionType):
                (inner,) = (element for element in get_args(inner) if element is not NoneType)
            count = random.choice((0, 1, 1, 1, 2, 3)) if random.random() < 0.98 else random.choice(self._large)
            if count <= 3:
                return tuple(self._value(member, inner) for _ in range(count))
            count = min(count, MOST_ELEMENTS // self._times)
            self._times *= max(count, 1)
            value = self._value(member, inner)
            self._times //= max(count, 1)
            return (value,) * count
        return self._value(member, hint)

    def _value(self, member: Field[Any], hint: Any) -> Any:
        if is_dataclass(hint):
            assert isinstance(hint, type)
            return self._instance(hint)
        random = self._random
        words = _CONFIGS if member.name == "name" and hint is str else _WORDS.get(member.name)
        if member.name == "name" and random.random() < 0.9:
            words = TOPICS
        learnt = self.learnt.get(member.name)
        if learnt and random.random() < 0.6:
            words = learnt
        if words and random.random() < 0.95:
            chosen = random.choice(words)
            nullable = isinstance(member.type, UnionType) or NoneType in get_args(member.type)
            if (chosen is None and nullable) or isinstance(chosen, hint):
                return chosen
        return self._anything(hint, member.metadata.get("kafka_type", ""))

    def _anything(self, hint: type, kafka_type: str) -> Any:
        random = self._random
        if issubclass(hint, timedelta):
            return random.choice((-(2**31), -1, 0, 1, 1_000, 2**31 - 1)) * timedelta(milliseconds=1)
        if issubclass(hint, UUID):
            return UUID(int=random.getrandbits(128) or 1)
        if issubclass(hint, bool):
            return random.random() < 0.5
        if issubclass(hint, float):
            return random.choice((0.0, -1.0, 0.5, 1e300, inf, nan))
        if issubclass(hint, int):
            bits = int(kafka_type.removeprefix("u").removeprefix("int"))
            low = 0 if kafka_type.startswith("u") else -(2 ** (bits - 1))
            high = low + 2**bits - 1
            return random.choice((low, max(low, -1), 0, 1, random.randint(low, high), high))
        if issubclass(hint, str):
            return random.choice(("", "a", "ü" * 90, "x" * 127, "name\n\x1b[31m", "m" * 300))
        return random.choice((b"", b"x", random.randbytes(40), b"x" * 127))


@cache
def _entity(name: str, version: int) -> tuple[type, Any]:
    entity = load(name).entity(version, EntityType.request)
    return entity, entity_writer(entity)


@cache
def _members(entity: type) -> list[tuple[Field[Any], Any]]:
    hints = get_type_hints(entity)
    return [(member, hints[member.name]) for member in fields(entity)]


class Pool:
    """Bodies of every API and version, regenerated now and then, because mutating is faster than generating."""

    def __init__(self, random: Random, of_each: int, large: Sequence[int] = LARGE) -> None:
        self._random = random
        self._requests = Requests(random, large)
        self.learnt = self._requests.learnt
        self._bodies = {pair: [self._requests.body(*pair) for _ in range(of_each)] for pair in VERSIONS}

    def body(self) -> tuple[str, int, bytes]:
        """Return a random API, one of its versions, and the body of a request."""
        random = self._random
        pair = VERSIONS[int(random.random() * len(VERSIONS))]
        bodies = self._bodies[pair]
        at = int(random.random() * len(bodies))
        if random.random() < 0.1:
            bodies[at] = self._requests.body(*pair)
        return *pair, bodies[at]

    def frame(self, name: str, version: int, body: bytes) -> bytes:
        return self._requests.frame(name, version, body)
