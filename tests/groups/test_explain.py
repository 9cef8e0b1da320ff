"""Explanations of views, whatever their source."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kohort.groups.explain import explain
from kohort.groups.group_members import Evidence, GroupMember
from kohort.groups.group_view import JOIN, GroupView, RebalancePhase, ShareView
from kohort.groups.shared_records import InFlightRecords
from kohort.groups.type_words import CLASSIC, CONSUMER, GROUP_TYPES, SHARE


def member(name: str, **facts: Any) -> GroupMember:
    defaults: dict[str, Any] = {
        "member_id": f"{name}-1", "instance_id": None, "client_id": name, "client_host": "10.0.0.1",
        "session_timeout_ms": 10_000, "rebalance_timeout_ms": 60_000, "partitions": {"orders": (0, 1)},
        "speaks": CONSUMER, "epoch": 5, "target": {"orders": (0, 1)},
    }  # fmt: skip
    return GroupMember(**defaults | facts)


def group(*members: GroupMember, **facts: Any) -> GroupView:
    defaults: dict[str, Any] = {
        "group_id": "g",
        "type": CONSUMER,
        "state": "Stable",
        "version": 5,
        "target_epoch": 5,
        "members": members,
    }
    return GroupView(**defaults | facts)


def reconciling() -> GroupView:
    ada = member(
        "ada",
        partitions={"orders": (0,)},
        revoking={"orders": (1,)},
        target={"orders": (0,)},
        revocation_ends_in_ms=4_000,
    )
    bob = member("bob", partitions={}, target={"orders": (1,)}, waits_for="partitions")
    return group(ada, bob, state="Reconciling")


def test_revocation_names_next_owner() -> None:
    explanation = explain(reconciling())
    (wait,) = explanation.waits
    assert str(wait) == (
        "ada to revoke orders 1, which bob is to get; in 4 s: it is removed, and its partitions are free"
    )
    assert [client.should for client in explanation.clients] == [
        "has orders 0; should revoke orders 1, and confirm that in a heartbeat (TopicPartitions)",
        "has nothing; waits for orders 1, which ada still has",
    ]


def test_unknown_timers_are_left_out() -> None:
    explanation = explain(replace(reconciling(), knows_timers=False, is_lower_bound=True, is_complete=False))
    assert explanation.headline == "group g: Reconciling, at least epoch 5, 2 members observed, there may be others"
    assert str(explanation.waits[0]).endswith("to get: it is removed, and its partitions are free")


def test_described_member_is_distinguished() -> None:
    stranger = member("bob", evidence=Evidence.DESCRIPTION)
    view = group(member("ada", evidence=Evidence.REQUESTS, silent_ms=1_200), stranger, described_ms_ago=400)
    assert [str(client) for client in explain(view).clients] == [
        "ada: has orders 0, 1; should send heartbeats; last request 1.2 s ago",
        "bob: does not connect through the proxy; described 0.4 s ago",
    ]


def test_unknown_state_and_generation() -> None:
    view = group(member("ada", speaks=CLASSIC), type=CLASSIC, state="", version=None, target_epoch=None)
    assert explain(view).headline == "group g: state unknown, generation unknown, 1 member"


def test_join_phase_excepts_static_members() -> None:
    ada, bob = member("ada", speaks=CLASSIC), member("bob", speaks=CLASSIC, instance_id="one")
    phase = RebalancePhase(step=JOIN, awaited=("ada-1", "bob-1"), ends_in_ms=2_000)
    (wait,) = explain(group(ada, bob, type=CLASSIC, state="PreparingRebalance", phase=phase)).waits
    assert str(wait) == (
        "ada, one to join (JoinGroup); in 2 s: members that have not joined by then are removed, except the static one"
    )


def test_held_records_beyond_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kohort.groups.explain_records.MAX_WAITS", 1)
    held = [InFlightRecords("orders", 0, at, at, "acquired", 1, "ada", "ada-1", 100 * at, False) for at in (1, 2, 3)]
    share = ShareView(
        partitions=(), in_flight=tuple(held), delivery_count_limit=5, max_record_locks=200, record_lock_ms=30_000
    )
    explanation = explain(group(member("ada", speaks=SHARE), type=SHARE, share=share))
    assert str(explanation.waits[-1]) == "the outcome of 2 more records; in 0.2 s: the first of their locks expires"
    assert explanation.clients[0].should.endswith("and acknowledge the 3 records it holds")


@pytest.mark.parametrize("group_type", GROUP_TYPES)
def test_every_type_is_explained(group_type: str) -> None:
    explanation = explain(group(member("ada", speaks=group_type), type=group_type))
    assert explanation.headline.startswith(
        f"{GROUP_TYPES[group_type].noun} g: Stable, {GROUP_TYPES[group_type].version} 5"
    )
    assert explanation.badly_set == ()


def test_unknown_type_is_explained_like_classic() -> None:
    explanation = explain(group(member("ada", speaks="newer"), type="newer"))
    assert explanation.headline == "group g: Stable, generation 5, 1 member"


def test_described_rebalance_waits_for_unobserved_event() -> None:
    text = str(explain(group(member("ada"), type=CLASSIC, state="PreparingRebalance", knows_timers=False)))
    assert "waits for an unobserved event: the cluster's description does not name it" in text
    assert "waits for nothing" not in text
