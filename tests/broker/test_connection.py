"""How bytes become requests, one at a time, and replies become bytes, without a socket."""

from io import StringIO
from socket import socket, socketpair
from typing import Any

import pytest

from kohort.base.address import java_address
from kohort.broker.cluster.node import Node
from kohort.broker.runtime.server import DESCRIPTORS_KEPT
from kohort.broker.scheduling.connection_limits import WAITING_BYTES
from kohort.broker.scheduling.fair_scheduler import ROUND_US, TURN_US
from kohort.broker.scheduling.paused_reading import LOOK_EVERY_MS, READ_ON_BYTES
from kohort.broker.ticket import NO_REPLY, CloseConnection, Ticket
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.heartbeat import HeartbeatResponse
from tests.support.broker import Broker, Client, Stopwatch
from tests.support.frames import frame, heartbeat

NONE = HeartbeatResponse(error_code=ErrorCode.none)


class Doorman:
    """Replacement of the heartbeat handler: holds requests until `answer` is called."""

    def __init__(self, broker: Broker) -> None:
        self.tickets: list[Ticket] = []
        broker.api("heartbeat").handle = self.handle

    def handle(self, node: Node, request: Any, ticket: Ticket) -> None:
        self.tickets.append(ticket)

    def waiting(self) -> list[int]:
        return [ticket.correlation_id for ticket in self.tickets]

    def answer(self, broker: Broker) -> None:
        """Respond to the first request, as a group does at the end of another connection's turn."""
        self.tickets.pop(0).reply(NONE)
        broker.server.end_turn(broker.clock.now_ms())


def test_single_request_is_one_write() -> None:
    client = Broker().client()
    client.says(heartbeat(5))
    assert len(client.wire.writes) == 1
    assert client.hears("heartbeat") == [(5, HeartbeatResponse(error_code=ErrorCode.not_coordinator))]


def test_pipelined_responses_share_one_write() -> None:
    client = Broker().client()
    client.says(*(heartbeat(n) for n in range(10)))
    assert len(client.wire.writes) == 1
    assert client.ids() == list(range(10))


@pytest.mark.parametrize("size", [1, 3, 4, 5, 17, 50])
def test_request_in_any_pieces(size: int) -> None:
    client = Broker().client()
    data = b"".join(heartbeat(n) for n in range(5))
    for start in range(0, len(data), size):
        client.says(data[start : start + size])
    assert client.ids() == [0, 1, 2, 3, 4]


def test_partial_request_waits() -> None:
    client = Broker().client()
    client.says(heartbeat(1)[:-1])
    assert client.heard() == []
    assert not client.closed


def test_pipelined_request_waits() -> None:
    broker = Broker()
    doorman = Doorman(broker)
    client = broker.client()
    client.says(heartbeat(1), heartbeat(2))
    client.says(frame("api_versions", 0, 3))
    assert doorman.waiting() == [1]
    assert client.heard() == []
    doorman.answer(broker)
    assert client.ids() == [1]
    assert doorman.waiting() == [2]
    doorman.answer(broker)
    assert [frame[:4] for frame in client.heard()] == [bytes((0, 0, 0, 2)), bytes((0, 0, 0, 3))]


def test_immediate_response_blocks_no_other() -> None:
    broker = Broker()
    broker.api("heartbeat").handle = lambda node, request, ticket: ticket.reply(NONE)
    client = broker.client()
    client.says(heartbeat(1), heartbeat(2), heartbeat(3))
    assert len(client.wire.writes) == 1
    assert client.ids() == [1, 2, 3]


def test_next_request_waits_for_current_handler() -> None:
    broker = Broker()
    doorman = Doorman(broker)
    ada, bob = broker.client(), broker.client()
    ada.says(heartbeat(1), heartbeat(2))
    seen: list[list[int]] = []

    def release(node: Node, request: Any, ticket: Ticket) -> Any:
        doorman.tickets.pop(0).reply(NONE)
        seen.append(doorman.waiting())
        return broker.api("list_groups").response(error_code=ErrorCode.none, groups=())

    broker.api("list_groups").handle = release
    bob.says(frame("list_groups", 0, 9))
    assert seen == [[]]
    assert doorman.waiting() == [2]
    assert ada.ids() == [1]


def test_disconnected_client_gets_no_response() -> None:
    broker = Broker()
    doorman = Doorman(broker)
    client = broker.client()
    client.says(heartbeat(1), heartbeat(2))
    client.connection.connection_lost(None)
    doorman.answer(broker)
    assert client.wire.writes == []
    assert doorman.waiting() == []
    assert not broker.server.connections


def test_ticket_is_answered_once() -> None:
    broker = Broker()
    doorman = Doorman(broker)
    broker.client().says(heartbeat(1))
    ticket = doorman.tickets[0]
    ticket.reply(NONE)
    with pytest.raises(AssertionError):
        ticket.reply(NONE)


