"""What is written of a share group's records fails, is slow, or is held: who has the records meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from kohort.protocol.errors import ErrorCode as E
from tests.broker.share_member import ACCEPT, GROUP, RELEASE, Member
from tests.control.share_lab import ShareLab


@pytest.fixture
def lab() -> ShareLab:
    return ShareLab()


def outcome(answer: Any) -> E:
    """What a fetch hears of what it said."""
    return E(answer.responses[0].partitions[0].acknowledge_error_code)


def test_what_is_written_and_not_reported_is_nobodys(lab: ShareLab) -> None:
    ada, bob = Member(lab.broker), Member(lab.broker, "bob")
    assert ada.acquires(0) == [(0, 9, 1)]
    with lab.laboratory.appends.of("share_state", group=GROUP).hold() as rule:
        ada.asks_for(acks={0: [(0, 4, [ACCEPT]), (5, 9, [RELEASE])]})
        assert ada.hears() is None
        assert bob.acquires(0) == []
        assert (rule.held, rule.acted) == (1, 1)
        lab.laboratory.advance(60_000)
        assert bob.acquires() == [], "their lock has expired meanwhile, and what becomes of them is not decided"
    assert outcome(ada.hears()) is E.none
    assert bob.acquires() == [(5, 9, 2)]


def test_a_write_that_fails_is_tried_again_and_the_member_hears_nothing_of_it(lab: ShareLab) -> None:
    ada = Member(lab.broker)
    assert ada.acquires(0) == [(0, 9, 1)]
    rule = lab.laboratory.appends.of("share_state").fail("NOT_ENOUGH_REPLICAS", times=2)
    ada.asks_for(acks={0: [(0, 9, [ACCEPT])]}, max_bytes=0)
    assert ada.hears() is None
    lab.laboratory.advance(2_000 + 4_000)
    assert outcome(ada.hears()) is E.none
    assert rule.acted == 2
    assert Member(lab.broker, "bob").acquires(0) == []


def test_a_write_that_fails_for_good_changes_nothing(lab: ShareLab) -> None:
    ada, bob = Member(lab.broker), Member(lab.broker, "bob")
    assert ada.acquires(0) == [(0, 9, 1)]
    lab.laboratory.appends.of("share_state").fail("MESSAGE_TOO_LARGE", times=1)
    assert ada.acknowledges((0, 9, [ACCEPT])) is E.unknown_server_error
    assert bob.acquires(0) == []
    assert ada.acknowledges((0, 9, [RELEASE])) is E.none
    assert bob.acquires() == [(0, 9, 2)]


def test_what_failed_for_good_is_free_if_its_lock_has_expired_meanwhile(lab: ShareLab) -> None:
    ada, bob = Member(lab.broker), Member(lab.broker, "bob")
    assert ada.acquires(0) == [(0, 9, 1)]
    lab.laboratory.advance(29_000)
    lab.laboratory.appends.of("share_state").fail("NOT_ENOUGH_REPLICAS")
    ada.asks_for(acks={0: [(0, 9, [ACCEPT])]}, max_bytes=0)
    lab.laboratory.advance(2_000 + 4_000 + 8_000 + 16_000)
    assert outcome(ada.hears()) is E.coordinator_not_available
    lab.laboratory.appends.clear()
    assert bob.acquires(0) == [(0, 9, 2)]


def test_a_slow_write_answers_late(lab: ShareLab) -> None:
    ada = Member(lab.broker)
    assert ada.acquires(0) == [(0, 9, 1)]
    lab.laboratory.appends.of("share_state").delay(seconds=2)
    ada.asks_for(acks={0: [(0, 9, [ACCEPT])]}, max_bytes=0)
    lab.laboratory.advance(1_999)
    assert ada.hears() is None
    lab.laboratory.advance(1)
    assert outcome(ada.hears()) is E.none


def test_what_is_written_of_members_and_of_other_groups_is_left_alone(lab: ShareLab) -> None:
    others = lab.laboratory.appends.of("share_state", group="another-*").fail()
    members = lab.laboratory.appends.of("group").fail()
    ada = Member(lab.broker)
    assert ada.acquires(0) == [(0, 9, 1)]
    assert ada.acknowledges((0, 9, [ACCEPT])) is E.none
    assert (others.acted, members.acted) == (0, 0)
