"""Fetch sessions: their limit per node, eviction, and their savings. Their protocol is tested in
tests/conversations/cluster/fetch-session-*.talk."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from kohort.broker.cluster.fetch_sessions import PARTITIONS_REMEMBERED, FetchSession, FetchSessions
from kohort.broker.cluster.moving import start_node, stop_node
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.support.batches import batch
from tests.support.broker import Broker, Client
from tests.support.data_requests import given_topic, produce, records

E = ErrorCode
TWO_MINUTES = 120_000


class Fetcher:
    """A client that fetches the first partitions of a topic in sessions."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def asks(self, partitions: int = 0, *, session_id: int = 0, epoch: int = 0, offset: int = 0) -> object:
        parts = tuple(
            FetchPartition(partition=number, fetch_offset=offset, partition_max_bytes=1 << 20)
            for number in range(partitions)
        )
        topics = (FetchTopic(topic="topic", partitions=parts),) if parts else ()
        return self.client.asks(
            "fetch", 12, topics=topics, max_wait_ms=0, min_bytes=1, session_id=session_id, session_epoch=epoch
        )

    def begins(self, partitions: int) -> int:
        session_id: int = self.asks(partitions).session_id  # type: ignore[attr-defined]
        return session_id

    def uses(self, session_id: int, epoch: int) -> ErrorCode:
        error: ErrorCode = self.asks(session_id=session_id, epoch=epoch).error_code  # type: ignore[attr-defined]
        return error


def test_full_shard_creates_no_session() -> None:
    # Compared with Apache Kafka 4.3.0, whose clients had to wait for two real minutes.
    broker = Broker(max_incremental_fetch_session_cache_slots=8)
    ada = Fetcher(broker.client())
    given_topic(ada.client, partitions=4)
    ids = [ada.begins(2) for _ in range(8)]
    assert [each // 268_435_455 for each in ids] == list(range(8))
    assert ada.begins(4) == 0, "the session it would replace is too young"

    broker.loop.wait(TWO_MINUTES + 1)
    assert [ada.uses(each, 1) for each in ids[:4]] == [E.none] * 4
    assert ada.begins(2) == 0, "not larger than the second one"
    assert ada.begins(3) // 268_435_455 == 2
    assert ada.uses(ids[2], 2) is E.fetch_session_id_not_found
    assert ada.begins(1) == 0
    assert ada.uses(ids[3], 2) is E.none
    assert ada.begins(1) // 268_435_455 == 4, (
        "the fifth one was not used for two minutes, so any client may take its place"
    )
    assert ada.uses(ids[4], 1) is E.fetch_session_id_not_found


def test_fewer_places_than_shards_are_none() -> None:
    ada = Fetcher(Broker(max_incremental_fetch_session_cache_slots=7).client())
    given_topic(ada.client)
    assert [ada.begins(1) for _ in range(9)] == [0] * 9


def test_epoch_wraps_to_one() -> None:
    session = FetchSession(by_id=False)
    session.epoch = 2**31 - 1
    session.end_epoch()
    assert session.epoch == 1


def test_stopped_node_drops_sessions() -> None:
    broker = Broker(nodes=2)
    cluster = broker.cluster
    ada = Fetcher(broker.client())
    given_topic(ada.client, partitions=2)
    session_id = ada.begins(1)
    stop_node(cluster, cluster.nodes[0], 0)
    start_node(cluster, cluster.nodes[0], 0)
    assert ada.uses(session_id, 1) is E.fetch_session_id_not_found


def test_partition_limit_ends_largest_session() -> None:
    def wants(partitions: int) -> FetchSession:
        session = FetchSession(by_id=False)
        grow(session, partitions)
        return session

    def grow(session: FetchSession, partitions: int) -> None:
        parts = tuple(
            FetchPartition(partition=number, fetch_offset=0, partition_max_bytes=1) for number in range(partitions)
        )
        topics = (FetchTopic(topic="topic", partitions=parts),)
        session.update(FetchRequest(max_wait_ms=0, min_bytes=0, session_id=session.id, topics=topics))

    sessions = FetchSessions(1_000, Random(1))
    first, second, too_large = wants(PARTITIONS_REMEMBERED // 2), wants(10), wants(PARTITIONS_REMEMBERED // 2)
    for each in (first, second, too_large):
        sessions.add(each, 0)
    assert too_large.id == 0
    assert sessions.find(second.id, 1, by_id=False) is second
    grow(second, PARTITIONS_REMEMBERED // 2 + 1)
    sessions.use(second, 1)
    assert sessions.find(second.id, 1, by_id=False) is E.fetch_session_id_not_found
    again = wants(PARTITIONS_REMEMBERED // 2 + 1)
    sessions.add(again, TWO_MINUTES + 1)  # the first one is stale
    assert again.id
    assert sessions.find(first.id, 1, by_id=False) is E.fetch_session_id_not_found


def test_session_ids_are_unique() -> None:
    class Repeating(Random):
        """Random numbers that repeat in the second turn of the first shard."""

        def __init__(self) -> None:
            super().__init__(1)
            self._numbers: Iterator[int] = iter([5, *range(10, 17), 5, 6])

        def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
            return next(self._numbers)

    sessions = FetchSessions(1_000, Repeating())
    ids = []
    for _ in range(9):
        session = FetchSession(by_id=False)
        sessions.add(session, 0)
        ids.append(session.id)
    assert (ids[0], ids[8], len(sessions)) == (5, 6, 9)


@pytest.mark.plain("it puts another log in the place of one, whose class may be compiled")
def test_unchanged_partitions_are_not_read() -> None:
    broker = Broker()
    ada = Fetcher(broker.client())
    given_topic(ada.client, partitions=100)
    session_id = ada.begins(100)
    produce(ada.client, batch(b"news"), index=7)
    looked: list[int] = []
    for partition in broker.cluster.topics.by_name("topic").partitions:  # type: ignore[union-attr]
        partition.log = Watched(partition.log, looked)
    answer = ada.asks(session_id=session_id, epoch=1)
    assert records(answer) == [(0, None, b"news")]
    assert len(looked) == 1


class Watched:
    """A log that notes when it is read."""

    def __init__(self, log: object, looked: list[int]) -> None:
        self._log = log
        self._looked = looked

    def __getattr__(self, name: str) -> object:
        if name == "read_segment":
            self._looked.append(1)
        return getattr(self._log, name)
