"""Recordings in which members joined a group at the same time."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from kohort.proxy.talk.bindings import Bindings
from kohort.proxy.talk.concurrent_joins import JoinPhase
from kohort.proxy.talk.elected_leaders import ElectedLeaders, Joined
from kohort.proxy.talk.talk_file import read_talk
from kohort.proxy.talk.talk_lines import FIRST_LINE
from kohort.testing import replay

pytestmark = pytest.mark.timeout(120)

JOIN = "JoinGroup v5 {group_id: g, session_timeout_ms: 60000, rebalance_timeout_ms: 60000, protocol_type: consumer"
SUBSCRIBED = "protocols: {range: subscription(orders)}}"
MEMBERS = "members: {$ada: subscription(orders), $bob: subscription(orders)}"
ALONE = (
    "NONE {generation_id: 1, protocol_name: range, leader: $ada, member_id: $ada, "
    "members: {$ada: subscription(orders)}}"
)
AT_ONCE = {"group.consumer.assignment.interval.ms": 0, "group.share.assignment.interval.ms": 0}
NO_DELAY = {"group.initial.rebalance.delay.ms": 0}


def two_members(ada_ms: int, bob_ms: int, answered_ms: int) -> str:
    """Return a recording of two joins, of which ada's was recorded first and bob's led the group."""
    joined = "NONE {generation_id: 1, protocol_name: range, leader: $bob, member_id"
    sync = "SyncGroup v3 {group_id: g, generation_id: 1, member_id"
    end = answered_ms
    return f"""{FIRST_LINE}
0 ms  ada connects as ada
0 ms  bob connects as bob
1 ms  ada {JOIN}, {SUBSCRIBED}
1 ms  bob {JOIN}, {SUBSCRIBED}
2 ms  ada <- MEMBER_ID_REQUIRED {{protocol_name: "", member_id: $ada}}
2 ms  bob <- MEMBER_ID_REQUIRED {{protocol_name: "", member_id: $bob}}
{ada_ms} ms  ada {JOIN}, member_id: $ada, {SUBSCRIBED}
{bob_ms} ms  bob {JOIN}, member_id: $bob, {SUBSCRIBED}
{end} ms  bob <- {joined}: $bob, {MEMBERS}}}
{end} ms  ada <- {joined}: $ada}}
{end + 1} ms  bob {sync}: $bob, assignments: {{$ada: assignment(orders:0), $bob: assignment(orders:1)}}}}
{end + 2} ms  bob <- NONE {{assignment: assignment(orders:1)}}
{end + 3} ms  ada {sync}: $ada}}
{end + 4} ms  ada <- NONE {{assignment: assignment(orders:0)}}
{end + 100} ms  bob Heartbeat v3 {{group_id: g, generation_id: 1, member_id: $bob}}
{end + 101} ms  bob <- NONE
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.talk"


def test_elected_leader_joins_first(path: Path) -> None:
    path.write_text(two_members(3, 4, 6_100))
    played = replay(path)
    assert (played.differences, played.ambiguous, played.as_recorded) == ([], [], 7)


def test_quick_joins_share_a_generation(path: Path) -> None:
    path.write_text(two_members(3, 4, 6))
    played = replay(path, settings=NO_DELAY)
    assert (played.differences, played.ambiguous, played.as_recorded) == ([], [], 7)


def test_other_leader_of_late_join_differs(path: Path) -> None:
    path.write_text(two_members(3, 500, 6_600))
    played = replay(path)
    assert played.differences
    assert played.ambiguous == []


def follow(leaders: ElectedLeaders, generation: int, leader: str, elected: str, asked_at_ms: tuple[int, int]) -> str:
    answers = [
        Joined(
            {"generation_id": generation, "leader": leader, "member_id": name},
            {"generation_id": generation, "leader": elected, "member_id": name},
            at_ms,
        )
        for name, at_ms in zip(("$ada", "$bob"), asked_at_ms, strict=True)
    ]
    return leaders.follow(JoinPhase("join_group", "g", generation), answers)


