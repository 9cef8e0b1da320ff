"""What is told of two looks that differ."""

from dataclasses import replace

from kohort.cli.watch.changes import Change, Changes
from kohort.cli.watch.snapshot import SeenGroup, SeenRebalance, Snapshot
from tests.watch.seen_values import seen_group, seen_member

ADA = seen_member("ada-1", "ada", "10.0.0.1", None, (("orders", 0), ("orders", 1)))
BOB = seen_member("bob-1", "bob", "10.0.0.2")
ALONE = seen_group("billing", "Stable", 1, "range", members=(ADA,))
REBALANCING = seen_group("billing", "PreparingRebalance", 1, members=(replace(ADA, partitions={}), BOB))
BOTH = replace(ALONE, members=(replace(ADA, partitions={"orders": (0,)}), replace(BOB, partitions={"orders": (1,)})))


def told(*looks: tuple[SeenGroup, ...], problems: tuple[str, ...] = ()) -> list[list[str]]:
    changes = Changes()
    return [
        [change.text for change in changes.take(Snapshot(at, 1, groups, problems))] for at, groups in enumerate(looks)
    ]


def test_unchanged_groups_show_no_change() -> None:
    assert told((ALONE,), (ALONE,)) == [[], []]


def test_complete_rebalance() -> None:
    assert told((ALONE,), (REBALANCING,), (BOTH,)) == [
        [],
        ["Stable → PreparingRebalance; bob joined"],
        ["PreparingRebalance → Stable; 1 partition moved"],
    ]


def test_causes_are_shown_after_rebalance() -> None:
    going_on = SeenRebalance(4, 2, "session expired", "bob", "open", None, "", 1)
    over = replace(going_on, outcome="completed", prepare_ms=12, laggard="ada", generation=3)
    looks = [replace(ALONE, rebalances=each) for each in ((), (going_on,), (over,), (replace(over, began_s_ago=9),))]
    assert told(*[(each,) for each in looks]) == [
        [],
        [],
        ["generation 3: session expired (bob), waited 12 ms for ada"],
        [],
    ]


def test_missed_rebalance_is_inferred() -> None:
    assert told((BOTH,), (ALONE,)) == [[], ["bob left; 1 partition moved"]]


def test_groups_come_and_go_and_move() -> None:
    assert told((), (ALONE,), (replace(ALONE, coordinator=3),), ()) == [
        [],
        ["new, Stable"],
        ["coordinator 1 → 3"],
        ["gone"],
    ]


def test_unseen_group_is_not_gone() -> None:
    changes = Changes()
    changes.take(Snapshot(0, 1, (ALONE,)))
    assert changes.take(Snapshot(1, 1, (), ("node 2 does not answer",))) == []
    assert changes.take(Snapshot(2, 1, (BOTH,))) == [Change(2, "billing", "bob joined; 1 partition moved")]
    assert changes.last == {"billing": 2}


def test_groups_without_members_show_state() -> None:
    other = seen_group("new", "Stable", 1, group_type="consumer", is_complete=False)
    assert told((other,), (replace(other, state="Assigning"),)) == [[], ["Stable → Assigning"]]


def test_consumer_epochs_and_protocol_change() -> None:
    new = replace(ALONE, type="consumer", version=4, target_epoch=4)
    both = replace(BOTH, type="consumer", version=5, target_epoch=5)
    assert told((ALONE,), (new,), (replace(both, state="Reconciling"),), (both,)) == [
        [],
        ["classic → consumer protocol"],
        ["Stable → Reconciling; epoch 4 → 5; bob joined"],
        ["Reconciling → Stable; 1 partition moved"],
    ]
