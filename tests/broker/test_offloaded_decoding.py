"""A request of many elements is read in a thread; its connection waits, and nothing else is different."""

from io import StringIO
from typing import Any

import pytest

from kohort.broker.scheduling.offloaded_decoding import READ_AT_ONCE
from tests.support.broker import Broker, Client
from tests.support.frames import frame, heartbeat
from tests.support.worker_thread import Thread

MOST = 40_000


def names(count: int) -> tuple[str, ...]:
    return tuple(f"group-{n:020}" for n in range(count))


def asked(count: int, correlation_id: int = 1) -> bytes:
    return frame("describe_groups", 5, correlation_id, groups=names(count))


def answers(broker: Broker, client: Client) -> list[tuple[int, Any]]:
    while broker.loop.run_soon():
        pass
    return client.hears("describe_groups", 5)


@pytest.fixture
def broker() -> Broker:
    broker = Broker()
    broker.cluster.offsets_topic.create(0)
    broker.loop.wait(50)
    return broker


def test_other_connections_are_served(broker: Broker) -> None:
    thread, eve, bob = Thread(broker), broker.client(), broker.client()
    eve.says(asked(READ_AT_ONCE + 1), asked(1, 2))
    assert answers(broker, eve) == []
    bob.says(heartbeat(3))
    assert len(bob.heard()) == 1
    assert thread.works() == 1
    (first, long), (second, short) = answers(broker, eve)
    assert (first, second) == (1, 2)
    assert sorted(group.group_id for group in long.groups) == sorted(names(READ_AT_ONCE + 1))
    assert len(short.groups) == 1


def test_short_request_needs_no_thread(broker: Broker) -> None:
    thread, eve = Thread(broker), broker.client()
    eve.says(asked(READ_AT_ONCE))
    assert len(answers(broker, eve)) == 1
    assert thread.works() == 0


def test_later_response(broker: Broker) -> None:
    # DeleteGroups waits for its write
    thread, eve = Thread(broker), broker.client()
    eve.says(frame("delete_groups", 2, 7, groups_names=names(READ_AT_ONCE + 1)), asked(1, 8))
    thread.works()
    while broker.loop.run_soon():
        pass
    first, second = eve.heard()
    assert (int.from_bytes(first[:4]), int.from_bytes(second[:4])) == (7, 8)


def test_oversized_request_closes_connection(lines: StringIO) -> None:
    broker = Broker(kohort_request_max_elements=MOST)
    thread, eve, bob = Thread(broker), broker.client(), broker.client()
    eve.says(asked(MOST + 1))
    thread.works()
    assert eve.closed
    assert f"more than {MOST} array elements" in lines.getvalue()
    bob.says(heartbeat(1))
    assert len(bob.heard()) == 1


def test_malformed_request_closes_connection(broker: Broker, lines: StringIO) -> None:
    thread, eve = Thread(broker), broker.client()
    eve.says(asked(READ_AT_ONCE + 1))
    broker.api("describe_groups").read = lambda *_: 1 // 0
    thread.works()
    assert eve.closed
    assert "reading a request failed" in lines.getvalue()


@pytest.mark.parametrize("reads", [True, False])
def test_client_disconnects_during_decoding(broker: Broker, reads: bool) -> None:
    # as in Kafka, a change is applied although its client has disconnected
    thread, eve = Thread(broker), broker.client()
    handled: list[object] = []
    name = "describe_groups" if reads else "delete_groups"
    ordinary = broker.api(name).handle

    def handle(*arguments: Any) -> Any:
        handled.append(arguments)
        return ordinary(*arguments)

    broker.api(name).handle = handle
    eve.says(asked(READ_AT_ONCE + 1) if reads else frame(name, 2, 1, groups_names=names(READ_AT_ONCE + 1)))
    eve.connection.connection_lost(None)
    thread.works()
    while broker.loop.run_soon():
        pass
    assert bool(handled) is not reads