def test_reading_pauses_and_resumes() -> None:
    broker = Broker()
    doorman = Doorman(broker)
    client = broker.client()
    client.says(heartbeat(0))
    count = 0
    while client.wire.reading:
        count += 1
        client.says(heartbeat(count))
    assert WAITING_BYTES < count * len(heartbeat()) < WAITING_BYTES + 2 * len(heartbeat())
    broker.api("heartbeat").handle = lambda node, request, ticket: NONE
    doorman.answer(broker)
    while broker.loop._soon:
        broker.loop.run_soon()
    assert client.wire.reading
    assert client.ids() == list(range(count + 1))


@pytest.mark.parametrize("behind", [0, 1], ids=["alone", "behind one that waits"])
def test_large_request_is_read_while_busy(behind: int) -> None:
    broker = Broker()
    doorman = Doorman(broker)
    client = broker.client()
    whole: list[int] = []
    if behind:
        client.says(heartbeat(0))
    size = 3 * READ_ON_BYTES
    request = size.to_bytes(4, "big") + bytes(size)
    pieces = [request[at : at + 200_000] for at in range(0, len(request), 200_000)]
    handle = client.connection.handle
    client.connection.handle = lambda _, data, now_ms, at: whole.append(len(data) - at)
    for number, piece in enumerate(pieces):
        broker.server.scheduler.spend(3 * ROUND_US * 1_000)  # others have asked for much
        client.sends(piece)
        if behind and number == 0:
            assert not client.wire.reading
            client.connection.handle = handle
            doorman.answer(broker)
            client.connection.handle = lambda _, data, now_ms, at: whole.append(len(data) - at)
        while not client.wire.reading:
            assert broker.loop.run_soon(), f"reading stopped after {number + 1} of {len(pieces)} pieces"
    while broker.loop.run_soon():
        pass
    assert whole == [size]
    assert client.connection not in broker.server.paused._connections


def test_unfinished_requests_block_no_other() -> None:
    broker = Broker()
    size = READ_ON_BYTES
    for _ in range(80):
        idle = broker.client()
        broker.server.scheduler.spend(3 * ROUND_US * 1_000)
        idle.sends(size.to_bytes(4, "big") + bytes(size - 1))
    while broker.loop.run_soon():
        pass
    assert not broker.server.paused._connections, "no socket is paused that has sent no whole request"


def test_disconnect_of_paused_client_is_noticed() -> None:
    broker = Broker()
    doorman = Doorman(broker)
    ends: list[tuple[Client, socket]] = []
    for _ in range(3):
        client = broker.client()
        here, there = socketpair()
        client.wire.names["socket"] = here
        client.says(heartbeat(0))
        while client.wire.reading:
            client.says(heartbeat(1))
        ends.append((client, there))
    (leaves, its_end), (stays, _), (is_served, _) = ends
    doorman.tickets.pop().reply(NONE)
    broker.api("heartbeat").handle = lambda node, request, ticket: NONE
    broker.server.end_turn(0)
    while broker.loop.run_soon():
        pass
    its_end.close()
    broker.loop.wait(LOOK_EVERY_MS)
    assert (leaves.closed, stays.closed, is_served.closed) == (True, False, False)
    looks = 0
    while stays.wire.reading:
        looks += 1
        stays.says(heartbeat(2) * 5_000)
        assert not stays.wire.reading, "a little is read at a time"
        broker.loop.wait(LOOK_EVERY_MS)
    assert 1 < looks < 20
    assert READ_ON_BYTES <= stays.connection.held_bytes < 2 * READ_ON_BYTES
    leaves.connection.connection_lost(None)
    broker.loop.wait(LOOK_EVERY_MS)
    stays.connection.connection_lost(None)
    broker.loop.wait(LOOK_EVERY_MS)
    assert not broker.server.paused


def test_client_that_does_not_read_waits() -> None:
    client = Broker().client()
    client.connection.pause_writing()
    client.says(heartbeat(1))
    client.says(heartbeat(2))
    assert client.heard() == []
    client.says(*[heartbeat(3)] * 3_000)
    assert not client.wire.reading
    client.connection.resume_writing()
    assert client.ids()[:3] == [1, 2, 3]


