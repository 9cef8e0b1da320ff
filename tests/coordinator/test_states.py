"""Every state answers every request as the tables of states.py define."""

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from kohort.coordinator.classic.states import ALLOWED_FROM, COMMIT, DELETE, HEARTBEAT, REJOIN, SYNC, State
from kohort.protocol.errors import ErrorCode as E
from tests.support.coordinator_world import Speaker, World, commit_error


def empty() -> tuple[World, Speaker]:
    """Return a world in which ada has left, and still considers itself a member."""
    world = World()
    (ada,) = world.stable("ada")
    ada.leaves()
    return world, ada


def preparing() -> tuple[World, Speaker]:
    """Return a world in which a member has joined, and ada has not rejoined yet."""
    world, ada = stable()
    world.speaker("bob").enters()
    return world, ada


def completing() -> tuple[World, Speaker]:
    world, ada = stable()
    ada.joins()
    return world, ada


def stable() -> tuple[World, Speaker]:
    world = World()
    (ada,) = world.stable("ada")
    return world, ada


def dead() -> tuple[World, Speaker]:
    """Return a world with a Dead group: groups are Dead only while they are removed, so only old references see one."""
    world, ada = stable()
    group = world.group()
    world.unload()
    world.load()
    assert group.state is State.DEAD
    world.coordinator.groups["g"] = group
    return world, ada


BEGINNINGS: dict[State, Callable[[], tuple[World, Speaker]]] = {
    State.EMPTY: empty,
    State.PREPARING_REBALANCE: preparing,
    State.COMPLETING_REBALANCE: completing,
    State.STABLE: stable,
    State.DEAD: dead,
}
LIVING = [state for state in State if state is not State.DEAD]


def begin(state: State) -> tuple[World, Speaker]:
    world, ada = BEGINNINGS[state]()
    assert world.group().state is state
    if state is not State.EMPTY:
        ada.generation = world.group().generation_id
    return world, ada


@pytest.mark.parametrize("table", [ALLOWED_FROM, HEARTBEAT, SYNC, REJOIN, COMMIT, DELETE])
def test_each_table_knows_every_state(table: dict[State, object]) -> None:
    assert list(table) == list(State)


@pytest.mark.parametrize("state", State)
def test_heartbeat(state: State) -> None:
    _, ada = begin(state)
    assert ada.beats() is HEARTBEAT[state]


@pytest.mark.parametrize("state", State)
def test_sync(state: State) -> None:
    _, ada = begin(state)
    sync = ada.syncs({ada.member_id: b"all"})
    assert sync.error is (SYNC[state] or E.none)
    if SYNC[state] is None:
        assert sync.heard.assignment == {State.COMPLETING_REBALANCE: b"all", State.STABLE: b"share of ada"}[state]
    else:
        assert (sync.heard.protocol_type, sync.heard.protocol_name, sync.heard.assignment) == (None, None, b"")


@pytest.mark.parametrize("state", State)
def test_rejoin(state: State) -> None:
    world, ada = begin(state)
    join = ada.joins()
    assert join.error is (REJOIN[state] or E.none)
    if REJOIN[state] is not None:
        assert join.heard.member_id == ada.member_id
    else:
        assert join.heard.generation_id == world.group().generation_id


@pytest.mark.parametrize("state", State)
def test_commit(state: State) -> None:
    _, ada = begin(state)
    assert commit_error(ada.commits()) is COMMIT[state]


@pytest.mark.parametrize("state", State)
def test_delete(state: State) -> None:
    world, _ = begin(state)
    delete = world.deletes_group()
    assert delete.error is DELETE[state]
    assert ("g" in world.coordinator.groups) is (state is not State.EMPTY)


@pytest.mark.parametrize("state", LIVING)
def test_newcomer_of_the_old_kind(state: State) -> None:
    world, _ = begin(state)
    cem = world.speaker("cem", needs_id=False)
    assert cem.joins().heard is None
    assert world.group().state is State.PREPARING_REBALANCE


@pytest.mark.parametrize("state", LIVING)
def test_newcomer_is_first_given_an_id(state: State) -> None:
    world, _ = begin(state)
    cem = world.speaker("cem")
    before = world.state()
    join = cem.joins()
    assert (join.error, join.heard.member_id) == (E.member_id_required, cem.member_id)
    assert join.heard.generation_id == -1
    assert world.state() == before


