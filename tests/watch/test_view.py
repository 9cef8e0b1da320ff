"""The picture, from snapshots made by hand."""

import time
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from kohort.cli.watch.changes import Change
from kohort.cli.watch.snapshot import SeenGroup, SeenRebalance, SeenShare, Snapshot
from kohort.cli.watch.view import line, picture, ranges
from kohort.groups.explanation import Wait
from tests.watch.seen_values import seen_group, seen_member

AT = time.mktime((2026, 3, 1, 14, 2, 11, 0, 0, -1))

ADA = seen_member("ada-1", "ada", "10.0.0.1", "one", (("orders", 0), ("orders", 1)))
BOB = seen_member("bob-1", "bob", "10.0.0.2", None, (("orders", 2),))
BILLING = seen_group(
    "billing",
    "Stable",
    1,
    "range",
    members=(BOB, ADA),
    lags={("orders", 0): 1_000, ("orders", 1): 234, ("orders", 2): 0, ("orders", 3): 7},
)


def drawn(
    *groups: SeenGroup,
    changes: Sequence[Change] = (),
    problems: tuple[str, ...] = (),
    laboratory: tuple[str, ...] = (),
    **options: Any,
) -> str:
    console = Console(width=90, file=StringIO(), highlight=False)
    console.print(picture(Snapshot(AT, 3, groups, problems, laboratory), changes, title="kohort watch here", **options))
    assert isinstance(console.file, StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def test_group_shows_members_and_unowned_partitions() -> None:
    assert (
        drawn(BILLING, last={"billing": AT - 12})
        == """\
kohort watch here  3 brokers, 1 group  14:02:11

billing  Stable  2 members  range  node 1  lag 1,241  changed 12 s ago
  member        host      owns          lag
  bob           10.0.0.2  orders 2        0
  one (static)  10.0.0.1  orders 0-1  1,234
  no member               orders 3        7"""
    )


def test_control_address_adds_causes() -> None:
    ada = seen_member("ada-1", "ada", "10.0.0.1", session_ends_in_ms=9_500)
    bob = seen_member("bob-1", "bob", "10.0.0.2", waits_for="join")
    eve = seen_member("eve-1", "eve", "10.0.0.3", session_ends_in_ms=1_000, is_alive=False)
    group = seen_group(
        "billing",
        "PreparingRebalance",
        1,
        members=(ada, bob, eve),
        waits=(
            Wait(("ada", "eve"), "to join (JoinGroup)", 59_500, "members that have not joined by then are removed"),
        ),
        rebalances=(
            SeenRebalance(4, 2, "session expired", "dan", "completed", 12.4, "ada", 75),
            SeenRebalance(5, 2, "join new", "bob", "open", None, "", 0.5),
        ),
    )
    told = drawn(group, laboratory=("clock 41.2 s, paused", "rule 1: Heartbeat with client_id eve: hold it"))
    assert (
        told
        == """\
kohort watch here  3 brokers, 1 group  14:02:11
clock 41.2 s, paused · rule 1: Heartbeat with client_id eve: hold it

billing  PreparingRebalance  3 members  node 1  lag –
  waits for ada, eve to join (JoinGroup); in 59.5 s: members that have not joined by then…
  member  host      owns  lag  session ends
  ada     10.0.0.1  –       –  in 9.5 s
  bob     10.0.0.2  –       –  waits for its join
  eve     10.0.0.3  –       –  in 1.0 s, silent
  generation 2: join new (bob), open  0 s ago
  generation 2: session expired (dan), waited 12 ms for ada  75 s ago"""
    )
    for height in (8, 12, 20):
        assert len(drawn(*[group] * 9, laboratory=("clock 0 s",), height=height).splitlines()) <= height


def test_rebalance_hides_owners() -> None:
    bob = seen_member("bob-1", "bob", "10.0.0.2")
    told = drawn(seen_group("billing", "PreparingRebalance", 1, members=(bob,), lags={("orders", 0): 5}))
    assert "billing  PreparingRebalance  1 member  node 1  lag 5" in told
    assert "bob     10.0.0.2  –       –" in told
    assert "nobody" not in told


def test_consumer_group_shows_reconciling_members() -> None:
    ada = seen_member(
        "ada-1", "ada", "10.0.0.1", None, (("orders", 0), ("orders", 2)), (("orders", 0),), epoch=3, speaks="consumer"
    )
    bob = seen_member("bob-1", "bob", "10.0.0.2", "one", (), (("orders", 2),), epoch=4, speaks="consumer")
    eve = seen_member("eve-1", "eve", "10.0.0.3", None, (("orders", 1),), (("orders", 1),), epoch=4, speaks="classic")
    away = seen_member("joe-1", "joe", "10.0.0.4", "two", (), (), epoch=-2, speaks="consumer")
    group = seen_group(
        "new", "Reconciling", 1, "uniform", "consumer", (ada, bob, eve, away), version=5, target_epoch=4,
        lags={("orders", 0): 5, ("orders", 3): 9},
    )  # fmt: skip
    told = drawn(group)
    assert (
        told
        == """\
kohort watch here  3 brokers, 1 group  14:02:11

new  Reconciling  4 members  uniform  epoch 5, assigned for 4  node 1  lag 14
  member         host      owns        lag  epoch  reconciles
  ada            10.0.0.1  orders 0 2    5      3  revokes orders 2
  eve (classic)  10.0.0.3  orders 1      –      4
  one (static)   10.0.0.2  –             –      4  waits for orders 2
  two (static)   10.0.0.4  –             –   away
  no member                orders 3      9"""
    )
    assert "epoch 4  node 1" in drawn(replace(group, version=4))


def test_other_group_type_shows_limits() -> None:
    told = drawn(seen_group("new", "Stable", 1, group_type="streams", is_complete=False, lags={("orders", 0): 5}))
    assert "new  Stable  streams protocol, members not available  lag 5" in told


def test_share_group_shows_start_and_lag() -> None:
    members = tuple(
        seen_member(f"{name}-id", name, "10.0.0.1", owned=(("orders", 0),), epoch=3, speaks="share")
        for name in ("ada", "bob")
    )
    share = SeenShare(("orders", 0), 40, 12)
    group = seen_group(
        "queue", "Stable", 1, "simple", "share", members, version=3, target_epoch=3, lags={("orders", 0): 12},
        shares=(share,),
    )  # fmt: skip
    assert drawn(group).endswith(
        """
queue  Stable  2 members  simple  epoch 3  node 1  lag 12
  member  host      owns      lag  epoch
  ada     10.0.0.1  orders 0   12      3
  bob     10.0.0.1  orders 0   12      3
  partition  start offset  lag
  orders 0             40   12"""
    )
    held = drawn(replace(group, shares=(replace(share, held=7),)))
    assert held.endswith("  partition  start offset  held  lag\n  orders 0             40     7   12")


def test_newest_changes_are_first() -> None:
    changes = [Change(AT - 9, "billing", "bob left"), Change(AT - 2, "billing", "bob joined")]
    told = drawn(BILLING, changes=changes).splitlines()
    assert told[-3:] == ["recent changes", "14:02:09  billing  bob joined", "14:02:02  billing  bob left"]
    assert line(changes[0]) == "14:02:02  billing: bob left"


def test_problems_and_empty_cluster_are_shown() -> None:
    assert "! 10.0.0.9:9092 does not answer: it hung up\nno such group" in drawn(
        problems=("10.0.0.9:9092 does not answer: it hung up",)
    )
    assert drawn().endswith("no group yet")


@pytest.mark.parametrize("height", [5, 12, 15, 24])
def test_excess_groups_are_counted(height: int) -> None:
    groups = [seen_group(f"group-{number}", "Empty", 1) for number in range(40)]
    told = drawn(BILLING, *groups, changes=[Change(AT, "billing", "new, Stable")], height=height)
    assert len(told.splitlines()) <= height
    assert "more groups; --group PATTERN shows fewer" in told
    assert "recent changes" in told


def test_names_are_shown_as_they_are() -> None:
    assert "[bold]x[/bold]  Empty" in drawn(seen_group("[bold]x[/bold]", "Empty", 1))


def test_partitions_are_written_as_runs() -> None:
    assert ranges([("b", 1), ("a", 7), ("a", 0), ("a", 2), ("a", 1)]) == "a 0-2 7, b 1"
    assert ranges([]) == ""
