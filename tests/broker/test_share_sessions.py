"""Share sessions: limits that one client cannot use up for others, and what is left when a connection is closed."""

from __future__ import annotations

import gc
from typing import Any
from uuid import UUID

import pytest

from kohort.broker.cluster import share_fetch_sessions
from kohort.broker.cluster.share_fetch_sessions import ShareSession, ShareSessions
from kohort.coordinator.at_once import at_once
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.share_fetch import FetchPartition, FetchTopic, ForgottenTopic
from tests.broker.share_member import ACCEPT, Member, produce, ready
from tests.support.broker import Broker


def topics(first: int, count: int) -> list[FetchTopic]:
    return [
        FetchTopic(topic_id=UUID(int=first), partitions=tuple(FetchPartition(partition_index=n) for n in range(count)))
    ]


def opened(sessions: ShareSessions, member: str, connection: object, count: int = 0) -> ShareSession:
    session = sessions.open("g", member, connection)
    assert isinstance(session, ShareSession)
    assert at_once(sessions.update(session, topics(1, count), (), is_new=True)) is E.none
    return session


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_fetch_sessions, "PARTITIONS_REMEMBERED", 100)


def test_updates_count_against_limit() -> None:
    sessions = ShareSessions(10)
    greedy = opened(sessions, "greedy", "one")
    for number in range(10):
        assert at_once(sessions.update(greedy, topics(number, 10), ())) is E.none
    assert at_once(sessions.update(greedy, topics(99, 1), ())) is E.share_session_limit_reached
    assert greedy.closed
    assert len(sessions) == 0


def test_forgotten_partitions_make_room() -> None:
    sessions = ShareSessions(10)
    ada = opened(sessions, "ada", "one", 100)
    forgotten = [ForgottenTopic(topic_id=UUID(int=1), partitions=tuple(range(50)))]
    assert at_once(sessions.update(ada, (), forgotten)) is E.none
    assert at_once(sessions.update(ada, topics(2, 50), ())) is E.none


def test_forgotten_partition_leaves_no_note() -> None:
    sessions = ShareSessions(10)
    ada = opened(sessions, "ada", "one", 2)
    ada.without_topic |= ada.partitions.keys()
    assert at_once(sessions.update(ada, (), [ForgottenTopic(topic_id=UUID(int=1), partitions=(0,))])) is E.none
    assert ada.without_topic == {(UUID(int=1), 1)}


def test_known_partitions_count_once() -> None:
    sessions = ShareSessions(10)
    ada = opened(sessions, "ada", "one", 100)
    assert at_once(sessions.update(ada, topics(1, 100), ())) is E.none


def test_greedy_connection_makes_room() -> None:
    sessions = ShareSessions(10)
    greedy = [opened(sessions, f"greedy{number}", "one", 30) for number in range(3)]
    ada = opened(sessions, "ada", "two", 20)
    assert [item.closed for item in [*greedy, ada]] == [True, False, False, False]
    assert sessions.find("g", "greedy0", 1) is E.share_session_not_found


def test_session_limit_spares_honest_connection() -> None:
    sessions = ShareSessions(3)
    greedy = [opened(sessions, f"greedy{number}", "one") for number in range(3)]
    ada = opened(sessions, "ada", "two")
    assert [item.closed for item in [*greedy, ada]] == [True, False, False, False]
    assert sessions.open("g", "greedy3", "one") is E.share_session_limit_reached


def test_session_limit_refuses_equals() -> None:
    sessions = ShareSessions(2)
    opened(sessions, "ada", "one")
    opened(sessions, "bob", "two")
    assert sessions.open("g", "cyd", "three") is E.share_session_limit_reached


def test_update_of_closed_session_counts_nothing() -> None:
    sessions = ShareSessions(10)
    ada = opened(sessions, "ada", "one", 10)
    steps = sessions.update(ada, topics(2, 10), ())
    sessions.close(ada)
    assert at_once(steps) is E.none
    opened(sessions, "bob", "two", 100)


def test_many_closed_groups_are_forgotten_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_fetch_sessions, "GROUPS_KEPT", 2)
    broker = Broker()
    led = broker.cluster.nodes[0].led_share_partitions
    member: Any = None
    for number in range(5):
        ready(broker, group=f"g{number}")
        other = Member(broker, group=f"g{number}")
        if member is not None:
            other.client = member.client
        member = other
        member.fetches(0)
        assert member.says(epoch=-1).error_code is E.none
    assert len(led) <= 3
    member.disconnects()
    assert len(led) == 0


@pytest.mark.parametrize("how", ["open", "closed", "replaced", "refused"])
def test_nothing_remains_of_closed_connection(how: str) -> None:
    broker = Broker(group_share_max_share_sessions=1, group_share_max_size=1)
    ready(broker)
    produce(broker, b"a", b"b")
    name = f"member-{how}"
    other_member, member = Member(broker, "others"), Member(broker, name)
    if how == "refused":
        other_member.fetches(0)
    member.fetches(0)
    if how == "closed":
        assert member.says((0, 1, [ACCEPT]), epoch=1).error_code is E.none
        assert member.says(epoch=-1).error_code is E.none
    elif how == "replaced":
        member.fetches(0, epoch=0)
    member.disconnects()
    other_member.disconnects()
    del member
    broker.loop.wait(100)
    led = broker.cluster.nodes[0].led_share_partitions
    assert (len(led), len(led.sessions)) == (0, 0)
    assert not led.sessions.__dict__["_of_connections"]
    gc.collect()
    assert not [item for item in gc.get_objects() if isinstance(item, ShareSession) and item.member_id == name]
