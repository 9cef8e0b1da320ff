"""Rounds of FairScheduler are limited in time: demanding clients alternate with all others."""

from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest

from kohort.broker.cluster.node import Node
from kohort.broker.scheduling.fair_scheduler import AT_A_TIME, ROUND_US, TURN_US
from kohort.broker.ticket import CloseConnection, Ticket
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.find_coordinator import FindCoordinatorResponse
from kohort.protocol.messages.heartbeat import HeartbeatResponse
from kohort.whatif.clients.classic_group_member import ClassicMember
from tests.support.broker import Broker, Client, Stopwatch
from tests.support.data_requests import given_topic
from tests.support.frames import frame, heartbeat, long_request

STEP_US = 100
NONE = HeartbeatResponse(error_code=ErrorCode.none)


class Long:
    """Replacement of FindCoordinator's handler: a request of many steps."""

    def __init__(self, broker: Broker, steps: int = 1_000) -> None:
        self.steps = steps
        self.done = 0
        broker.api("find_coordinator").handle = self.handle

    def handle(self, node: Node, request: Any, ticket: Ticket) -> Iterator[None]:
        for _ in range(self.steps):
            self.done += 1
            yield
        return FindCoordinatorResponse(coordinators=())  # type: ignore[return-value]


def sync_request(correlation_id: int) -> bytes:
    return frame("sync_group", 3, correlation_id, group_id="g", generation_id=1, member_id="m", assignments=())


def run_out(broker: Broker) -> int:
    """Run all rounds, and return their number."""
    rounds = 0
    while broker.loop.run_soon():
        rounds += 1
    return rounds


def test_long_request_is_sliced() -> None:
    broker = Broker()
    Stopwatch(broker, STEP_US)
    long = Long(broker)
    eve, bob = broker.client(), broker.client()
    eve.says(long_request())
    assert long.done == TURN_US // STEP_US
    while eve.heard() == []:
        before = long.done
        bob.says(heartbeat(2))
        assert bob.ids() == [2]
        broker.loop.run_soon()
        assert long.done - before <= (ROUND_US + TURN_US) // STEP_US
    assert long.done == long.steps


def test_request_behind_long_one_waits() -> None:
    broker = Broker()
    Stopwatch(broker, STEP_US)
    Long(broker)
    eve = broker.client()
    eve.says(long_request(1), heartbeat(2))
    eve.says(heartbeat(3))
    assert eve.ids() == []
    run_out(broker)
    assert eve.ids() == [1, 2, 3]


def test_short_request_is_immediate() -> None:
    broker = Broker()
    Stopwatch(broker, STEP_US)
    Long(broker, steps=3)
    eve = broker.client()
    eve.says(long_request(1), heartbeat(2))
    assert eve.ids() == [1, 2]


