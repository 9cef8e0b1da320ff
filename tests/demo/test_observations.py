"""What the demo makes of reports and of the broker's log."""

from __future__ import annotations

from typing import cast

import pytest

from kohort.demo.acts import COOPERATIVE, EAGER, Outcome
from kohort.demo.observations import GroupObservations, Observations, PlayError
from kohort.demo.reports import Consumed, Produced, Report, Working, Wrong, ranges_of, read, write
from kohort.demo.stage import Stage, assigned_partitions
from kohort.demo.verdict import judge

PARTITIONS = 2


class EmptyStage:
    """Nobody plays; owners are what the test says."""

    partitions = PARTITIONS

    def __init__(self) -> None:
        self.given: dict[str, list[int]] = {}

    def owners(self, _: str) -> dict[str, list[int]]:
        return self.given


@pytest.fixture
def observations() -> Observations:
    return Observations(cast(Stage, EmptyStage()))


def consumed(at: float, partition: int, first: int, last: int, generation: int = 1) -> Consumed:
    return Consumed(at, generation, "id", [(partition, first, last)])


def holds(observations: Observations) -> bool:
    return all(check.holds for check in judge(observations, [], ""))


@pytest.mark.parametrize("report", [consumed(1.5, 0, 3, 4), Working(2.0, 9.0), Wrong("no")])
def test_reports_survive_the_pipe(report: Report) -> None:
    again = read(write(report))
    assert type(again) is type(report)
    assert write(again) == write(report)


def test_offsets_become_ranges_without_holes() -> None:
    assert ranges_of([(0, 1), (1, 7), (0, 2), (0, 4)]) == [(0, 1, 2), (0, 4, 4), (1, 7, 7)]


def test_silence_counts_from_start_to_end() -> None:
    group = GroupObservations(PARTITIONS)
    for at, partition in ((1.0, 0), (2.0, 1), (5.0, 0)):
        group.note("ada", consumed(at, partition, 0, 0))
    assert group.silence(0.0, 6.0) == 3.0
    assert group.longest_wait(0.0, 6.0) == 4.0, "partition 1 is read at 2 only"
    assert group.longest_wait(0.0, 6.0, [0]) == 4.0
    assert group.silence(2.5, 4.0) == 1.5, "nothing at all"


def test_every_produced_record_must_be_consumed(observations: Observations) -> None:
    observations.hear_worker("producer", "", Produced(0.0, [(0, 0, 9), (1, 0, 4)]))
    observations.hear_worker("ada", EAGER, consumed(1.0, 0, 0, 9))
    observations.hear_worker("ada", EAGER, consumed(1.0, 1, 0, 3))
    assert not holds(observations)
    observations.hear_worker("bob", EAGER, consumed(2.0, 1, 2, 4, generation=2))
    assert holds(observations)
    assert observations.group(EAGER).read_again() == 2


def test_gap_is_a_lost_record(observations: Observations) -> None:
    observations.hear_worker("producer", "", Produced(0.0, [(0, 0, 9)]))
    observations.hear_worker("ada", EAGER, consumed(1.0, 0, 0, 9))
    observations.hear_worker("bob", COOPERATIVE, consumed(1.0, 0, 0, 2))
    observations.hear_worker("bob", COOPERATIVE, consumed(1.0, 0, 4, 9))
    assert not holds(observations)


def test_two_readers_in_one_generation(observations: Observations) -> None:
    observations.hear_worker("producer", "", Produced(0.0, [(0, 0, 1)]))
    observations.hear_worker("ada", EAGER, consumed(1.0, 0, 0, 1, generation=1))
    observations.hear_worker("bob", EAGER, consumed(1.0, 0, 1, 1, generation=2))
    assert holds(observations), "one after the other is what rebalances are for"
    observations.hear_worker("bob", EAGER, consumed(1.0, 0, 0, 0, generation=1))
    assert not holds(observations)


def test_two_owners_in_one_assignment(observations: Observations) -> None:
    observations.hear_worker("producer", "", Produced(0.0, [(0, 0, 0)]))
    observations.hear_worker("ada", EAGER, consumed(1.0, 0, 0, 0))
    cast(EmptyStage, observations.stage).given = {"ada": [0], "bob": [0, 1]}
    line = {"level": "info", "group": EAGER, "to": "Stable", "generation": 4}
    observations.hear_broker("billing: ... -> Stable", line)
    assert not holds(observations)
    assert (observations.group(EAGER).state, observations.group(EAGER).rebalances(3)) == ("Stable", 1)


def test_faulty_demo_fails(observations: Observations) -> None:
    observations.hear_worker("producer", "", Produced(0.0, [(0, 0, 0)]))
    observations.hear_worker("ada", EAGER, consumed(1.0, 0, 0, 0))
    assert holds(observations)
    bad = Outcome(title="act", headline="", rebalances=0, nobody_s=0, partition_s=0, problem="it moved")
    assert not all(check.holds for check in judge(observations, [bad], ""))
    assert not all(check.holds for check in judge(observations, [], "it stopped in the middle"))
    observations.hear_worker("ada", EAGER, Wrong("partition 0 has something else"))
    assert not holds(observations)


async def test_wait_returns_awaited_value(observations: Observations) -> None:
    with pytest.raises(PlayError, match=r"^rain: not within 0\.01 s$"):
        await observations.until(lambda: False, 0.01, "rain")


def test_assignments_are_read_for_one_topic() -> None:
    orders = b"\x00\x06orders" + bytes.fromhex("00000002 00000003 00000001")
    other = b"\x00\x01x" + bytes.fromhex("00000001 00000000")
    assignment = bytes.fromhex("0001 00000002") + other + orders + bytes.fromhex("ffffffff")
    assert assigned_partitions(assignment, "orders") == [1, 3]
    assert assigned_partitions(b"", "orders") == []
