"""The largest requests of every API: each of its arrays as long as a request may be.

They are made of the message definitions, so that an API added to the registry is covered without being named
here. `prepare` makes what the requests name: a topic with many partitions, and a group of each type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import timedelta
from functools import cache
from io import BytesIO
from types import NoneType, UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints
from uuid import UUID

from kio.serial import entity_writer
from kio.static.constants import EntityType

from kohort.protocol.api_keys import ApiSpec
from kohort.protocol.consumer_protocol import Subscription, write_subscription
from kohort.protocol.messages import message_of
from kohort.protocol.messages.create_topics import CreatableTopic
from kohort.protocol.messages.streams_group_heartbeat import Subtopology, Topology
from kohort.protocol.wire import INT, SHORT, string
from kohort.whatif.clients.group_member import to_commit
from tests.support.batches import batch

TOPIC = "wide"
GROUPS = {"classic": "classic", "consumer": "consumer", "share": "share", "streams": "streams"}
"""Ids of the groups that `prepare` creates, by type."""

Ask = Callable[..., Any]
"""Sends a request of an API and a version with these fields, and returns its response."""


class Request(NamedTuple):
    """A request, and how it was made."""

    name: str
    version: int
    array: str
    """Path of the long array."""
    flavor: str
    """See FLAVORS."""
    frame: bytes

    @property
    def title(self) -> str:
        """Return its title in a list: `describe_share_group_offsets groups repeated`."""
        return f"{self.name} {self.array} {self.flavor}"


FLAVORS = ("existing", "repeated", "unknown", "null")
"""Content of the long array: existing things (as many as possible), one existing thing repeatedly, things that do not
exist, or everything (null for an array in the element).
"""


def prepare(ask: Ask, partitions: int) -> UUID:
    """Create everything that the requests name, and return the id of the topic."""
    topic = CreatableTopic(name=TOPIC, num_partitions=partitions, replication_factor=1, assignments=(), configs=())
    ask("create_topics", 7, topics=(topic,), timeout_ms=30_000)
    for key_type, key in ((0, "classic"), (0, "consumer"), (0, "share"), (0, "streams"), (1, "transaction")):
        ask("find_coordinator", 4, key_type=key_type, coordinator_keys=(key,))
    metadata = ask("metadata", 12, topics=None)
    (topic_id,) = (entry.topic_id for entry in metadata.topics if entry.name == TOPIC)
    for start in range(0, partitions, 1_000):
        offsets = dict.fromkeys(range(start, min(start + 1000, partitions)), 0)
        ask("offset_commit", 8, group_id="classic", member_id="", topics=to_commit(TOPIC, offsets))
    ask(
        "consumer_group_heartbeat", 1, group_id="consumer", member_id="member", member_epoch=0,
        rebalance_timeout_ms=60_000, subscribed_topic_names=(TOPIC,), topic_partitions=(),
    )  # fmt: skip
    subtopology = Subtopology(subtopology_id="0", source_topics=(TOPIC,))
    ask(
        "streams_group_heartbeat", 0, group_id="streams", member_id="member", member_epoch=0, process_id="p",
        topology=Topology(epoch=0, subtopologies=(subtopology,)), rebalance_timeout_ms=60_000, active_tasks=(),
        standby_tasks=(), warmup_tasks=(),
    )  # fmt: skip
    ask(
        "share_group_heartbeat", 1, group_id="share", member_id="member", member_epoch=0,
        subscribed_topic_names=(TOPIC,),
    )  # fmt: skip
    instances: UUID = topic_id
    return instances


def requests_of(api: ApiSpec, topic_id: UUID, partitions: int, elements: int) -> Iterator[Request]:
    """Make the requests of one API: of its newest version."""
    entity = message_of(api.name).entity(api.max_version, EntityType.request)
    maker = _Maker(api, topic_id, partitions, elements)
    frames: set[bytes] = set()
    for path in _arrays_of(entity):
        for flavor in FLAVORS:
            frame = maker.frame(entity, path, flavor)
            if frame not in frames:
                frames.add(frame)
                yield Request(api.name, api.max_version, ".".join(path), flavor, frame)
    if not frames:
        yield Request(api.name, api.max_version, "", "", maker.frame(entity, (), "existing"))


def _arrays_of(entity: type, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for member, hint in _members(entity):
        inner = _element(hint)
        if inner is not None:
            yield (*above, member.name)
            if _is_structure(inner):
                yield from _arrays_of(inner, (*above, member.name))
        elif _is_structure(plain := _plain(hint)):
            yield from _arrays_of(plain, (*above, member.name))


@cache
def _members(entity: type) -> list[tuple[Field[Any], Any]]:
    hints = get_type_hints(entity)
    return [(member, hints[member.name]) for member in fields(entity)]


def _plain(hint: Any) -> Any:
    """Return the type without None."""
    if isinstance(hint, UnionType):
        (hint,) = (entry for entry in get_args(hint) if entry is not NoneType)
    return hint


def _is_structure(hint: Any) -> bool:
    return is_dataclass(hint)


def _element(hint: Any) -> Any:
    """Return the type of an array's elements, or None for another type."""
    hint = _plain(hint)
    return _plain(get_args(hint)[0]) if get_origin(hint) is tuple else None


