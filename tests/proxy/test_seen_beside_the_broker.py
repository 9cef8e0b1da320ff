"""What the proxy says of groups beside what the broker itself says, in all conversations: it may say less."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from functools import cache
from typing import NamedTuple

import pytest

from kohort.coordinator.events.group_event import GroupEvent
from kohort.proxy.seen.classic_sight import ClassicSight
from kohort.proxy.seen.event_desk import EVIDENCE, UNKNOWN_CAUSE
from tests.proxy.overhearing import overhear
from tests.talk.conversations import FILES

PLAYED = [name for name, each in FILES.items() if not any(step.kind == "restarts" for step in each.steps)]
"""Not those whose broker restarts: it has other events then, and the connections of before have ended."""

MEASURED = {
    "ts", "mono_us", "co_partition", "co_epoch", "log_offset", "rebalance_id", "detail", "duration_us", "state_from",
}  # fmt: skip
"""Columns that depend on when something was seen, or count what is not."""
COMPARED = [each.name for each in fields(GroupEvent) if each.name not in MEASURED]

NEVER_SEEN = {
    "group_created", "group_converted", "group_loaded", "group_unloaded", "assignment_stored", "join_progress",
    "sync_timeout", "offsets_expired", "target_computed", "member_reconciled", "records_acquired", "records_accepted",
    "records_released", "records_rejected", "records_renewed", "lock_expired", "records_archived",
    "share_partition_loaded", "share_start_moved", "access_denied",
}  # fmt: skip
"""Kinds of events that happen within the cluster."""

ALWAYS_SEEN = {"join_completed", "member_synced", "member_id_issued", "member_stepped_out"}
"""Kinds that answers say, where all members speak through the proxy."""

BOTH_PROTOCOLS = "members of both protocols, of whom the proxy shows those of the newer one"
UNHEARD = "the cluster has acted by its timers, or on a coordinator's own account, before anybody spoke again"
DIFFERS = {
    "classic/leadership-moves-while-a-join-waits": UNHEARD,
    "classic/mixed-running-classic-group-is-upgraded": BOTH_PROTOCOLS,
    "consumer/max-size-full-group": UNHEARD,
    "consumer/rebalance-target-moves-twice": UNHEARD,
    "consumer/static-nobody-else-may-take-the-name": "UNKNOWN_MEMBER_ID is meant for another instance id",
    "consumer/static-steps-out-and-stays-away": UNHEARD,
    "consumer/subscription-changes": "a name that is given twice is no other subscription",
}
"""Conversations of which the proxy says something else, and why."""


class Difference(NamedTuple):
    """An event that the broker has not reported so."""

    seen: GroupEvent
    columns: tuple[str, ...]
    """In which it differs; none: there is no such event."""


class Compared(NamedTuple):
    """One conversation."""

    differences: list[Difference]
    agreed: Counter[str]
    """Kinds, and how many the broker and the proxy both say."""
    left_out: Counter[str]
    """Those that only the broker says."""
    seen: list[GroupEvent]
    strangers: set[str]
    """Whose connection is remembered, and who is in no group any more."""


@cache
def compared(name: str) -> Compared:
    """Each event of the proxy takes the broker's that is most like it."""
    stage = overhear(FILES[name])
    said = [each.event for each in stage.said if each.event.group_id is not None]
    differences, agreed = [], Counter[str]()
    for seen in (each.event for each in stage.seen):
        alike = [each for each in said if (each.kind, each.group_id) == (seen.kind, seen.group_id)]
        alike = [each for each in alike if seen.member_id in (None, each.member_id)]
        best = min(alike, key=lambda each: len(differing(seen, each)), default=None)
        if best is None or differing(seen, best):
            differences.append(Difference(seen, () if best is None else differing(seen, best)))
        else:
            agreed[seen.kind] += 1
        said = [each for each in said if each is not best]
    strangers = {
        member_id
        for sight in stage.listener.groups.values()
        if isinstance(sight, ClassicSight)
        for member_id in sight.connected.keys() - sight.members.keys()
    }
    left_out = Counter(each.kind for each in said)
    return Compared(differences, agreed, left_out, [each.event for each in stage.seen], strangers)


def differing(seen: GroupEvent, said: GroupEvent) -> tuple[str, ...]:
    """Columns in which the proxy says something, and something else. That a cause is not known is nothing."""
    return tuple(
        name
        for name in COMPARED
        if (value := getattr(seen, name)) is not None
        and value != getattr(said, name)
        and not (name == "cause" and value == UNKNOWN_CAUSE)
    )


def is_of_both_protocols(name: str) -> bool:
    """Whether classic members may be in consumer groups."""
    return "migration" in name or "classic-member" in name


def held() -> list[str]:
    """The recordings that are compared column by column."""
    return [
        each
        for each in PLAYED
        if not each.startswith(("rules/", "streams/")) and each not in DIFFERS and not is_of_both_protocols(each)
    ]


@pytest.mark.parametrize("name", held())
def test_the_proxy_says_what_the_broker_says(name: str) -> None:
    assert compared(name).differences == []
    assert compared(name).strangers == set()
    says_what_it_knows(compared(name).seen)


@pytest.mark.parametrize("name", sorted(DIFFERS))
def test_what_differs_still_does(name: str) -> None:
    assert compared(name).differences, "take it out of the list"


@pytest.mark.parametrize("name", [each for each in PLAYED if each not in held() and each not in DIFFERS])
def test_where_it_knows_less_it_says_so(name: str) -> None:
    says_what_it_knows(compared(name).seen)


def says_what_it_knows(seen: list[GroupEvent]) -> None:
    """Every event names its evidence, and no cause that only a coordinator's timers know."""
    for each in seen:
        assert each.detail, each
        assert each.detail[EVIDENCE]
        assert each.cause not in ("session_expired", "barrier_timeout", "sync_timeout", "epoch_timeout")
        assert each.kind not in NEVER_SEEN


def test_answers_leave_nothing_out_that_they_say() -> None:
    left_out, agreed = Counter[str](), Counter[str]()
    for name in (
        each for each in held() if each.startswith(("classic/sync", "classic/rebalance", "consumer/rebalance"))
    ):
        left_out += compared(name).left_out
        agreed += compared(name).agreed
    assert {kind: count for kind, count in left_out.items() if kind in ALWAYS_SEEN} == {}
    assert agreed["join_completed"] > 20
    seldom = {"member_added", "member_removed", "rebalance_started", "rebalance_completed", "epoch_bumped"}
    assert {kind for kind in seldom if left_out[kind] * 5 > agreed[kind]} == set()
