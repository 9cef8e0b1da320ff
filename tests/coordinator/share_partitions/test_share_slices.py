"""No turn works on more than a few hundred ranges, however many a share partition has in flight."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

import pytest

from kohort.coordinator.pace import ELEMENTS_AT_ONCE, Pace, column_weight
from kohort.coordinator.share_partitions import transitions
from kohort.coordinator.share_partitions.acknowledging import Acknowledgement, acknowledging
from kohort.coordinator.share_partitions.acquiring import AcquireRequest, acquiring
from kohort.coordinator.share_partitions.in_flight import InFlight
from kohort.coordinator.share_partitions.locks import releasing
from kohort.coordinator.share_partitions.record_states import ACCEPT, RELEASE, RENEW
from kohort.coordinator.share_partitions.share_partition import Progress
from kohort.coordinator.share_state.state_batches import StateBatch, combining
from kohort.protocol.errors import ErrorCode as E
from tests.coordinator.share_partitions.share_world import KEY, World

ResultT = TypeVar("ResultT")

COUNT = 6_000  # number of records, each a range of its own

MOST = 2 * ELEMENTS_AT_ONCE  # maximum changes in one turn: a slice may be full just after the next one has begun


class Turns:
    """Plays a share partition turn by turn, and counts the ranges that are changed in each."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = world
        self.most = self.count = 0
        for name in ("change", "begin_write", "end_write"):
            monkeypatch.setattr(InFlight, name, self._counting(getattr(InFlight, name)))

    def _counting(self, change: Callable[..., object]) -> Callable[..., object]:
        def counted(in_flight: InFlight, ranges: int | range, *args: object, **named: object) -> object:
            self.count += 1 if isinstance(ranges, int) else column_weight(len(ranges))
            return change(in_flight, ranges, *args, **named)

        return counted

    def end(self) -> None:
        """Note that a turn has ended."""
        self.most, self.count = max(self.most, self.count), 0

    def play(self, steps: Generator[object, None, ResultT]) -> ResultT:
        while True:
            try:
                next(steps)
            except StopIteration as end:
                self.end()
                result: ResultT = end.value
                return result
            self.end()

    def wait(self, length_ms: int) -> None:
        for _ in range(length_ms):
            self.world.waits(1)
            self.end()

    def acknowledge(self, *types: int) -> E:
        outcomes: list[E] = []

        def on_done(error: E, message: str | None, now_ms: int) -> None:
            outcomes.append(error)

        world = self.world
        batch = Acknowledgement(0, COUNT - 1, types * (COUNT // len(types)))
        self.play(acknowledging(world.partition, "ada", [batch], on_done, world.now_ms))  # type: ignore[arg-type]
        self.wait(100)
        return outcomes[0]

    def fetch(self, member: str = "ada") -> int:
        world = self.world
        fetch, offset = AcquireRequest(member, 10 * COUNT, 1), world.partition.next_fetch_offset
        return len(self.play(acquiring(world.partition, fetch, offset, world.reads(offset), (), world.now_ms)))


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Turns:
    """One batch of records, which ada holds."""
    world = World(record_lock_duration_ms=2_000)
    world.produces(COUNT)
    world.fetches("ada")
    return Turns(world, monkeypatch)


def test_acknowledging_each_record_takes_turns(turns: Turns) -> None:
    assert turns.acknowledge(ACCEPT, RELEASE) is E.none
    assert turns.fetch() == COUNT // 2
    assert 0 < turns.most <= MOST
    assert turns.world.written[:2] == [StateBatch(0, 0, 2, 1), StateBatch(1, 1, 0, 1)]


def test_refused_acknowledgement_is_undone_in_turns(turns: Turns) -> None:
    assert turns.acknowledge(RENEW, RELEASE) is E.none
    assert turns.fetch("bob") == COUNT // 2
    old_states = turns.world.states
    types = [ACCEPT]
    batches = [Acknowledgement(offset, offset, types) for offset in range(0, COUNT, 2)]
    batches.append(Acknowledgement(COUNT - 1, COUNT - 1, types))
    outcomes: list[tuple[E, str | None]] = []
    turns.play(
        acknowledging(  # type: ignore[arg-type]
            turns.world.partition, "ada", batches, lambda *outcome: outcomes.append(outcome[:2]), turns.world.now_ms
        )
    )
    assert outcomes[0][0] is E.invalid_record_state
    assert turns.world.states == old_states
    assert turns.most <= MOST


@pytest.mark.parametrize("how", ["expires", "leaves"])
def test_records_are_released_in_turns(how: str, turns: Turns) -> None:
    turns.acknowledge(RENEW, ACCEPT)
    turns.most = 0
    if how == "leaves":
        turns.play(releasing(turns.world.partition, "ada", turns.world.now_ms))
    turns.wait(2_500)
    assert turns.fetch("bob") == COUNT // 2
    assert 0 < turns.most <= MOST


def test_later_log_start_takes_turns(turns: Turns) -> None:
    turns.acknowledge(ACCEPT, RELEASE)
    turns.most = 0
    turns.play(turns.world.partition.move_log_start(COUNT))
    assert turns.world.partition.in_flight.start == COUNT
    assert 0 < turns.most <= MOST


def test_state_is_loaded_in_turns(turns: Turns) -> None:
    turns.acknowledge(ACCEPT, RELEASE)
    turns.most = 0
    partition = turns.world.partition = type(turns.world.partition)(KEY, 0, turns.world)
    turns.play(partition.load(0, 1, turns.world.written[1:]))
    assert partition.progress is Progress.ACTIVE
    assert 0 < turns.most <= MOST


def test_nobody_else_acquires_between_turns(turns: Turns) -> None:
    turns.acknowledge(RELEASE, ACCEPT)
    world = turns.world
    fetch = AcquireRequest("ada", COUNT, 1)
    steps = acquiring(world.partition, fetch, 0, world.reads(0), (), world.now_ms)
    next(steps)
    assert world.partition.is_acquired_from
    world.partition.has_refused_fetch, woken = True, world.woken
    assert len(turns.play(steps)) == COUNT // 2
    assert not world.partition.is_acquired_from
    assert world.woken == woken + 1


def test_abandoned_acquisition_expires(turns: Turns) -> None:
    turns.acknowledge(RELEASE, ACCEPT)
    world = turns.world
    steps = acquiring(world.partition, AcquireRequest("ada", COUNT, 1), 0, world.reads(0), (), world.now_ms)
    for _ in range(4):
        next(steps)
    steps.close()
    assert not world.partition.is_acquired_from
    turns.wait(2_100)
    assert turns.fetch("bob") == COUNT // 2


def _pieces(size: int) -> Callable[[int], list[StateBatch]]:
    return lambda count: [StateBatch(n, n + size, 2 + 2 * (n % 2), n % 7) for n in range(count)]


@pytest.mark.parametrize("make", [_pieces(0), _pieces(100)])
def test_state_batches_are_combined_in_turns(make: Callable[[int], list[StateBatch]]) -> None:
    assert sum(1 for _ in combining(reversed(make(COUNT)), -1, Pace())) >= COUNT // ELEMENTS_AT_ONCE


def test_too_many_states_are_not_written(turns: Turns, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transitions, "MAX_BATCHES", 1_000)
    old_states = turns.world.states
    assert turns.acknowledge(ACCEPT, RELEASE) is E.unknown_server_error
    assert turns.world.states == old_states
    assert not turns.world.written
