"""Rules for requests of share groups, and effects of clock jumps on their members and locks."""

from __future__ import annotations

import pytest

from kohort.control.control_errors import ControlError
from kohort.control.faults.rule_parsing import parse_rule
from kohort.protocol.errors import ErrorCode as E
from tests.broker.share_member import ACCEPT, GROUP, RELEASE, Member, acquired
from tests.control.share_lab import ShareLab
from tests.support.frames import frame


@pytest.fixture
def lab() -> ShareLab:
    return ShareLab()


def test_matching_acknowledgement_is_rejected(lab: ShareLab) -> None:
    ada, bob = Member(lab.broker), Member(lab.broker, "bob")
    assert ada.acquires(0, most=1) == [(0, 9, 1)]
    rule = lab.faults.on("ShareAcknowledge", group=GROUP, member="ada", records="t-0@5-9").error("INVALID_RECORD_STATE")
    assert ada.acknowledges((0, 4, [ACCEPT])) is E.none
    assert ada.says((4, 5, [ACCEPT])).error_code is E.invalid_record_state
    assert (rule.seen, rule.acted) == (1, 1)
    rule.remove()
    ada.epoch -= 1  # the broker has never seen that request
    assert ada.acknowledges((5, 9, [RELEASE])) is E.none
    assert bob.acquires(0) == [(5, 9, 2)]


def test_piggybacked_acknowledgements_are_matched(lab: ShareLab) -> None:
    ada = Member(lab.broker)
    ada.fetches(0)
    with lab.faults.on("ShareFetch", records="t-0@3").error("UNKNOWN_SERVER_ERROR"):
        assert ada.fetches(0, wait_ms=0, acks={0: [(0, 2, [ACCEPT])]}).error_code is E.none
        assert ada.fetches(0, acks={0: [(3, 3, [ACCEPT])]}).error_code is E.unknown_server_error


def test_response_with_matching_records_is_lost(lab: ShareLab) -> None:
    ada, bob = Member(lab.broker), Member(lab.broker, "bob")
    rule = lab.faults.on("ShareFetch", group=GROUP, records="t-0@5-9").lose_response(times=1)
    assert ada.acquires(0, most=5, share_acquire_mode=1) == [(0, 4, 1)]
    bob.asks_for(0, most=5, share_acquire_mode=1)
    assert bob.hears() is None
    assert rule.acted == 1
    assert ada.acquires() == [], "they are bob's, who does not know it"
    rule.remove()
    while lab.broker.loop.run_soon():
        pass
    assert bob.client.closed
    bob.disconnects()
    assert ada.acquires() == [(5, 9, 2)]


def test_answers_wait_at_gates(lab: ShareLab) -> None:
    ada = Member(lab.broker)
    gate = lab.gates.hold("share-fetch-response", group=GROUP)
    ada.asks_for(0, wait_ms=1)
    assert ada.hears() is None
    assert [held.member for held in gate.held] == ["ada"]
    gate.release("ada")
    assert acquired(ada.hears()) == [(0, 9, 1)]
    gate.open()
    received = lab.gates.hold("share-acknowledge-received")
    ada.client.says(frame("share_acknowledge", 2, 1, group_id=GROUP, member_id="ada", share_session_epoch=1, topics=()))
    assert [str(held) for held in received.held] == ["ShareAcknowledge of ada for group g at node 1"]


@pytest.mark.parametrize("api", ["ShareGroupHeartbeat", "ShareGroupDescribe", "ShareFetch", "ShareAcknowledge"])
def test_error_has_shape_of_response(lab: ShareLab, api: str) -> None:
    ada = Member(lab.broker)
    ada.fetches(0)
    lab.faults.on(api).error("COORDINATOR_LOAD_IN_PROGRESS")
    if api == "ShareGroupHeartbeat":
        heard = lab.beats(ada.client)
        assert (heard.member_id, heard.member_epoch, heard.assignment) == (None, 0, None)
    elif api == "ShareGroupDescribe":
        answer = ada.client.asks("share_group_describe", 1, group_ids=("a", "b"))
        assert [(group.group_id, group.members) for group in answer.groups] == [("a", ()), ("b", ())]
        heard = answer.groups[1]
    else:
        heard = ada.fetches(0) if api == "ShareFetch" else ada.says((0, 0, [ACCEPT]))
        assert heard.responses == ()
    assert heard.error_code is E.coordinator_load_in_progress


@pytest.mark.parametrize(
    ("api", "records", "advice"),
    [
        ("ShareFetch", "t", "is not a partition with optional offsets"),
        ("ShareFetch", "t-0@9-5", "has a last offset below its first"),
        ("Heartbeat", "t-0", "have no records"),
        ("ShareGroupHeartbeat", "t-0", "have no records"),
    ],
)
def test_unmatchable_records_are_rejected(lab: ShareLab, api: str, records: str, advice: str) -> None:
    with pytest.raises(ControlError, match=advice):
        lab.faults.on(api, records=records)


def test_files_and_requests_say_it_alike(lab: ShareLab) -> None:
    match = {"api": "ShareAcknowledge", "group": "g", "records": "t-*@0"}
    with pytest.raises(ControlError, match="is not a partition with"):
        parse_rule(lab.faults, {"match": match, "do": "drop"})
    rule = parse_rule(lab.faults, {"match": {**match, "records": "?-0@0"}, "do": "count"})
    ada = Member(lab.broker)
    ada.fetches(0)
    assert ada.acknowledges((0, 1, [ACCEPT])) is E.none
    assert rule.acted == 1


def test_jump_expires_locks_but_not_members(lab: ShareLab) -> None:
    home, ada = lab.broker.client(), Member(lab.broker)
    assert lab.beats(home).error_code is E.none
    assert ada.acquires(0) == [(0, 9, 1)]
    lab.laboratory.advance(29_999)
    assert Member(lab.broker, "bob").acquires(0) == []
    lab.laboratory.advance(1)
    assert Member(lab.broker, "cyd").acquires(0) == [(0, 9, 2)]
    lab.laboratory.advance(600_000)
    assert lab.members() == ["ada"]
    home.connection.connection_lost(None)
    lab.laboratory.advance(60_000)
    assert lab.members() == [], "fetching does not make a member"


def test_silenced_member_is_not_kept_alive(lab: ShareLab) -> None:
    home = lab.broker.client()
    assert lab.beats(home).error_code is E.none
    lab.faults.on("ShareGroupHeartbeat", group=GROUP, member="ada").hold()
    lab.laboratory.advance(46_000)
    assert lab.members() == []
