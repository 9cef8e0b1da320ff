"""Whatever fails while one connection is served ends that connection and nothing else."""

from io import StringIO
from typing import Any
from uuid import UUID

import pytest

from kohort.broker.apis.fetch.fetch_handler import DelayedFetch
from kohort.broker.cluster.effect_execution import perform
from kohort.broker.cluster.group_events import Recorded
from kohort.broker.runtime.connection import Connection
from kohort.broker.ticket import Ticket
from kohort.coordinator.effects import Reply
from kohort.protocol.api_keys import ApiSpec
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.fetch import FetchPartition, FetchTopic
from kohort.protocol.messages.heartbeat import HeartbeatResponse
from kohort.protocol.messages.metadata import MetadataRequestTopic
from kohort.protocol.releases import CURRENT, apis_of
from kohort.purgatory import DelayedOperation
from tests.support.batches import batch
from tests.support.broker import Broker, Client
from tests.support.data_requests import produce
from tests.support.frames import frame, heartbeat

NONE = HeartbeatResponse(error_code=ErrorCode.none)


BEAT: dict[str, Any] = {"group_id": "g", "generation_id": 1, "member_id": "m"}


BROKEN = {
    "read": ("read", "readers"),
    "write": ("write", "writers", "write_in_steps"),
    "both": ("handle", "write", "writers", "write_in_steps"),
    "error_response": ("handle", "error_response"),
}


def waiting_fetch(correlation_id: int = 1, wait_ms: int = 500) -> bytes:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    topic = FetchTopic(topic="t", partitions=(partition,))
    return frame("fetch", 4, correlation_id, max_wait_ms=wait_ms, min_bytes=1, max_bytes=1 << 20, topics=(topic,))


def unencodable() -> bytes:
    """Make the response and the error response of this request fail to encode once."""
    topic = MetadataRequestTopic(name=None, topic_id=UUID(int=5))
    return frame("metadata", 10, 2, topics=(topic,))


def is_served(client: Client) -> bool:
    client.says(heartbeat(7))
    return [correlation_id for correlation_id, _ in client.hears("heartbeat")] == [7]


def broken(*_: object, **__: object) -> Any:
    raise ZeroDivisionError("out of the blue")


class BrokenTable(dict[int, Any]):
    """What an API keeps by version, and nothing but trouble."""

    get = __getitem__ = broken


def with_topic() -> Broker:
    broker = Broker()
    broker.cluster.topics.create("t")
    return broker


def test_99_bytes_cut_off_nobody() -> None:
    broker = with_topic()
    eve, *others = (broker.client() for _ in range(51))
    eve.says(waiting_fetch(wait_ms=10), unencodable())
    broker.loop.wait(20)
    (fetched, refused) = eve.heard()
    assert (fetched[:4], refused[:4]) == (bytes((0, 0, 0, 1)), bytes((0, 0, 0, 2)))
    assert all(is_served(each) for each in others)
    assert all(is_served(each) for each in others)


def test_unencodable_response_closes_its_connection(lines: StringIO) -> None:
    broker = with_topic()
    broker.api("metadata").write = broker.api("metadata").write_in_steps = broken
    eve, bob, dan = broker.client(), broker.client(), broker.client()
    for member in eve, bob:  # both are woken by the same turn
        member.says(waiting_fetch(wait_ms=10), unencodable() if member is eve else heartbeat(2))
    broker.loop.wait(20)
    assert eve.closed
    assert len(bob.heard()) == 2
    assert is_served(bob)
    assert is_served(dan)
    text = lines.getvalue()
    assert "writing a response of metadata v10 failed" in text
    assert "ZeroDivisionError" in text
    assert "connection closed" in text


