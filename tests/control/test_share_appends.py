"""Writes of a share group's states fail, are slow, or are held, and the owners of the records meanwhile."""

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
    """Return the result of the acknowledgements in a fetch."""
    return E(answer.responses[0].partitions[0].acknowledge_error_code)


def test_unconfirmed_records_have_no_owner(lab: ShareLab) -> None:
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


def test_failed_write_is_retried_silently(lab: ShareLab) -> None:
    ada = Member(lab.broker)
    assert ada.acquires(0) == [(0, 9, 1)]
    rule = lab.laboratory.appends.of("share_state").fail("NOT_ENOUGH_REPLICAS", times=2)
    ada.asks_for(acks={0: [(0, 9, [ACCEPT])]}, max_bytes=0)
    assert ada.hears() is None
    lab.laboratory.advance(2_000 + 4_000)
    assert outcome(ada.hears()) is E.none
    assert rule.acted == 2
    assert Member(lab.broker, "bob").acquires(0) == []


def test_permanently_failed_write_changes_nothing(lab: ShareLab) -> None:
    ada, bob = Member(lab.broker), Member(lab.broker, "bob")
    assert ada.acquires(0) == [(0, 9, 1)]
    lab.laboratory.appends.of("share_state").fail("MESSAGE_TOO_LARGE", times=1)
    assert ada.acknowledges((0, 9, [ACCEPT])) is E.unknown_server_error
    assert bob.acquires(0) == []
    assert ada.acknowledges((0, 9, [RELEASE])) is E.none
    assert bob.acquires() == [(0, 9, 2)]


def test_failed_write_frees_expired_locks(lab: ShareLab) -> None:
    ada, bob = Member(lab.broker), Member(lab.broker, "bob")
    assert ada.acquires(0) == [(0, 9, 1)]
    lab.laboratory.advance(29_000)
    lab.laboratory.appends.of("share_state").fail("NOT_ENOUGH_REPLICAS")
    ada.asks_for(acks={0: [(0, 9, [ACCEPT])]}, max_bytes=0)
    lab.laboratory.advance(2_000 + 4_000 + 8_000 + 16_000)
    assert outcome(ada.hears()) is E.coordinator_not_available
    lab.laboratory.appends.clear()
    assert bob.acquires(0) == [(0, 9, 2)]


def test_slow_write_delays_response(lab: ShareLab) -> None:
    ada = Member(lab.broker)
    assert ada.acquires(0) == [(0, 9, 1)]
    lab.laboratory.appends.of("share_state").delay(seconds=2)
    ada.asks_for(acks={0: [(0, 9, [ACCEPT])]}, max_bytes=0)
    lab.laboratory.advance(1_999)
    assert ada.hears() is None
    lab.laboratory.advance(1)
    assert outcome(ada.hears()) is E.none


def test_unrelated_writes_are_not_affected(lab: ShareLab) -> None:
    others = lab.laboratory.appends.of("share_state", group="another-*").fail()
    members = lab.laboratory.appends.of("group").fail()
    ada = Member(lab.broker)
    assert ada.acquires(0) == [(0, 9, 1)]
    assert ada.acknowledges((0, 9, [ACCEPT])) is E.none
    assert (others.acted, members.acted) == (0, 0)