def test_demanding_clients_share_rounds() -> None:
    broker = Broker()
    Stopwatch(broker, STEP_US)
    clients = [broker.client() for _ in range(20)]
    for client in clients:
        client.says(*(heartbeat(n) for n in range(200)))
    answered = [len(client.heard()) for client in clients]
    at_once = answered.count(1)
    assert answered == [TURN_US // STEP_US, *[1] * at_once, *[0] * (19 - at_once)]
    assert at_once <= ROUND_US // STEP_US
    broker.loop.run_soon()
    assert sum(len(client.heard()) for client in clients) <= (ROUND_US + TURN_US) // STEP_US
    run_out(broker)
    assert not any(client.closed for client in clients)


def test_many_slow_clients_count_once() -> None:
    broker = Broker()
    stopwatch = Stopwatch(broker, STEP_US)
    bob, newcomer = broker.client(), broker.client()
    bob.says(heartbeat(1))
    while broker.loop.run_soon():
        pass
    bob.heard()
    long: list[int] = []

    def handle(node: Node, request: Any, ticket: Ticket) -> FindCoordinatorResponse:
        stopwatch.passes(3_000)
        long.append(ticket.correlation_id)
        return FindCoordinatorResponse(coordinators=())

    broker.api("find_coordinator").handle = handle
    crowd = [broker.client() for _ in range(50)]
    for number, each in enumerate(crowd):
        each.says(long_request(number))
    assert long == [0, 1], "a round is full"
    bob.says(heartbeat(2))
    newcomer.says(heartbeat(3))
    assert (bob.ids(), newcomer.ids()) == ([2], [])
    broker.loop.run_soon()
    assert len(long) <= 4, "sockets are looked at after each round"
    run_out(broker)
    assert long == list(range(50))
    assert newcomer.ids() == [3]


def test_third_full_round_is_deferred() -> None:
    broker = Broker()
    stopwatch = Stopwatch(broker, STEP_US)
    members = [broker.client() for _ in range(10)]
    for member in members:
        member.says(heartbeat(1))
    run_out(broker)
    broker.api("find_coordinator").handle = lambda node, request, ticket: stopwatch.passes(3_000)
    for member in members:
        member.heard()
        member.says(long_request(), heartbeat(2))
    assert broker.server.scheduler.spent_ns < (2 * ROUND_US + 3_000 + TURN_US) * 1_000


def test_simultaneous_responses_are_sliced() -> None:
    broker = Broker()
    tickets: list[Ticket] = []
    broker.api("heartbeat").handle = lambda node, request, ticket: tickets.append(ticket)
    members = [broker.client() for _ in range(200)]
    for member in members:
        member.says(heartbeat(1), frame("api_versions", 0, 2))
    Stopwatch(broker, STEP_US)
    for ticket in tickets:
        ticket.reply(NONE)
    broker.server.end_turn(0)
    at_once = sum(bool(member.heard()) for member in members)
    assert 0 < at_once <= ROUND_US // STEP_US
    run_out(broker)
    rest = [member.ids() for member in members if member.wire.writes]
    assert rest == [[1, 2]] * (len(members) - at_once)


def test_long_response_is_sliced() -> None:
    broker = Broker()
    client = broker.client()
    for n in range(60):
        given_topic(client, f"topic-{n}", 40)
    whole = client.asks("metadata", 12, topics=None)
    Stopwatch(broker, STEP_US)
    client.says(frame("metadata", 12, 77, topics=None))
    assert client.heard() == []
    assert run_out(broker) > 10
    ((_, told),) = client.hears("metadata", 12)
    assert told == whole


def test_delayed_long_response_is_sliced() -> None:
    broker = Broker()
    client = broker.client()
    names = tuple(f"group-{n}" for n in range(200))
    Stopwatch(broker, STEP_US)
    client.says(frame("delete_groups", 2, 77, groups_names=names))
    run_out(broker)
    ((_, told),) = client.hears("delete_groups", 2)
    assert [result.group_id for result in told.results] == list(names)


def test_unbounded_response_is_rejected(lines: StringIO) -> None:
    broker = Broker(kohort_response_max_bytes=1 << 20)
    eve, bob = broker.client(), broker.client()
    broker.cluster.offsets_topic.create(0)
    eve.says(frame("describe_groups", 5, 1, groups=("a" * 200,) * 6_000))
    run_out(broker)
    assert eve.closed
    assert eve.heard() == []
    assert "kohort.response.max.bytes" in lines.getvalue()
    bob.says(heartbeat(1))
    assert bob.ids() == [1]


@pytest.mark.parametrize("version", [2, 9])
def test_leader_response_is_bounded(version: int, lines: StringIO) -> None:
    broker = Broker(kohort_response_max_bytes=3 << 20, group_initial_rebalance_delay_ms=1_000)
    broker.client().asks("find_coordinator", 0, coordinator_keys=("g",))
    broker.loop.wait(100)
    for size, is_told in ((500_000, True), (900_000, False)):
        members = [broker.client() for _ in range(4)]
        for number, member in enumerate(members):
            joins(member, version, f"g{size}", f"m{number}", bytes(size))
        for _ in range(3):
            broker.loop.wait(1_000)
            run_out(broker)
        leader, *others = members
        assert leader.closed is not is_told
        assert is_told is any(size * 4 < len(response) for response in leader.heard())
        assert [len(each.heard()) for each in others] == [1] * 3
    assert "the response is too large: join_group" in lines.getvalue()


def joins(client: Client, version: int, group: str, name: str, metadata: bytes) -> None:
    member = ClassicMember(name, group, instance=name, rebalance_ms=60_000, protocols=(("range", metadata),))
    client.says(frame("join_group", version, 1, **member.join().fields))


@pytest.mark.parametrize("problem", [ZeroDivisionError, OSError, CloseConnection])
def test_long_request_fails_midway(problem: type[Exception], lines: StringIO) -> None:
    broker = Broker()
    Stopwatch(broker, STEP_US)
    eve, bob = broker.client(), broker.client()

    def handle(node: Node, request: Any, ticket: Ticket) -> Iterator[None]:
        for _ in range(100):
            yield
        raise problem("out of the blue")

    broker.api("find_coordinator").handle = handle
    eve.says(long_request(1), heartbeat(2))
    run_out(broker)
    assert eve.closed if problem is CloseConnection else eve.ids() == [1, 2]
    bob.says(heartbeat(1))
    assert bob.ids() == [1]


def test_reads_end_with_connection() -> None:
    broker = Broker()
    Stopwatch(broker, STEP_US)
    for name, ends in (("find_coordinator", True), ("create_topics", False)):
        long = Long(broker)
        broker.api(name).handle = long.handle
        eve = broker.client()
        eve.says(long_request() if ends else frame("create_topics", 7, 1, topics=(), timeout_ms=0))
        eve.connection.connection_lost(None)
        run_out(broker)
        assert (long.done == long.steps) is not ends
        assert eve.wire.writes == []
    assert not broker.server.scheduler


def test_unread_responses_stop_client() -> None:
    broker = Broker()
    Stopwatch(broker, STEP_US)
    eve = broker.client()
    eve.says(*(heartbeat(n) for n in range(100)))
    eve.connection.pause_writing()
    run_out(broker)
    heard = len(eve.heard())
    assert heard < 100
    eve.connection.resume_writing()
    run_out(broker)
    assert heard + len(eve.heard()) == 100


def joined(broker: Broker) -> tuple[Client, ClassicMember]:
    """Return a member of a stable group whose session times out after 10 s."""
    broker.cluster.offsets_topic.create(0)
    broker.loop.wait(50)
    client, member = broker.client(), ClassicMember("ada")
    join = member.join()
    client.says(frame(join.api, 0, 1, **join.fields))
    broker.loop.wait(3_000)
    ((_, answer),) = client.hears("join_group")
    join.hear(answer)
    client.asks("sync_group", **member.sync({}).fields)
    return client, member


def test_stalled_broker_reads_before_expiring() -> None:
    # SIGSTOP for 30 s: a heartbeat sent meanwhile is in the socket buffer and counts
    broker = Broker()
    client, member = joined(broker)
    broker.clock.advance(30_000)
    ring_late(broker)
    client.says(frame("heartbeat", 0, 3, **member.beat().fields))
    assert client.hears("heartbeat") == [(3, NONE)]
    broker.loop.wait(9_000)
    assert list(broker.cluster.coordinators[0].groups["g"].members) == [member.member_id]
    broker.loop.wait(1_100)
    assert not broker.cluster.coordinators[0].groups["g"].members


def test_silent_member_expires_after_stall() -> None:
    broker = Broker()
    joined(broker)
    broker.clock.advance(30_000)
    ring_late(broker)
    broker.loop.wait(100)
    assert not broker.cluster.coordinators[0].groups["g"].members


def ring_late(broker: Broker) -> None:
    """Fire the timer now, later than scheduled."""
    assert broker.loop.timer is not None
    _, ring = broker.loop.timer
    broker.loop.timer = None
    ring()


def test_rebalance_requests_are_sliced() -> None:
    broker = Broker(group_initial_rebalance_delay_ms=0)
    broker.cluster.offsets_topic.create(0)
    members = [broker.client() for _ in range(3 * AT_A_TIME)]
    for number, each in enumerate(members):
        each.says(sync_request(number))
    answered = [number for number, each in enumerate(members) if each.ids()]
    assert answered == list(range(AT_A_TIME))
    bob = broker.client()
    bob.says(heartbeat(1))
    assert bob.ids() == [1], "another client is served immediately"
    for turn in (1, 2):
        broker.loop.run_soon()
        now = [number for number, each in enumerate(members) if each.ids()]
        assert now == list(range(turn * AT_A_TIME, (turn + 1) * AT_A_TIME))
    run_out(broker)
    members[0].says(sync_request(77))
    assert members[0].ids() == [77], "later there is room again"


def test_rebalance_responses_are_sliced() -> None:
    broker = Broker()
    waiting: list[Ticket] = []
    broker.api("find_coordinator").handle = lambda node, request, ticket: waiting.append(ticket)
    members = [broker.client() for _ in range(2 * AT_A_TIME + 1)]
    for number, each in enumerate(members):
        each.says(long_request(number))

    def answer(now_ms: int) -> None:
        for ticket in waiting:
            ticket.reply(FindCoordinatorResponse(coordinators=()))

    broker.server.act(answer)
    assert [number for number, each in enumerate(members) if each.ids()] == list(range(AT_A_TIME))
    run_out(broker)
    assert [number for number, each in enumerate(members) if each.ids()] == list(range(AT_A_TIME, len(members)))