def test_pipelining_client_yields_to_others() -> None:
    broker = Broker()
    client = broker.client()
    busy = Stopwatch(broker, us_a_look=100)
    client.says(*(heartbeat(n) for n in range(100)))
    first = client.ids()
    assert first == list(range(TURN_US // busy.us_a_look))
    client.says(heartbeat(100))
    assert client.heard() == []
    broker.loop.run_soon()
    assert client.ids() == list(range(len(first), 2 * len(first)))
    while broker.loop.run_soon():
        pass
    assert client.ids() == list(range(2 * len(first), 101))


def test_no_reply_is_no_reply() -> None:
    broker = Broker()
    client = broker.client()
    broker.api("heartbeat").handle = lambda node, request, ticket: NO_REPLY
    client.says(heartbeat(1), frame("api_versions", 0, 2))
    assert [frame[:4] for frame in client.heard()] == [bytes((0, 0, 0, 2))]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (bytes(4), "a request of 0 bytes"),
        (b"\xff\xff\xff\xff", "a request of -1 bytes"),
        (b"\x7f\xff\xff\xff", "a request of 2147483647 bytes"),
        (b"\x06\x40\x00\x01", "a request of 104857601 bytes"),
        (bytes.fromhex("00000003000b00"), "unreadable request"),
        (bytes.fromhex("000000080000000000000000"), "unreadable request"),
        (b"GET / HTTP/1.1\r\n\r\n", "a request of 1195725856 bytes"),
        (bytes.fromhex("0000000a 03e7 0000 00000000 ffff"), "unknown API key 999"),
        (bytes.fromhex("0000000b 000b 000a 00000000 ffff 00"), "join_group is served in versions 0 to 9, not 10"),
        (bytes.fromhex("0000000a 0008 0001 00000000 ffff"), "offset_commit is served in versions 2 to 10, not 1"),
        (bytes.fromhex("0000000d 000c 0000 00000000 ffff 000167"), "unreadable request: heartbeat v0"),
    ],
)
def test_malformed_bytes_close_connection(data: bytes, reason: str, lines: StringIO) -> None:
    broker = Broker()
    ada, bob = broker.client(), broker.client()
    ada.says(heartbeat(1), data, heartbeat(2))
    assert ada.closed
    assert ada.ids() == [1], "what came before is answered, what came after is not"
    assert reason in lines.getvalue()
    assert len(lines.getvalue().splitlines()) == 1
    bob.says(heartbeat(3))
    assert bob.ids() == [3]


def test_handler_may_disconnect(lines: StringIO) -> None:
    broker = Broker()

    def refuse(node: Node, request: Any, ticket: Ticket) -> None:
        raise CloseConnection("it was rude")

    broker.api("heartbeat").handle = refuse
    client = broker.client()
    client.says(heartbeat(1), heartbeat(2))
    assert client.closed
    assert client.heard() == []
    assert "it was rude" in lines.getvalue()


def test_unexpected_error_is_logged_and_answered(lines: StringIO) -> None:
    broker = Broker()

    def fail(node: Node, request: Any, ticket: Ticket) -> None:
        raise ZeroDivisionError("out of the blue")

    broker.api("heartbeat").handle = fail
    client = broker.client()
    client.says(heartbeat(1), heartbeat(2))
    unknown = HeartbeatResponse(error_code=ErrorCode.unknown_server_error)
    assert client.hears("heartbeat") == [(1, unknown), (2, unknown)]
    assert not client.closed
    text = lines.getvalue()
    assert "ZeroDivisionError: out of the blue" in text
    assert "HeartbeatRequest(group_id='g'" in text


def test_unencodable_response_is_logged(lines: StringIO) -> None:
    broker = Broker()
    broker.api("heartbeat").handle = lambda node, request, ticket: HeartbeatResponse(error_code="none")  # type: ignore[arg-type]
    client = broker.client()
    client.says(heartbeat(1))
    assert client.hears("heartbeat") == [(1, HeartbeatResponse(error_code=ErrorCode.unknown_server_error))]
    assert "writing a response of heartbeat v0 failed" in lines.getvalue()


def test_silent_connections_are_closed(lines: StringIO) -> None:
    broker = Broker(connections_max_idle_ms=10_000)
    ada, bob = broker.client(), broker.client()
    broker.loop.wait(8_000)
    bob.says(heartbeat(1))
    broker.loop.wait(5_000)
    assert ada.closed
    assert not bob.closed
    assert "connections.max.idle.ms" in lines.getvalue()
    broker.loop.wait(10_000)
    assert bob.closed


def test_connections_are_counted() -> None:
    broker = Broker(max_connections=2)
    ada, bob = broker.client(), broker.client()
    assert broker.client().closed
    assert not ada.closed
    bob.connection.connection_lost(None)
    ada.connection.connection_lost(None)
    assert len(broker.server.connections) == 1


def test_connections_from_one_address_are_counted() -> None:
    broker = Broker(max_connections_per_ip=1)
    assert not broker.client(peer="10.0.0.7").closed
    assert not broker.client(peer="10.0.0.8").closed
    assert broker.client(peer="10.0.0.7").closed


def test_last_descriptors_are_reserved(lines: StringIO) -> None:
    broker = Broker()
    broker.server.descriptors = 1_000
    last = 1_000 - DESCRIPTORS_KEPT
    assert not broker.client(descriptor=last - 1).closed
    assert broker.client(descriptor=last).closed
    assert "this process may open 1000 files and sockets" in lines.getvalue()
    assert "ulimit -n" in lines.getvalue()


def test_addresses_have_javas_format() -> None:
    assert java_address("127.0.0.1") == "/127.0.0.1"
    assert java_address("::1") == "/0:0:0:0:0:0:0:1"
    assert java_address("fe80::1%eth0") == "/fe80:0:0:0:0:0:0:1"
    assert java_address("::ffff:10.0.0.7") == "/10.0.0.7"
