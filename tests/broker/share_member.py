"""Share group member that fetches and acknowledges records."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.share_acknowledge import AcknowledgePartition, AcknowledgeTopic
from kohort.protocol.messages.share_acknowledgements import AcknowledgementBatch
from kohort.protocol.messages.share_fetch import FetchPartition, FetchTopic, ForgottenTopic
from kohort.storage.topic import Topic
from tests.support.batches import batch, contents
from tests.support.broker import Broker
from tests.support.frames import frame

GROUP = "g"
TOPIC = "t"
ACCEPT, RELEASE, REJECT = 1, 2, 3

Ranges = list[tuple[int, int, int]]


def ready(broker: Broker, partitions: int = 1, group: str = GROUP, replicas: int = 1) -> Topic:
    """Create a topic whose partitions the share group may fetch from the start."""
    cluster = broker.cluster
    topic = cluster.topics.by_name(TOPIC) or cluster.topics.create(TOPIC, partitions, replicas)
    assert isinstance(topic, Topic)
    assert cluster.group_configs.configure(group, {"share.auto.offset.reset": "earliest"}) is None
    wanted = {(topic.topic_id, index): (1, -1) for index in range(partitions)}
    heard: list[E] = []

    def initialized(outcomes: dict[Any, Any], now_ms: int) -> None:
        heard.extend(outcome.error_code for outcome in outcomes.values())

    broker.server.act(partial(cluster.share_persister.initialize, group, wanted, initialized))
    assert heard == [E.none] * partitions
    return topic


def produce(broker: Broker, *values: bytes, partition: int = 0) -> None:
    topic = broker.cluster.topics.by_name(TOPIC)
    assert topic is not None
    where = topic.partitions[partition]

    def append(now_ms: int) -> None:
        broker.cluster.append(where, batch(*values), now_ms)

    broker.server.act(append)


class Member:
    """A member of a share group on a connection of its own."""

    def __init__(self, broker: Broker, name: str = "ada", group: str = GROUP, node: int = 0) -> None:
        self.broker = broker
        self.client = broker.client(node)
        self.name = name
        self.group = group
        self.epoch = 0

    @property
    def topic_id(self) -> UUID:
        topic = self.broker.cluster.topics.by_name(TOPIC)
        assert topic is not None
        return topic.topic_id

    def _session(self, epoch: int | None) -> dict[str, Any]:
        epoch = self.epoch if epoch is None else epoch
        self.epoch = epoch + 1
        return {"group_id": self.group, "member_id": self.name, "share_session_epoch": epoch}

    def asks_for(
        self,
        *partitions: int,
        epoch: int | None = None,
        wait_ms: int = 0,
        most: int = 500,
        acks: dict[int, list[tuple[int, int, list[int]]]] | None = None,
        forgets: tuple[int, ...] = (),
        **more: Any,
    ) -> None:
        said = acks or {}
        named = dict.fromkeys((*partitions, *said))
        topic = FetchTopic(
            topic_id=self.topic_id,
            partitions=tuple(
                FetchPartition(partition_index=each, acknowledgement_batches=_batches(said.get(each, [])))
                for each in named
            ),
        )
        asked = {"max_wait_ms": wait_ms, "min_bytes": 1, "max_records": most, "batch_size": 500, **more}
        asked["topics"] = (topic,) if named else ()
        forgotten_topic = ForgottenTopic(topic_id=self.topic_id, partitions=forgets)
        asked["forgotten_topics_data"] = (forgotten_topic,) if forgets else ()
        self.client.says(frame("share_fetch", 2, 77, **self._session(epoch), **asked))

    def hears(self) -> Any:
        """Return the response to its fetch, or None while it waits."""
        while self.broker.loop.run_soon():
            pass
        response = self.client.hears("share_fetch", 2)
        return response[0][1] if response else None

    def fetches(self, *partitions: int, **asked: Any) -> Any:
        """Send a fetch and return its response after a short wait."""
        self.asks_for(*partitions, **{"wait_ms": 1} | asked)
        response = self.hears()
        if response is None:
            self.broker.loop.wait(1)
            response = self.hears()
        assert response is not None
        return response

    def acquires(self, *partitions: int, **asked: Any) -> Ranges:
        """Return the acquired ranges of the first partition."""
        return acquired(self.fetches(*partitions, **asked))

    def says(self, *batches: tuple[int, int, list[int]], partition: int = 0, epoch: int | None = None) -> Any:
        part = AcknowledgePartition(partition_index=partition, acknowledgement_batches=_batches(list(batches)))
        topic = AcknowledgeTopic(topic_id=self.topic_id, partitions=(part,))
        return self.client.asks("share_acknowledge", 2, **self._session(epoch), topics=(topic,))

    def acknowledges(self, *batches: tuple[int, int, list[int]], partition: int = 0) -> E:
        """Acknowledge ranges and return the error of the partition."""
        answer = self.says(*batches, partition=partition)
        assert answer.error_code is E.none
        error: E = answer.responses[0].partitions[0].error_code
        return error

    def disconnects(self) -> None:
        self.client.connection.connection_lost(None)
        while self.broker.loop.run_soon():
            pass


def acquired(answer: Any) -> Ranges:
    parts = [part for topic in answer.responses for part in topic.partitions]
    found = parts[0].acquired_records if parts else ()
    return [(each.first_offset, each.last_offset, each.delivery_count) for each in found]


def values(answer: Any) -> list[bytes | None]:
    parts = [part for topic in answer.responses for part in topic.partitions]
    return [value for part in parts if part.records for _, _, value in contents(part.records)]


def _batches(said: list[tuple[int, int, list[int]]]) -> tuple[AcknowledgementBatch, ...]:
    return tuple(
        AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=tuple(types))
        for first, last, types in said
    )