def _elements_in(value: Any) -> int:
    """Count the elements of all arrays in a structure."""
    if isinstance(value, tuple):
        return len(value) + sum(map(_elements_in, value))
    return sum(_elements_in(getattr(value, entry.name)) for entry in fields(value)) if is_dataclass(value) else 0


_RECORDS = batch(b"value")
_SUBSCRIPTION = write_subscription(Subscription(topics=(TOPIC,)))

_VALUES: dict[str, Any] = {
    "acks": -1,
    "broker_ids": 1,
    "config_operation": 0,
    "count": 2,
    "generation_id": -1,
    "generation_id_or_member_epoch": -1,
    "host": "*",
    "iterations": 4_096,
    "key_type": 0,
    "leader_id": 1,
    "max_bytes": 1 << 20,
    "max_poll_records": 1,
    "max_records": 1,
    "batch_size": 1,
    "max_wait": timedelta(0),
    "mechanism": 1,
    "member_epoch": 0,
    "member_id": "",
    "metadata": _SUBSCRIPTION,
    "min_bytes": 0,
    "num_partitions": 1,
    "operation": 3,
    "partition_max_bytes": 1 << 20,
    "pattern_type": 3,
    "pattern_type_filter": 3,
    "permission_type": 3,
    "principal": "User:ada",
    "process_id": "p",
    "producer_epoch": -1,
    "producer_id": -1,
    "protocol_type": "consumer",
    "rebalance_timeout": timedelta(seconds=60),
    "records": _RECORDS,
    "replica_id": -1,
    "replicas": 1,
    "replication_factor": 1,
    "resource_type": 2,
    "session_epoch": -1,
    "session_timeout": timedelta(seconds=10),
    "timeout": timedelta(seconds=1),
    "topic_operation": 3,
    "transaction_timeout": timedelta(seconds=60),
}
"""Plausible values of fields by kio's names; fields that are not here are 0, empty, or None."""

_PARTITIONS = frozenset({"partition", "partition_id", "partition_index", "partition_indexes", "partitions", "index"})
_TOPICS = frozenset({"topic", "topic_name", "topic_names", "topics", "subscribed_topic_names", "source_topics"})
_GROUP_IDS = frozenset({"group_id", "group_ids", "groups", "groups_names", "coordinator_keys", "key"})


