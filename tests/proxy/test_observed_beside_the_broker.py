"""The proxy's events of groups compared with the broker's, in all conversations: the proxy may know less."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import NamedTuple

import pytest

from kohort.coordinator.events.group_event import GroupEvent
from kohort.proxy.observed.observed_classic_group import ObservedClassicGroup
from kohort.proxy.observed.observed_events import EVIDENCE
from tests.proxy.event_comparing import DIFFERS, PLAYED, Beside, beside, held
from tests.proxy.overhearing import overhear
from tests.talk.conversations import FILES

# types of events inside the cluster
NEVER_SEEN = {
    "group_created", "group_converted", "group_loaded", "group_unloaded", "assignment_stored", "join_progress",
    "sync_timeout", "offsets_expired", "target_computed", "member_reconciled", "records_acquired", "records_accepted",
    "records_released", "records_rejected", "records_renewed", "lock_expired", "records_archived",
    "dead_letter_written", "dead_letter_failed",
    "share_partition_loaded", "share_start_moved", "access_denied",
}  # fmt: skip

# types of events that responses show, if all members use the proxy
ALWAYS_SEEN = {"join_completed", "member_synced", "member_id_issued", "member_stepped_out"}


class Compared(NamedTuple):
    """One conversation."""

    beside: Beside
    seen: list[GroupEvent]
    strangers: set[str]  # members of which a connection is known, but no group


@cache
def compared(name: str) -> Compared:
    """Return the events of both in a conversation."""
    stage = overhear(FILES[name])
    strangers = {
        member_id
        for group in stage.listener.groups.values()
        if isinstance(group, ObservedClassicGroup)
        for member_id in group.connected.keys() - group.members.keys()
    }
    return Compared(beside(stage.seen, stage.said), [record.event for record in stage.seen], strangers)


@pytest.mark.parametrize("name", held())
def test_proxy_events_equal_broker_events(name: str) -> None:
    assert compared(name).beside.differences == []
    assert compared(name).strangers == set()
    says_what_it_knows(compared(name).seen)


@pytest.mark.parametrize("name", sorted(DIFFERS))
def test_remaining_differences_still_differ(name: str) -> None:
    assert compared(name).beside.differences, "take it out of the list"


@pytest.mark.parametrize("name", [item for item in PLAYED if item not in held() and item not in DIFFERS])
def test_missing_knowledge_is_reported(name: str) -> None:
    says_what_it_knows(compared(name).seen)


def says_what_it_knows(seen: list[GroupEvent]) -> None:
    """Check that every event names its evidence, and no cause that only a coordinator's timers know."""
    for record in seen:
        assert record.detail, record
        assert record.detail[EVIDENCE]
        assert record.cause not in ("session_expired", "barrier_timeout", "sync_timeout", "epoch_timeout")
        assert record.kind not in NEVER_SEEN


def test_responses_omit_no_details() -> None:
    left_out, agreed = Counter[str](), Counter[str]()
    for name in (
        entry for entry in held() if entry.startswith(("classic/sync", "classic/rebalance", "consumer/rebalance"))
    ):
        left_out += compared(name).beside.left_out
        agreed += compared(name).beside.agreed
    assert {kind: count for kind, count in left_out.items() if kind in ALWAYS_SEEN} == {}
    assert agreed["join_completed"] > 20
    seldom = {"member_added", "member_removed", "rebalance_started", "rebalance_completed", "epoch_bumped"}
    assert {kind for kind in seldom if left_out[kind] * 5 > agreed[kind]} == set()
