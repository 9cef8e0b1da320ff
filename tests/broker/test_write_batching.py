"""Replies are written together, after the requests that the sockets have brought, but never behind what takes long."""

from collections.abc import Iterator
from typing import Any

from kohort.broker.cluster.node import Node
from kohort.broker.scheduling.fair_scheduler import COUNTED_NS, TURN_US
from kohort.broker.scheduling.write_batching import AT_ONCE
from kohort.broker.ticket import Ticket
from kohort.protocol.messages.find_coordinator import FindCoordinatorResponse
from tests.support.broker import Broker, Stopwatch, Wire
from tests.support.frames import heartbeat, long_request


def test_requests_precede_writes() -> None:
    broker = Broker()
    one, other = broker.client(), broker.client()
    one.sends(heartbeat(1))
    other.sends(heartbeat(2))
    assert (one.ids(), other.ids()) == ([], [])
    broker.loop.run_soon()
    assert (one.ids(), other.ids()) == ([1], [2])
    assert not broker.loop.run_soon()


def test_quick_repeat_shares_one_write() -> None:
    broker = Broker()
    client = broker.client()
    client.sends(heartbeat(1))
    client.sends(heartbeat(2))
    broker.loop.run_soon()
    assert len(client.wire.writes) == 1
    assert client.ids() == [1, 2]


def test_response_waits_for_few_requests() -> None:
    broker = Broker()
    clients = [broker.client() for _ in range(AT_ONCE + 1)]
    for number, client in enumerate(clients):
        client.sends(heartbeat(number))
    assert [client.ids() for client in clients] == [[number] for number in range(AT_ONCE)] + [[]]
    broker.loop.run_soon()
    assert clients[-1].ids() == [AT_ONCE]


def test_response_does_not_wait_for_slices() -> None:
    broker = Broker()
    one, other = broker.client(), broker.client()
    heard_at_each_step: list[list[int]] = []

    def handle(node: Node, request: Any, ticket: Ticket) -> Iterator[None]:
        for _ in range(2):
            heard_at_each_step.append(one.ids())
            yield
        return FindCoordinatorResponse(coordinators=())  # type: ignore[return-value]

    broker.api("find_coordinator").handle = handle
    one.sends(heartbeat(1))
    other.sends(long_request(2))
    assert heard_at_each_step == [[1], []]


def test_response_does_not_wait_for_pipeline() -> None:
    broker = Broker()
    Stopwatch(broker, COUNTED_NS // 1_000 + 1)
    one, other = broker.client(), broker.client()
    one.sends(heartbeat(1))
    other.sends(heartbeat(2))
    assert (one.ids(), other.ids()) == ([1], [2])


def test_response_does_not_wait_for_round() -> None:
    broker = Broker()
    stopwatch = Stopwatch(broker, 1)
    one, other = broker.client(), broker.client()
    heard: list[list[int]] = []

    def handle(node: Node, request: Any, ticket: Ticket) -> FindCoordinatorResponse:
        heard.append(one.ids())
        stopwatch.passes(2 * TURN_US)
        return FindCoordinatorResponse(coordinators=())

    broker.api("find_coordinator").handle = handle
    other.sends(long_request(1) + long_request(2))
    one.sends(heartbeat(3))
    broker.loop.run_soon()
    assert heard == [[], [3]], "the second one stood in the queue"


def test_response_does_not_wait_for_wakeups() -> None:
    broker = Broker()
    one, other, waiting = broker.client(), broker.client(), broker.client()
    tickets: list[Ticket] = []
    heard: list[tuple[list[int], list[int]]] = []

    def handle(node: Node, request: Any, ticket: Ticket) -> FindCoordinatorResponse | None:
        if ticket.correlation_id == 1:
            tickets.append(ticket)
            return None
        if ticket.correlation_id == 2:
            heard.append((one.ids(), other.ids()))
        else:
            tickets.pop().reply(FindCoordinatorResponse(coordinators=()))
        return FindCoordinatorResponse(coordinators=())

    broker.api("find_coordinator").handle = handle
    waiting.says(long_request(1), long_request(2))
    one.sends(heartbeat(3))
    other.sends(long_request(4))
    assert heard == [([3], [4])], "what is behind the request that has waited is handled after both replies"


def test_last_client_is_not_charged() -> None:
    broker = Broker()
    stopwatch = Stopwatch(broker, 1)

    class Slow(Wire):
        def write(self, data: bytes) -> None:
            stopwatch.passes(100)
            super().write(data)

    for number in range(AT_ONCE):
        client = broker.client()
        client.connection.connection_made(Slow("10.0.0.7", ("10.0.0.1", 9092)))  # type: ignore[arg-type]
        client.sends(heartbeat(number))
    assert broker.server.scheduler.spent_ns == 0


def test_response_does_not_wait_for_timers() -> None:
    broker = Broker()
    client = broker.client()
    client.sends(heartbeat(1))
    broker.server.advance(broker.clock.now_ms())
    assert client.ids() == [1]


def test_unwritable_response_closes_its_connection() -> None:
    broker = Broker()
    one, other = broker.client(), broker.client()
    one.wire.write = fail  # type: ignore[method-assign]
    one.sends(heartbeat(1))
    other.sends(heartbeat(2))
    broker.loop.run_soon()
    assert (one.closed, other.closed) == (True, False)
    assert other.ids() == [2]


def fail(data: bytes) -> None:
    raise OSError("no")
