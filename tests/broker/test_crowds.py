"""What happens to all members of a large group at once is done a few at a time, and others are served in between."""

import pytest

from kohort.broker.cluster.effect_execution import REPLIES_AT_ONCE
from kohort.broker.runtime.server import DUE_AT_ONCE, DUE_BEFORE_CHECK
from kohort.broker.scheduling.fair_scheduler import ROUND_US
from kohort.broker.ticket import Ticket
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.leave_group import MemberIdentity
from kohort.protocol.messages.sync_group import SyncGroupRequestAssignment
from kohort.purgatory import DelayedOperation
from kohort.whatif.clients.classic_group_member import ClassicMember
from tests.support.broker import Broker, Client
from tests.support.frames import frame, heartbeat

MEMBERS = 2 * max(REPLIES_AT_ONCE, DUE_AT_ONCE) + 200
INITIAL_DELAY_MS = 3_000
SESSION_MS = 10_000
SHARE = b"share"


def given_crowd(members: int = MEMBERS) -> tuple[Broker, list[Client]]:
    """Send joins of many members, which wait for the initial delay."""
    broker = Broker(group_initial_rebalance_delay_ms=INITIAL_DELAY_MS)
    broker.client().asks("find_coordinator", 0, coordinator_keys=("crowd",))
    broker.loop.wait(100)
    crowd = [broker.client() for _ in range(members)]
    join = ClassicMember("ada", "crowd", session_ms=SESSION_MS, rebalance_ms=60_000).join()
    for member in crowd:
        member.says(frame(join.api, 3, 1, **join.fields))
    run_out(broker)
    return broker, crowd


def run_out(broker: Broker) -> None:
    while broker.loop.run_soon():
        pass


def joined(broker: Broker, crowd: list[Client]) -> list[str]:
    """Complete a generation whose leader is the first member."""
    for _ in range(2):  # the delay restarts while members join
        broker.loop.wait(INITIAL_DELAY_MS)
        run_out(broker)
    answers = [member.hears("join_group", 3)[0][1] for member in crowd]
    assert {(answer.error_code, answer.generation_id) for answer in answers} == {(ErrorCode.none, 1)}
    ids = [answer.member_id for answer in answers]
    assert {answer.leader for answer in answers} == {ids[0]}
    assert len(set(ids)) == len(crowd)
    assert [len(answer.members) for answer in answers] == [len(crowd), *[0] * (len(crowd) - 1)]
    assert [each.member_id for each in answers[0].members] == ids
    return ids


def sync(member_id: str, *assigned: str) -> bytes:
    shares = tuple(SyncGroupRequestAssignment(member_id=each, assignment=SHARE + each.encode()) for each in assigned)
    return frame("sync_group", 3, 2, group_id="crowd", generation_id=1, member_id=member_id, assignments=shares)


class Replies:
    """Counts the answers that waiting requests are given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        reply = Ticket.reply

        def counted(ticket: Ticket, response: object) -> None:
            self.count += 1
            reply(ticket, response)

        monkeypatch.setattr(Ticket, "reply", counted)

    def since(self, before: int) -> int:
        return self.count - before


def test_large_group_joins_are_sliced(monkeypatch: pytest.MonkeyPatch) -> None:
    broker, crowd = given_crowd()
    bob, replies = broker.client(), Replies(monkeypatch)
    broker.loop.wait(INITIAL_DELAY_MS)
    assert replies.count == 0  # the delay restarts, since members have joined
    broker.loop.wait(INITIAL_DELAY_MS)
    assert replies.count == REPLIES_AT_ONCE
    while replies.count < MEMBERS:
        old_count = replies.count
        bob.says(heartbeat(7))
        assert len(bob.heard()) == 1
        broker.loop.run_soon()
        assert 0 < replies.since(old_count) <= REPLIES_AT_ONCE
    joined(broker, crowd)


def test_leaver_gets_response_of_its_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    # a request that arrives while responses are sent must not change the generation
    broker, crowd = given_crowd()
    replies = Replies(monkeypatch)
    for _ in range(2):
        broker.loop.wait(INITIAL_DELAY_MS)
    assert replies.count < MEMBERS
    group = broker.cluster.coordinators[0].groups["crowd"]
    last = list(group.members)[-1]
    answer = broker.client().asks("leave_group", 3, group_id="crowd", members=(MemberIdentity(member_id=last),))
    assert answer.error_code is ErrorCode.none
    assert joined(broker, crowd)[-1] == last


def test_large_group_syncs_are_sliced(monkeypatch: pytest.MonkeyPatch) -> None:
    broker, crowd = given_crowd()
    ids = joined(broker, crowd)
    for member, member_id in zip(crowd[1:], ids[1:], strict=True):
        member.says(sync(member_id))
    run_out(broker)
    bob, replies = broker.client(), Replies(monkeypatch)
    crowd[0].says(sync(ids[0], *ids))
    run_now = replies.count
    while replies.count < MEMBERS:
        old_count = replies.count
        bob.says(heartbeat(7))
        assert len(bob.heard()) == 1
        broker.loop.run_soon()
        assert replies.since(old_count) <= REPLIES_AT_ONCE
    assert run_now <= REPLIES_AT_ONCE
    run_out(broker)
    shares = [member.hears("sync_group", 3)[0][1].assignment for member in crowd]
    assert shares == [SHARE + each.encode() for each in ids]


def test_expiring_sessions_are_sliced() -> None:
    broker, crowd = given_crowd()
    ids = joined(broker, crowd)
    group = broker.cluster.coordinators[0].groups["crowd"]
    broker.loop.wait(SESSION_MS - 1_000)
    bob = broker.client()
    while len(group.members) == MEMBERS:
        broker.loop.ring()
    assert len(group.members) == MEMBERS - DUE_AT_ONCE
    bob.says(frame("heartbeat", 0, 7, group_id="crowd", generation_id=1, member_id=ids[-1]))
    assert [answer.error_code for _, answer in bob.hears("heartbeat")] == [ErrorCode.rebalance_in_progress]
    while len(group.members) > 1:
        old_count = len(group.members)
        broker.loop.ring()
        assert 0 < old_count - len(group.members) <= DUE_AT_ONCE
    assert list(group.members) == [ids[-1]]


def test_timers_stop_after_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker()
    completed = []

    class Slow(DelayedOperation):
        def on_complete(self, now_ms: int, *, expired: bool) -> None:
            completed.append(now_ms)
            took_ns[0] += ROUND_US * 1_000

    took_ns = [0]
    monkeypatch.setattr(broker.server.scheduler, "now_ns", lambda: took_ns[0])
    for _ in range(10 * DUE_BEFORE_CHECK):
        broker.cluster.purgatory.wait(Slow(broker.cluster.clock.now_ms() + 5))
    for number in range(1, 11):
        broker.loop.ring()
        assert len(completed) == number * DUE_BEFORE_CHECK
