"""Sessions after jumps of the clock: each live member has the time that heartbeats in time would have left it."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import hypothesis
import pytest
from hypothesis import strategies as st

from kohort.control.clock.jump import jump
from tests.control.talking import Lab
from tests.support.effort import examples

MEMBERS = ("ada", "bob", "eve")


class Kind(NamedTuple):
    """A type of group, and the conversation that makes one."""

    profile: str
    talk: str
    session_ms: int


KINDS = {
    "classic": Kind(
        "default",
        "given ada, bob, eve share a stable group {session_timeout_ms: 10000, rebalance_timeout_ms: 900000}",
        10_000,
    ),
    "static": Kind(
        "default",
        """
        given ada, bob, eve share a stable group {session_timeout_ms: 10000, rebalance_timeout_ms: 900000,
             ada: {group_instance_id: a}, bob: {group_instance_id: b}, eve: {group_instance_id: c}}
        """,
        10_000,
    ),
    "consumer": Kind(
        "default",
        """
        given topic $topic with 3 partitions
        given ada, bob, eve share a consumer group {topics: [$topic]}
        """,
        45_000,
    ),
    "share": Kind(
        "share",
        """
        given topic $topic with 3 partitions
        given ada, bob, eve share a share group {topics: [$topic]}
        """,
        45_000,
    ),
    "static streams": Kind(
        "streams",
        """
        given topic $topic with 3 partitions
        given ada, bob, eve share a streams group {topology: {0: {reads: [$topic]}},
             ada: {instance: a}, bob: {instance: b}, eve: {instance: c}}
        """,
        45_000,
    ),
    "streams": Kind(
        "streams",
        """
        given topic $topic with 3 partitions
        given ada, bob, eve share a streams group {topology: {0: {reads: [$topic]}}}
        """,
        45_000,
    ),
}


def open_lab(kind: Kind) -> Lab:
    lab = Lab(kind.profile)
    lab.laboratory.record()
    lab.talk(kind.talk)
    return lab


def sessions(lab: Lab) -> dict[str, int]:
    """Return the time left of each member's session, by the member's name."""
    now_ms = lab.clock.now_ms()
    names = {lab.name(name): name for name in MEMBERS}
    return {
        names[member.member_id]: member.session.deadline_ms - now_ms
        for _, member in lab.laboratory._with_session()
        if member.session is not None
    }


def after_jumps(kind: Kind, lengths_ms: list[int], silence: Callable[[Lab], object]) -> dict[str, int]:
    lab = open_lab(kind)
    silence(lab)
    for length_ms in lengths_ms:
        lab.laboratory.advance(length_ms)
    left_ms = sessions(lab)
    lab.stage.close()
    return left_ms


lengths = st.integers(0, 60_000)


@pytest.mark.parametrize("name", KINDS)
@hypothesis.given(first_ms=lengths, second_ms=lengths)
@examples(0.25)
def test_two_jumps_equal_one(name: str, first_ms: int, second_ms: int) -> None:
    kind = KINDS[name]

    def silence_none(_: Lab) -> None:
        return None

    def hang_up(lab: Lab) -> None:
        lab.talk("eve disconnects")

    assert after_jumps(kind, [first_ms, second_ms], silence_none) == dict.fromkeys(MEMBERS, kind.session_ms)
    in_one = after_jumps(kind, [first_ms + second_ms], hang_up)
    assert after_jumps(kind, [first_ms, second_ms], hang_up) == in_one
    assert in_one["ada"] == kind.session_ms


@pytest.mark.parametrize("name", KINDS)
def test_returning_members_outlive_jumps(name: str) -> None:
    kind = KINDS[name]
    lab = open_lab(kind)
    for member in MEMBERS:
        with lab.faults.freeze(group=lab.name("group"), member=lab.name(member)):
            lab.laboratory.advance(kind.session_ms * 4 // 9)
    with lab.faults.freeze(group=lab.name("group"), member=lab.name("eve")):
        lab.laboratory.advance(kind.session_ms // 2)
    assert set(sessions(lab)) == set(MEMBERS)
    lab.stage.close()


@pytest.mark.parametrize("name", KINDS)
async def test_jump_with_clients_extends_sessions(name: str) -> None:
    kind = KINDS[name]
    lab = open_lab(kind)
    await jump(lab.laboratory, 5_000, patience_s=0.01)
    assert sessions(lab) == dict.fromkeys(MEMBERS, kind.session_ms)
    lab.stage.close()


def test_jump_reports_no_heartbeat_gap() -> None:
    lab = open_lab(KINDS["classic"])
    for _ in range(2):
        lab.laboratory.advance(9_000)
        lab.talk("ada Heartbeat v4 {generation_id: 3}\n  <- NONE")
    assert not [event for event in lab.laboratory.recorder.events() if event.kind == "heartbeat_gap"]
    lab.stage.close()


def test_join_timeout_passes_in_jump() -> None:
    lab = Lab()
    lab.laboratory.record()
    lab.talk("""
        given ada shares a stable group {session_timeout_ms: 10000, rebalance_timeout_ms: 900000}
        bob joins {rebalance_timeout_ms: 900000}
          <- nothing for 100 ms
        """)
    lab.laboratory.advance(200_000)
    lab.laboratory.advance(99_000)
    assert set(names_of(lab)) == {"ada", "bob"}
    lab.laboratory.advance(2_000)
    assert set(names_of(lab)) == {"ada"}
    lab.stage.close()


def names_of(lab: Lab) -> Iterator[str]:
    group: Any = lab.laboratory.find(lab.name("group"))
    return (member.client_id for member in group.members.values())