@pytest.fixture
def leaders() -> ElectedLeaders:
    bindings = Bindings()
    for name in ("$ada", "$bob"):
        bindings.is_same_id(name, name)
    return ElectedLeaders(bindings)


def test_concurrent_joins_may_elect_another_leader(leaders: ElectedLeaders) -> None:
    sentence = follow(leaders, 1, "$bob", "$ada", (3, 40))
    assert sentence == "group g elected $ada instead of $bob, which joined at the same time"


def test_later_join_cannot_become_leader(leaders: ElectedLeaders) -> None:
    assert follow(leaders, 1, "$bob", "$ada", (3, 500)) == ""


def test_leader_that_left_has_any_successor(leaders: ElectedLeaders) -> None:
    follow(leaders, 1, "$eve", "$eve", (3, 500))
    sentence = follow(leaders, 2, "$bob", "$ada", (1_000, 1_500))
    assert sentence == "group g elected $ada instead of $bob, because any member may follow a leader that has left"


def test_remaining_leader_must_stay(leaders: ElectedLeaders) -> None:
    follow(leaders, 1, "$bob", "$bob", (3, 500))
    assert follow(leaders, 2, "$bob", "$ada", (1_000, 1_500)) == ""


@pytest.mark.parametrize(
    ("api", "fields"),
    [
        ("ConsumerGroupHeartbeat v1", ", rebalance_timeout_ms: 5000, topic_partitions: []"),
        ("ShareGroupHeartbeat v1", ""),
    ],
)
def test_epochs_show_the_order_of_joins(path: Path, api: str, fields: str) -> None:
    join = f"{api} {{group_id: g, member_epoch: 0{fields}, subscribed_topic_names: [nowhere], member_id"
    path.write_text(f"""{FIRST_LINE}
0 ms  ada connects as ada
0 ms  bob connects as bob
1 ms  ada {join}: $ada}}
1 ms  bob {join}: $bob}}
2 ms  ada <- NONE {{member_id: $ada, member_epoch: 2, assignment: {{}}}}
2 ms  bob <- NONE {{member_id: $bob, member_epoch: 1, assignment: {{}}}}
""")
    played = replay(path, settings=AT_ONCE)
    assert (played.differences, played.as_recorded) == ([], 2)


def test_answer_near_join_is_ambiguous(path: Path) -> None:
    path.write_text(f"""{FIRST_LINE}
0 ms  ada connects as ada
0 ms  bob connects as bob
1 ms  ada {JOIN}, {SUBSCRIBED}
2 ms  ada <- MEMBER_ID_REQUIRED {{protocol_name: "", member_id: $ada}}
3 ms  ada {JOIN}, member_id: $ada, {SUBSCRIBED}
4 ms  ada <- {ALONE}
5 ms  bob {JOIN}, {SUBSCRIBED}
6 ms  bob <- MEMBER_ID_REQUIRED {{protocol_name: "", member_id: $bob}}
7 ms  ada SyncGroup v3 {{group_id: g, generation_id: 1, member_id: $ada, assignments: {{$ada: assignment(orders:0)}}}}
8 ms  bob {JOIN}, member_id: $bob, {SUBSCRIBED}
9 ms  ada <- REBALANCE_IN_PROGRESS {{assignment: ""}}
""")
    played = replay(path, settings=NO_DELAY)
    assert (played.differences, played.ambiguous_answers) == ([], 1)
    assert played.ambiguous == [
        "x.talk:10: the recording is ambiguous: a member joined group g at the same time as this SyncGroup"
    ]


def test_reading_keeps_no_lines(path: Path) -> None:
    beat = "ada Heartbeat v4 {group_id: g, generation_id: 1, member_id: $ada}"
    path.write_text(f"{FIRST_LINE}\n0 ms  ada connects as ada\n" + f"1 ms  {beat}\n1 ms  ada <- NONE\n" * 1_000)
    list(read_talk(path).steps)  # what is loaded once
    tracemalloc.start()
    talk = read_talk(path)
    answered = sum(step.answer is not None for step in talk.requests)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert answered == 1_000
    assert peak_bytes < 500_000
