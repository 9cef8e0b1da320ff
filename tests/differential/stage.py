"""The topics of sequences, made and taken away many at once, on both sides.

A change of Kafka's metadata costs about the same whether it is about one topic or about twenty.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict, deque
from functools import partial
from itertools import count
from typing import NamedTuple
from uuid import UUID

from kohort.coordinator.java_order import bucket_of, capacity_for, hash_of_id, hash_of_id_partition, in_map_order
from tests.differential.sequence import Steps
from tests.differential.sides import Side
from tests.talk.values import Value

MADE_TOGETHER = 12
"""Sequences whose topics are made in one request."""

TAKEN_AWAY_TOGETHER = 12
"""Sequences whose topics are deleted in one request."""

DEFAULT_CAPACITY = 16
"""Capacity of Java's hash maps, unless the assignor sets one."""

MAX_ORDERED = 4
"""Partitions whose order can be alike on both sides; there are too many orders of more."""

READY_WITHIN_S = 30.0
MADE_WITHIN_S = 10.0

Shape = tuple[tuple[str, int, str, int], ...]
"""Topics: name, number of partitions, of what the order must be alike on both sides, and for how many partitions."""


class Brokers(NamedTuple):
    """Addresses."""

    kafka: str
    kohort: str


LEAVES_TOPICS_ALONE = {
    *("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "ConsumerGroupHeartbeat", "ConsumerGroupDescribe"),
    *("OffsetCommit", "OffsetFetch", "OffsetDelete", "TxnOffsetCommit", "InitProducerId"),
    *("DescribeGroups", "ListGroups", "DeleteGroups", "FindCoordinator", ""),
}
"""Requests about groups only: sequences of these share topics. Each has its own groups and offsets."""


class Scene(NamedTuple):
    """What one play finds. `ids`: of Kafka's topics and of kohort's, by name."""

    mark: str
    """What its names end in."""
    topics_mark: str
    """What the names of its topics end in."""
    ids: tuple[dict[str, Value], ...]


class Stage:
    """Sets up scenes for the plays of one run."""

    def __init__(self, brokers: Brokers, run: str) -> None:
        self._sides = (Side("Kafka", brokers.kafka, {}), Side("kohort", brokers.kohort, {}))
        self._marks = (f"{number}-{run}" for number in count())
        self._ready: dict[Shape, deque[Scene]] = defaultdict(deque)
        self._shared: dict[Shape, Scene] = {}
        self._old: list[str] = []
        self._asked = count(1)
        self._busy = asyncio.Lock()
        self._fence = f"fence-{run}"
        self._fences = count()
        self._behind: list[asyncio.Future[None]] = []
        self._fencing: asyncio.Task[None] | None = None

    async def set_up(self, steps: Steps) -> Scene:
        """Create the topics of a sequence and wait until their leaders are ready."""
        shape = _shape_of(steps)
        if not shape:
            mark = next(self._marks)
            return Scene(mark, mark, ({}, {}))
        shares = all(step.api in LEAVES_TOPICS_ALONE for step in steps)
        async with self._busy:
            if shares and shape in self._shared:
                return self._shared[shape]._replace(mark=next(self._marks))
            while not self._ready[shape]:
                self._ready[shape] += await self._make(shape)
            scene = self._ready[shape].popleft()
            if shares:
                self._shared[shape] = scene
                return scene._replace(mark=next(self._marks))
            return scene

    async def take_away(self, topics: list[str]) -> None:
        """Mark topics as unused, to be deleted together with others."""
        self._old += topics
        if len(self._old) >= TAKEN_AWAY_TOGETHER * 4:
            async with self._busy:
                await self._delete()

    async def there_at_both(self, topics: list[str]) -> None:
        """Wait until Kafka has those of these topics that kohort has. A Metadata request creates them, but later."""
        kafka, kohort = self._sides
        made = await self._those_there(kohort, topics)
        give_up_at = asyncio.get_running_loop().time() + MADE_WITHIN_S
        while made - await self._those_there(kafka, sorted(made)) and asyncio.get_running_loop().time() < give_up_at:
            await asyncio.sleep(0.05)

    async def _those_there(self, side: Side, topics: list[str]) -> set[str]:
        asked = {"topics": [{"name": name} for name in topics], "allow_auto_topic_creation": False}
        found = await self._ask(side, "Metadata", 8, asked) if topics else {"topics": []}
        return {
            topic["name"]
            for topic in found["topics"]
            if {each["error_code"] for each in (topic, *topic["partitions"])} == {"NONE"}
        }

    async def known_everywhere(self) -> None:
        """Wait until all of Kafka has applied the last change.

        Its publisher applies one change after the other, so a change is known when a second, later one has started to
        be; the first may be published together with it.
        """
        passed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._behind.append(passed)
        if self._fencing is None or self._fencing.done():
            self._fencing = asyncio.create_task(self._pass_fences())
        await asyncio.wait_for(passed, READY_WITHIN_S)

    async def _pass_fences(self) -> None:
        while self._behind:
            behind, self._behind = self._behind, []
            for _ in range(2):
                await self._pass_fence(str(5_000 + next(self._fences) % 9_000))
            for each in behind:
                if not each.done():
                    each.set_result(None)

    async def _pass_fence(self, value: str) -> None:
        """Alter a setting of an unused group, and wait until it is visible."""
        kafka, name = self._sides[0], "consumer.heartbeat.interval.ms"
        group = {"resource_type": 32, "resource_name": self._fence}
        change = {"configs": [{"name": name, "config_operation": 0, "value": value}]}
        await self._ask(kafka, "IncrementalAlterConfigs", 1, {"resources": [group | change], "validate_only": False})
        while True:
            asked = {"resources": [group | {"configuration_keys": [name]}]}
            response = await self._ask(kafka, "DescribeConfigs", 4, asked)
            if response["results"][0]["configs"][0]["value"] == value:
                return
            await asyncio.sleep(0.01)

    async def close(self) -> None:
        """Delete the remaining topics and disconnect."""
        for scene in (*self._shared.values(), *(scene for scenes in self._ready.values() for scene in scenes)):
            self._old += [f"{name}-{scene.mark}" for name in scene.ids[0]]
        with contextlib.suppress(OSError, TimeoutError):
            await self._delete()
        await asyncio.gather(*(side.close() for side in self._sides))

    async def _make(self, shape: Shape) -> list[Scene]:
        marks = [next(self._marks) for _ in range(MADE_TOGETHER)]
        at_both: list[dict[tuple[str, str], Value]]
        at_both = await asyncio.gather(*(self._make_at(side, shape, marks) for side in self._sides))
        await self.known_everywhere()
        made = [
            Scene(mark, mark, tuple({name: ids[name, mark] for name, *_ in shape} for ids in at_both)) for mark in marks
        ]
        fit = [scene for scene in made if _order(shape, scene.ids[0]) == _order(shape, scene.ids[1])]
        self._old += [f"{name}-{scene.mark}" for scene in made if scene not in fit for name, *_ in shape]
        return fit

    async def _make_at(self, side: Side, shape: Shape, marks: list[str]) -> dict[tuple[str, str], Value]:
        named = {f"{name}-{mark}": (name, mark, partitions) for mark in marks for name, partitions, *_ in shape}
        topics = [{"name": full, "num_partitions": each[2], "replication_factor": 1} for full, each in named.items()]
        response = await self._ask(side, "CreateTopics", 7, {"topics": topics, "timeout_ms": 20_000})
        asked = [
            {"name": full, "partitions": [{"partition_index": number, "timestamp": -1} for number in range(each[2])]}
            for full, each in named.items()
        ]
        give_up_at = asyncio.get_running_loop().time() + READY_WITHIN_S
        while asked:
            found = await self._ask(side, "ListOffsets", 5, {"replica_id": -1, "topics": asked})
            late = {
                topic["name"]
                for topic in found["topics"]
                if any(partition["error_code"] != "NONE" for partition in topic["partitions"])
            }
            asked = [each for each in asked if each["name"] in late]
            if asked and asyncio.get_running_loop().time() > give_up_at:
                raise TimeoutError(f"{side.name} has no leader for {asked[0]['name']}")
            await asyncio.sleep(0.02 if asked else 0)
        return {named[topic["name"]][:2]: topic["topic_id"] for topic in response["topics"]}

    async def _delete(self) -> None:
        topics, self._old = self._old, []
        if topics:
            request = {"topics": [{"name": name} for name in topics], "timeout_ms": 20_000}
            await asyncio.gather(*(self._ask(side, "DeleteTopics", 6, request) for side in self._sides))

    async def _ask(self, side: Side, api: str, version: int, values: Value) -> Value:
        number = next(self._asked)
        await side.ask(number, "stagehand", api, version, values)
        give_up_at = asyncio.get_running_loop().time() + READY_WITHIN_S
        while number not in side.answers:
            side.changed.clear()
            await asyncio.wait_for(side.changed.wait(), give_up_at - asyncio.get_running_loop().time())
        return side.answers.pop(number)


def _shape_of(steps: Steps) -> Shape:
    """Return the topics of a sequence. A share group's assignments also depend on partitions that are added later."""
    counts = [
        created["count"]
        for step in steps
        if step.api == "CreatePartitions"
        for created in step.values["topics"]
        if isinstance(created.get("count"), int) and created["count"] <= MAX_ORDERED
    ]
    shape = []
    for values in (step.values for step in steps if step.kind == "topic"):
        name, partitions, order = values["topic"], values["partitions"], values["order"]
        ordered = max(partitions, *counts, 0) if order == "partitions" else partitions
        shape.append((name, partitions, order, ordered))
    return tuple(shape)


def _order(shape: Shape, ids: dict[str, Value]) -> object:
    """Return the order of ids as far as assignors depend on it."""
    alike = {order for _, _, order, _ in shape}
    found = {name: UUID(each) for name, each in ids.items()}
    of_partitions = [
        in_map_order(range(count), partial(hash_of_id_partition, found[name]), capacity=capacity)
        for name, _, order, most in shape
        if order == "partitions"
        for count in range(2, most + 1)
        for capacity in (capacity_for(count), DEFAULT_CAPACITY)
    ]
    return of_partitions, _order_of_topics(found) if "topics" in alike else None


def _order_of_topics(ids: dict[str, UUID]) -> tuple[list[int], list[str]]:
    """Return the order of the buckets in a hash map and of the signed halves (Kafka: `Uuid.compareTo`)."""
    buckets = [bucket_of(hash_of_id(each), DEFAULT_CAPACITY) for each in ids.values()]
    used = sorted(set(buckets))
    return [used.index(bucket) for bucket in buckets], sorted(ids, key=lambda name: _signed_halves(ids[name]))


def _signed_halves(topic_id: UUID) -> tuple[int, int]:
    high, low = topic_id.int >> 64, topic_id.int & 2**64 - 1
    return (high ^ 1 << 63), (low ^ 1 << 63)
