"""Effects of a classic group's description on the state from observed traffic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kohort.groups.explain import explain
from kohort.protocol.consumer_protocol import Assignment, write_assignment
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember
from kohort.protocol.messages.leave_group import MemberIdentity
from kohort.proxy.observed.group_listener import UNKNOWN_VERSION
from kohort.proxy.observed.observed_view import view_of
from tests.proxy.passing import Passing, S


def said(
    state: str, *clients: str, metadata: bytes = b"", instance_ids: Mapping[str, str] | None = None
) -> DescribedGroup:
    """Return a group with a member `ada-1` for ada, and so on; each owns the partition of its index."""
    shares = [write_assignment(Assignment(partitions={"orders": (place,)})) for place in range(len(clients))]
    return DescribedGroup(
        error_code=ErrorCode.none,
        group_id="g",
        group_state=state,
        protocol_type="consumer",
        protocol_data="range" if state == "Stable" else "",
        members=tuple(
            DescribedGroupMember(
                member_id=f"{client}-1",
                group_instance_id=(instance_ids or {}).get(client),
                client_id=client,
                client_host="/10.0.0.2",
                member_metadata=metadata,
                member_assignment=share if state == "Stable" else b"",
            )
            for client, share in zip(clients, shares, strict=True)
        ),
    )


def describe(passing: Passing, what: DescribedGroup, version: int | None = None) -> bool:
    """Apply a description that was requested now, or earlier."""
    asked = passing.listener.version_of("g") if version is None else version
    return passing.listener.described("g", "classic", what, asked, passing.now_us)


def explained(passing: Passing) -> list[str]:
    """Return the lines of the explanation."""
    return str(explain(view_of(passing.listener.groups["g"], passing.now_us))).splitlines()


def test_unknown_member_heartbeat_triggers_describe() -> None:
    passing = Passing()
    passing.beats("ada")
    assert passing.needed == [("g", "classic")]
    assert describe(passing, said("Stable", "ada", "bob"))
    group = passing.group()
    assert (sorted(group.members), group.is_complete, group.classic.protocol_name) == (
        ["ada-1", "bob-1"],
        True,
        "range",
    )
    assert group.members["ada-1"].client_host == "/10.0.0.1", "what it has said itself stays"
    assert passing.events == [], "nothing has happened"
    passing.now_us += S // 2
    assert explained(passing) == [
        "group g: Stable, generation 4, 2 members",
        "  waits for nothing",
        "  ada: should send heartbeats; last request 0.5 s ago",
        "  bob: does not connect through the proxy; described 0.5 s ago",
    ]
    passing.needed.clear()
    passing.beats("ada")
    assert passing.needed == [], "it is known"


def test_newer_traffic_overrides_description() -> None:
    passing = Passing()
    passing.beats("ada")
    asked = passing.listener.version_of("g")
    passing.beats("ada", ErrorCode.rebalance_in_progress)
    assert not describe(passing, said("Stable", "ada", "bob"), asked)
    assert (passing.group().classic.state.value, sorted(passing.group().members)) == ("PreparingRebalance", ["ada-1"])
    assert describe(passing, said("PreparingRebalance", "ada", "bob"))
    then = "unobserved timers of the cluster decide when it continues without them"
    assert explained(passing)[1:3] == [
        f"  waits for ada to join (JoinGroup), since 0.0 s: {then}",
        f"  waits for bob unless they have joined without the proxy (described 0.0 s ago): {then}",
    ]


def test_description_waits_for_leave_response() -> None:
    passing = Passing()
    passing.beats("ada")
    assert describe(passing, said("Stable", "ada", "bob"))
    leaving = {"group_id": "g", "members": (MemberIdentity(member_id="ada-1", group_instance_id=None, reason="done"),)}
    answer = passing.asks("ada", "leave_group", **leaving)
    assert not describe(passing, said("PreparingRebalance", "bob")), "it may describe just that"
    answer()
    removed = passing.events[0]
    assert (removed.kind, removed.cause, removed.client_reason) == ("member_removed", "leave_explicit", "done")
    assert describe(passing, said("PreparingRebalance", "bob"))


def test_outside_changes_have_no_cause() -> None:
    passing = Passing()
    passing.beats("ada")
    assert describe(passing, said("Stable", "ada", "bob"))
    passing.now_us += S
    assert describe(passing, said("Stable", "ada", "cleo"))
    assert [(event.kind, event.member_id, event.cause) for event in passing.events] == [
        ("member_removed", "bob-1", "unknown"),
        ("member_added", "cleo-1", "unknown"),
    ]
    for event in passing.events:
        assert (event.duration_us, event.generation) == (None, None)
        assert event.detail is not None
        assert event.detail["evidence"].startswith("a description by the cluster")
    assert explained(passing)[0] == "group g: Stable, generation unknown, 2 members"
    passing.beats("ada", generation=6)
    assert explained(passing)[0].startswith("group g: Stable, generation 6, 2 members")


def test_static_member_returns_outside_proxy() -> None:
    passing = Passing()
    passing.beats("ada")
    assert describe(passing, said("Stable", "ada", "bob", instance_ids={"bob": "desk"}))
    assert describe(passing, said("Stable", "ada", "cleo", instance_ids={"cleo": "desk"}))
    group = passing.group()
    assert (sorted(group.members), passing.events) == (["ada-1", "cleo-1"], [])
    assert group.events.of(group.classic).member_ids == {"ada-1", "cleo-1"}


def test_observed_rebalance_keeps_generation() -> None:
    passing = Passing()
    passing.beats("ada")
    assert describe(passing, said("Stable", "ada", "bob"))
    passing.beats("ada", ErrorCode.rebalance_in_progress)
    assert describe(passing, said("PreparingRebalance", "ada", "bob", "cleo"))
    assert describe(passing, said("Stable", "cleo", "ada", "bob"))
    assert explained(passing)[0] == "group g: Stable, generation unknown, 3 members"
    passing.beats("ada", generation=5)
    assert describe(passing, said("Stable", "cleo", "ada", "bob"))
    assert explained(passing)[0] == "group g: Stable, generation 5, 3 members"
    assert [(event.kind, event.cause) for event in passing.events] == [
        ("rebalance_started", "unknown"),
        ("member_added", "unknown"),
        ("rebalance_completed", None),
    ]


def test_group_emptied_outside_proxy() -> None:
    passing = Passing()
    passing.beats("ada")
    assert describe(passing, said("Empty"))
    assert (passing.group().classic.state.value, passing.group().members) == ("Empty", {})
    assert (passing.events[0].kind, passing.events[0].cause) == ("member_removed", "unknown")


def test_offset_only_group_appears_once_described() -> None:
    passing = Passing()
    assert passing.listener.version_of("g") == UNKNOWN_VERSION
    assert describe(passing, said("Empty"), UNKNOWN_VERSION)
    assert passing.group().classic.state.value == "Empty"
    assert describe(passing, said("Stable", "ada"), UNKNOWN_VERSION) is False, "its traffic has passed since"


def test_unreadable_metadata_is_ignored() -> None:
    passing = Passing()
    passing.beats("ada")
    assert describe(passing, said("Stable", "ada", metadata=b"\x00\x00\x7f\xff\xff\xff" + bytes(20)))
    assert (passing.group().classic.state.value, passing.group().classic.subscribed_topics) == ("Stable", None)


def test_unknown_state_changes_nothing() -> None:
    passing = Passing()
    passing.beats("ada")
    assert describe(passing, said("Pondering", "bob"))
    assert sorted(passing.group().members) == ["ada-1"]


def test_describe_error_is_shown() -> None:
    passing = Passing()
    passing.beats("ada")
    passing.listener.not_described("g", "GROUP_AUTHORIZATION_FAILED")
    passing.listener.not_described("unheard", "GROUP_AUTHORIZATION_FAILED")
    assert explained(passing)[0].endswith("the cluster cannot describe it: GROUP_AUTHORIZATION_FAILED")
    passing.listener.described("g", "share", Any, passing.listener.version_of("g"), 0)
    assert sorted(passing.group().members) == ["ada-1"], "a response about another type of group"
    assert describe(passing, said("Stable", "ada"))
    assert explained(passing)[0] == "group g: Stable, generation 4, 1 member"