@pytest.mark.parametrize("what", ["handle", "write", "is_short", "read", "both", "error_response"])
@pytest.mark.parametrize("api", apis_of(CURRENT), ids=lambda api: api.name)
def test_failing_api_affects_no_other(api: ApiSpec, what: str, lines: StringIO) -> None:
    broker = with_topic()
    eve, bob, dan = broker.client(), broker.client(), broker.client()
    api_under_test = broker.api(api.name)
    body = b"".join((api.key.to_bytes(2), api_under_test.lowest.to_bytes(2), (9).to_bytes(4), b"\x00\x01e", bytes(80)))
    eve.says(waiting_fetch(wait_ms=10), len(body).to_bytes(4) + body)
    sentinel = "heartbeat" if api.name != "heartbeat" else "list_groups"
    bob.says(waiting_fetch(wait_ms=10), frame(sentinel, 0, 2, **({} if sentinel == "list_groups" else BEAT)))
    for name in BROKEN.get(what, (what,)):
        setattr(api_under_test, name, BrokenTable() if name in ("readers", "writers") else broken)
    broker.loop.wait(60_000)
    assert bob.closed if api.name == "fetch" and what in ("write", "both", "is_short") else len(bob.heard()) == 2
    for client in dan, broker.client():
        client.says(frame(sentinel, 0, 3, **({} if sentinel == "list_groups" else BEAT)))
        assert [response[:4] for response in client.heard()] == [bytes((0, 0, 0, 3))]


def test_failing_connection_callback_affects_no_other(
    lines: StringIO,
) -> None:
    broker = with_topic()
    eve, bob = broker.client(), broker.client()
    eve.connection.handle = broken
    eve.says(heartbeat(1))
    eve.says(heartbeat(2), heartbeat(3))
    assert eve.closed
    assert "internal error in kohort while serving this connection" in lines.getvalue()
    assert is_served(bob)


def test_failing_effect_closes_its_connection(lines: StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker()
    tickets: list[Ticket] = []
    broker.api("heartbeat").handle = lambda node, request, ticket: tickets.append(ticket)
    eve, bob = broker.client(), broker.client()
    eve.says(heartbeat(1))
    bob.says(heartbeat(1))
    answer = Connection.answer
    monkeypatch.setattr(
        Connection, "answer", lambda self, *rest: broken() if self is eve.connection else answer(self, *rest)
    )
    broker.cluster.coordinators[0].effects += [Reply(ticket, NONE) for ticket in tickets]
    perform(broker.cluster, 0)
    broker.server.end_turn(0)
    assert eve.closed
    assert bob.hears("heartbeat") == [(1, NONE)]
    assert "an effect failed" in lines.getvalue()


class Failing(DelayedOperation):
    """Due at its deadline, and nothing but trouble."""

    __slots__ = ()

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        raise ZeroDivisionError


def test_failing_expiration_affects_no_other(lines: StringIO) -> None:
    broker = with_topic()
    bob = broker.client()
    broker.cluster.purgatory.wait(Failing(10))
    bob.says(waiting_fetch(wait_ms=10))
    broker.cluster.purgatory.wait(Failing(10))
    broker.loop.wait(10)
    assert len(bob.heard()) == 1
    assert "ZeroDivisionError" in lines.getvalue()


def test_failing_fetch_spares_producer(lines: StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    broker = with_topic()
    eve, bob, ada = broker.client(), broker.client(), broker.client()
    eve.says(waiting_fetch())
    bob.says(waiting_fetch())
    (first, _) = (operation for operation in waiting_operations(broker) if isinstance(operation, DelayedFetch))
    can_complete = DelayedFetch.can_complete
    monkeypatch.setattr(
        DelayedFetch, "can_complete", lambda self, now_ms: broken() if self is first else can_complete(self, now_ms)
    )
    assert produce(ada, batch(b"1"), "t").error_code == ErrorCode.none
    assert len(bob.heard()) == 1
    assert eve.closed


def waiting_operations(broker: Broker) -> list[DelayedOperation]:
    partition = broker.cluster.topics.by_name("t").partitions[0]  # type: ignore[union-attr]
    return list(broker.cluster.purgatory._watched[partition])


@pytest.mark.plain("it replaces a method of an object whose class may be compiled")
def test_periodic_work_continues_after_failure(lines: StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(connections_max_idle_ms=10_000)
    ada = broker.client()
    monkeypatch.setattr(Connection, "close", broken)
    broker.loop.wait(12_500)
    assert not ada.closed
    monkeypatch.undo()
    broker.loop.wait(12_500)
    assert ada.closed


def test_failing_listener_affects_no_other(lines: StringIO) -> None:
    broker = Broker()
    broker.cluster.offsets_topic.create(0)
    heard: list[Recorded] = []
    broker.cluster.group_events.listen(broken)
    broker.cluster.group_events.listen(heard.append)
    broker.loop.wait(50)
    broker.cluster.group_events.stopping()
    perform(broker.cluster, broker.clock.now_ms())
    assert heard
    assert "a listener of group events failed" in lines.getvalue()