class _Maker:
    """Makes requests of one API."""

    def __init__(self, api: ApiSpec, topic_id: UUID, partitions: int, elements: int) -> None:
        self._api = api
        self._topic_id = topic_id
        self._partitions = partitions
        self._elements = elements
        types = [entry for entry in GROUPS if api.name.startswith(entry) or f"_{entry}_" in api.name]
        self._group = types[0] if types else "classic"

    def frame(self, entity: type, path: Sequence[str], flavor: str) -> bytes:
        """Make a request whose array at `path` is long."""
        buffer = BytesIO()
        entity_writer(entity)(buffer, self._instance(entity, path, flavor, 0))
        api = self._api
        flexible = api.max_version >= api.first_flexible
        head = SHORT.pack(api.key) + SHORT.pack(api.max_version) + INT.pack(1) + string("eve")
        raw = head + (b"\x00" if flexible else b"") + buffer.getvalue()
        return INT.pack(len(raw)) + raw

    def _instance(self, entity: type, path: Sequence[str], flavor: str, number: int) -> Any:
        """Make a structure that is the `number`-th element of the long array, or above or below that."""
        return entity(
            **{member.name: self._field(member, hint, path, flavor, number) for member, hint in _members(entity)}
        )

    def _field(self, member: Field[Any], hint: Any, path: Sequence[str], flavor: str, number: int) -> Any:
        on_path = bool(path) and path[0] == member.name
        inner = _element(hint)
        if inner is None:
            plain = _plain(hint)
            if _is_structure(plain):
                if not on_path and (isinstance(hint, UnionType) or member.default is not MISSING):
                    return None if isinstance(hint, UnionType) else member.default
                return self._instance(plain, path[1:] if on_path else (), flavor, number)
            return self._value(member, hint, plain, flavor, number)
        if on_path and len(path) == 1:
            count = self._elements
            if _is_structure(inner):
                count //= 1 + _elements_in(self._instance(inner, (), flavor, 0))
            numbers = [0] * count if flavor in ("repeated", "null") else list(range(count))
            if _is_structure(inner):
                # One instance for equal elements: making them takes longer than handling them.
                instances = {entry: self._instance(inner, (), flavor, entry) for entry in set(numbers)}
            else:
                instances = {entry: self._value(member, inner, inner, flavor, entry) for entry in set(numbers)}
            return tuple(instances[entry] for entry in numbers)
        if not on_path and flavor == "null" and isinstance(hint, UnionType):
            return None
        if not on_path and member.default is not MISSING:
            return member.default
        if _is_structure(inner):
            return (self._instance(inner, path[1:] if on_path else (), flavor, number),)
        return (self._value(member, inner, inner, flavor, number),)

    def _value(self, member: Field[Any], hint: Any, plain: Any, flavor: str, number: int) -> Any:
        name = member.name
        is_unknown = flavor == "unknown"
        if issubclass(plain, UUID):
            return UUID(int=number + 1) if is_unknown else self._topic_id
        if issubclass(plain, str):
            text = self._text(name, is_unknown, number)
            if text is not None:
                return text
        if name in _PARTITIONS and issubclass(plain, int):
            return self._partitions + number if is_unknown else number % self._partitions
        if name in _VALUES and isinstance(_VALUES[name], plain):
            return _VALUES[name]
        if member.default is not MISSING and _element(member.type) is None:
            return member.default
        if isinstance(hint, UnionType):
            return None
        return self._zero(plain)

    def _text(self, name: str, is_unknown: bool, number: int) -> str | None:
        if name in _VALUES:
            return None
        if is_unknown:
            return f"unknown-{number}"
        if name in _TOPICS:
            return TOPIC
        if name in _GROUP_IDS:
            return self._group
        if name in ("name", "resource_name"):
            return f"instances-{number}" if self._api.name == "create_topics" else TOPIC
        if "transactional_id" in name:
            return "transaction"
        return None

    def _zero(self, plain: type) -> Any:
        for kind, zero in ((timedelta, timedelta(0)), (bool, False), (int, 0), (float, 0.0), (str, ""), (bytes, b"")):
            if issubclass(plain, kind):
                return zero
        raise AssertionError(f"no value for {plain}")
