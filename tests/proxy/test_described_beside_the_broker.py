"""The cluster is queried after each step of a conversation: the proxy's state of the groups stays true."""

from __future__ import annotations

import pytest

from kohort.coordinator.events.group_event import GroupEvent
from kohort.proxy.observed.observed_events import DESCRIBED, EVIDENCE
from tests.proxy.describing import describe
from tests.proxy.event_comparing import PLAYED, beside, held
from tests.support.effort import CHOSEN
from tests.talk.conversations import FILES

ALL = held() if CHOSEN == "deep" else held()[::3]  # the tests of every change play a third of them
# those with the most events of members
REBALANCES = [entry for entry in held() if "/rebalance" in entry or "/static" in entry or "/members" in entry]


def is_described(seen: GroupEvent) -> bool:
    """Return whether an event is based on a description."""
    return (seen.detail or {})[EVIDENCE].startswith(DESCRIBED)


@pytest.mark.parametrize(("name", "late"), [(name, number % 2 == 1) for number, name in enumerate(ALL)])
def test_fully_proxied_descriptions_agree(name: str, late: bool) -> None:
    stage = describe(FILES[name], late=late)
    assert beside(stage.seen, stage.said).differences == []
    assert late or stage.disagreeing == []


@pytest.mark.parametrize("name", REBALANCES)
def test_half_proxied_descriptions_are_true(name: str) -> None:
    stage = describe(FILES[name], some_past=True)
    assert stage.disagreeing == []
    assert [
        difference for difference in beside(stage.seen, stage.said).differences if is_described(difference.seen)
    ] == []


def test_descriptions_add_members_outside_proxy() -> None:
    stage = describe(FILES["share/members-come-and-go"], some_past=True)
    assert stage.taken > 5
    told = {record.event.kind for record in stage.seen if is_described(record.event)}
    assert told >= {"member_added", "member_removed", "epoch_bumped"}


@pytest.mark.parametrize("name", [item for item in PLAYED if item.startswith("streams/")])
def test_streams_groups_match_descriptions(name: str) -> None:
    stage = describe(FILES[name], some_past=True)
    assert stage.disagreeing == []
    assert [
        difference for difference in beside(stage.seen, stage.said).differences if is_described(difference.seen)
    ] == []
