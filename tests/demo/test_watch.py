"""What the demo makes of reports and of the broker's log."""

from __future__ import annotations

from typing import cast

import pytest

from kohort.demo.acts import COOPERATIVE, EAGER, Outcome
from kohort.demo.reports import Consumed, Produced, Report, Working, Wrong, ranges_of, read, write
from kohort.demo.stage import Stage, assigned_partitions
from kohort.demo.verdict import judge
from kohort.demo.watch import GroupWatch, PlayError, Watch

PARTITIONS = 2


class EmptyStage:
    """Nobody plays; owners are what the test says."""

    partitions = PARTITIONS

    def __init__(self) -> None:
        self.given: dict[str, list[int]] = {}

    def owners(self, _: str) -> dict[str, list[int]]:
        return self.given


@pytest.fixture
def watch() -> Watch:
    return Watch(cast(Stage, EmptyStage()))


def consumed(at: float, partition: int, first: int, last: int, generation: int = 1) -> Consumed:
    return Consumed(at, generation, "id", [(partition, first, last)])


def holds(watch: Watch) -> bool:
    return all(check.holds for check in judge(watch, [], ""))


@pytest.mark.parametrize("report", [consumed(1.5, 0, 3, 4), Working(2.0, 9.0), Wrong("no")])
def test_reports_survive_the_pipe(report: Report) -> None:
    again = read(write(report))
    assert type(again) is type(report)
    assert write(again) == write(report)


def test_offsets_become_ranges_without_holes() -> None:
    assert ranges_of([(0, 1), (1, 7), (0, 2), (0, 4)]) == [(0, 1, 2), (0, 4, 4), (1, 7, 7)]


def test_silence_counts_from_start_to_end() -> None:
    group = GroupWatch(PARTITIONS)
    for at, partition in ((1.0, 0), (2.0, 1), (5.0, 0)):
        group.note("ada", consumed(at, partition, 0, 0))
    assert group.silence(0.0, 6.0) == 3.0
    assert group.longest_wait(0.0, 6.0) == 4.0, "partition 1 is read at 2 only"
    assert group.longest_wait(0.0, 6.0, [0]) == 4.0
    assert group.silence(2.5, 4.0) == 1.5, "nothing at all"


def test_every_produced_record_must_be_consumed(watch: Watch) -> None:
    watch.hear_worker("producer", "", Produced(0.0, [(0, 0, 9), (1, 0, 4)]))
    watch.hear_worker("ada", EAGER, consumed(1.0, 0, 0, 9))
    watch.hear_worker("ada", EAGER, consumed(1.0, 1, 0, 3))
    assert not holds(watch)
    watch.hear_worker("bob", EAGER, consumed(2.0, 1, 2, 4, generation=2))
    assert holds(watch)
    assert watch.group(EAGER).read_again() == 2


def test_a_hole_is_a_lost_record(watch: Watch) -> None:
    watch.hear_worker("producer", "", Produced(0.0, [(0, 0, 9)]))
    watch.hear_worker("ada", EAGER, consumed(1.0, 0, 0, 9))
    watch.hear_worker("bob", COOPERATIVE, consumed(1.0, 0, 0, 2))
    watch.hear_worker("bob", COOPERATIVE, consumed(1.0, 0, 4, 9))
    assert not holds(watch)


def test_two_readers_in_one_generation_are_found(watch: Watch) -> None:
    watch.hear_worker("producer", "", Produced(0.0, [(0, 0, 1)]))
    watch.hear_worker("ada", EAGER, consumed(1.0, 0, 0, 1, generation=1))
    watch.hear_worker("bob", EAGER, consumed(1.0, 0, 1, 1, generation=2))
    assert holds(watch), "one after the other is what rebalances are for"
    watch.hear_worker("bob", EAGER, consumed(1.0, 0, 0, 0, generation=1))
    assert not holds(watch)


def test_two_owners_in_one_assignment_are_found(watch: Watch) -> None:
    watch.hear_worker("producer", "", Produced(0.0, [(0, 0, 0)]))
    watch.hear_worker("ada", EAGER, consumed(1.0, 0, 0, 0))
    cast(EmptyStage, watch.stage).given = {"ada": [0], "bob": [0, 1]}
    line = {"level": "info", "group": EAGER, "to": "Stable", "generation": 4}
    watch.hear_broker("billing: ... -> Stable", line)
    assert not holds(watch)
    assert (watch.group(EAGER).state, watch.group(EAGER).rebalances(3)) == ("Stable", 1)


def test_an_act_that_went_wrong_a_wrong_record_or_a_broken_play_fails(watch: Watch) -> None:
    watch.hear_worker("producer", "", Produced(0.0, [(0, 0, 0)]))
    watch.hear_worker("ada", EAGER, consumed(1.0, 0, 0, 0))
    assert holds(watch)
    bad = Outcome(title="act", headline="", rebalances=0, nobody_s=0, partition_s=0, problem="it moved")
    assert not all(check.holds for check in judge(watch, [bad], ""))
    assert not all(check.holds for check in judge(watch, [], "it stopped in the middle"))
    watch.hear_worker("ada", EAGER, Wrong("partition 0 has something else"))
    assert not holds(watch)


async def test_waiting_ends_with_what_was_waited_for(watch: Watch) -> None:
    with pytest.raises(PlayError, match=r"^rain: not within 0\.01 s$"):
        await watch.until(lambda: False, 0.01, "rain")


def test_assignments_are_read_for_one_topic() -> None:
    orders = b"\x00\x06orders" + bytes.fromhex("00000002 00000003 00000001")
    other = b"\x00\x01x" + bytes.fromhex("00000001 00000000")
    assignment = bytes.fromhex("0001 00000002") + other + orders + bytes.fromhex("ffffffff")
    assert assigned_partitions(assignment, "orders") == [1, 3]
    assert assigned_partitions(b"", "orders") == []