@pytest.mark.parametrize("state", LIVING)
@pytest.mark.parametrize("leaver", ["member", "pending", "unknown"])
def test_leave(state: State, leaver: str) -> None:
    world, ada = begin(state)
    cem = world.speaker("cem")
    if leaver == "pending":
        cem.joins()
    elif leaver == "member":
        cem = ada
    else:
        cem.member_id = "unknown"
    leave = cem.leaves()
    is_in = leaver == "pending" or (leaver == "member" and state is not State.EMPTY)
    assert leave.error is E.none
    assert leave.heard.members[0].error_code is (E.none if is_in else E.unknown_member_id)
    expected = {
        # Leaving with an id that was never used makes a running group rebalance all the same (classic-groups §6.4).
        "pending": {State.COMPLETING_REBALANCE: State.PREPARING_REBALANCE, State.STABLE: State.PREPARING_REBALANCE},
        "member": {
            State.PREPARING_REBALANCE: State.COMPLETING_REBALANCE,  # bob is left, and waits
            State.COMPLETING_REBALANCE: State.EMPTY,
            State.STABLE: State.EMPTY,
        },
        "unknown": {},
    }[leaver]
    assert world.group().state is expected.get(state, state)


@pytest.mark.parametrize("state", LIVING)
def test_silence(state: State) -> None:
    world, _ = begin(state)
    world.after(1_000_000)
    assert world.group().state is State.EMPTY
    assert len(world.purgatory) == 0


@pytest.mark.parametrize("state", LIVING)
def test_unload(state: State) -> None:
    world, ada = begin(state)
    world.unload()
    assert ada.beats() is E.not_coordinator
    assert len(world.purgatory) == 0


@pytest.mark.parametrize("state", LIVING)
def test_restart(state: State) -> None:
    world, _ = begin(state)
    kept = world.group().members and state is not State.EMPTY
    world.restart()
    assert world.group().state is (State.STABLE if kept else State.EMPTY)
    assert world.group().generation_id == {State.EMPTY: 2}.get(state, 1)


@pytest.mark.parametrize("state", LIVING)
def test_wrong_generation(state: State) -> None:
    _, ada = begin(state)
    expected = E.unknown_member_id if state is State.EMPTY else E.illegal_generation
    for generation in (ada.generation - 1, ada.generation + 1):
        assert ada.beats(generation=generation) is expected
        assert ada.syncs(generation=generation).error is expected
        assert commit_error(ada.commits(generation=generation)) is expected


@pytest.mark.parametrize("state", LIVING)
def test_somebody_else(state: State) -> None:
    _, ada = begin(state)
    for member_id in ("unknown", ""):
        assert ada.beats(member_id=member_id) is E.unknown_member_id
        assert ada.syncs(member_id=member_id).error is E.unknown_member_id
        assert commit_error(ada.commits(member_id=member_id)) is E.unknown_member_id
    assert ada.joins(member_id="unknown").error is E.unknown_member_id
    assert ada.beats(instance="unknown") is E.unknown_member_id
    assert ada.joins(instance="unknown").error is E.unknown_member_id


def test_other_transitions_are_rejected() -> None:
    moves = {f"{old.value} -> {new.value}" for new, before in ALLOWED_FROM.items() for old in before}
    assert moves - {f"{old.value} -> Dead" for old in State} == {
        "Empty -> PreparingRebalance",
        "PreparingRebalance -> CompletingRebalance",
        "PreparingRebalance -> Empty",
        "CompletingRebalance -> Stable",
        "CompletingRebalance -> PreparingRebalance",
        "Stable -> PreparingRebalance",
    }


def test_functions_in_comments_exist() -> None:
    source = Path(__file__).parents[2] / "coordinator" / "classic" / "states.py"  # its module may be compiled
    named = re.findall(r"# (\w+)\.(\w+)$", source.read_text(), re.MULTILINE)
    assert len(named) == 3
    for module, function in named:
        assert callable(getattr(import_module(f"kohort.coordinator.classic.{module}"), function)), (module, function)
