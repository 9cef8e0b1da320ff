"""Patterns are matched a few names at a time, and not again while no topic changes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kohort.coordinator.consumer.patterns import matcher
from kohort.coordinator.consumer.subscribing import NAMES_AT_ONCE
from tests.coordinator.consumer.world import ConsumerWorld

TOPICS = 10 * NAMES_AT_ONCE

pytestmark = pytest.mark.needs("re2")


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names that were compared with a pattern."""
    names: list[str] = []

    def noting(regex: str) -> Callable[[str], object]:
        matches = matcher(regex)

        def noted(name: str) -> object:
            names.append(name)
            return matches(name)

        return noted

    monkeypatch.setattr("kohort.coordinator.consumer.subscribing.matcher", noting)
    return names


@pytest.mark.plain("it looks over the shoulder of a module that may be compiled")
def test_long_resolving_yields(compared: list[str]) -> None:
    world = ConsumerWorld()
    for number in range(TOPICS):
        world.topics.create(f"t{number}", 1)
    ada = world.consumer("ada", names=(), regex="t.*")
    ada.acts()
    world.settle()
    at_once = []
    while len(compared) < TOPICS:
        before = len(compared)
        world.after(1)
        at_once.append(len(compared) - before)
        assert len(at_once) <= TOPICS, "matching makes no progress"
    assert max(at_once[1:]) <= NAMES_AT_ONCE
    world.converges(ada)
    assert len(ada.owned) == TOPICS


@pytest.mark.plain("it looks over the shoulder of a module that may be compiled")
def test_pattern_match_is_cached(compared: list[str]) -> None:
    world = ConsumerWorld(foo=1, food=1, bar=1)
    ada = world.consumer("ada", names=(), regex="foo.*")
    world.converges(ada)
    assert compared == ["foo", "food", "bar"]
    world.converges(ada, rest=150)
    compared.clear()
    bob = world.consumer("bob", names=(), regex="b.*")
    ada.acts()
    world.converges(ada, bob, rest=200)
    assert compared == ["foo", "food", "bar"], "bob's alone"
    assert list(world.consumer_group.regexes["foo.*"].topics) == ["foo", "food"]
    compared.clear()
    world.topics.create("fool", 1)
    world.converges(ada, bob, rest=200)
    assert len(compared) == 8
    assert list(world.consumer_group.regexes["foo.*"].topics) == ["foo", "food", "fool"]


@pytest.mark.plain("it looks over the shoulder of a module that may be compiled")
def test_groups_take_turns_in_matching(compared: list[str]) -> None:
    world = ConsumerWorld()
    for number in range(TOPICS):
        world.topics.create(f"t{number}", 1)
    members = [world.consumer(name, names=(), regex=f"t.*{name}?", group_id=name) for name in ("a", "b", "c")]
    for member in members:
        member.acts()
    world.settle()
    world.after(0)
    while len(compared) < 3 * TOPICS:
        before = len(compared)
        world.after(1)
        assert len(compared) - before <= NAMES_AT_ONCE
    world.after(len(members))
    assert {group.group_id: len(group.regexes) for group in world.coordinator.of_type("consumer")} == {
        "a": 1, "b": 1, "c": 1,
    }  # fmt: skip


def test_pattern_match_after_failed_downgrade() -> None:
    world = ConsumerWorld(foo=2)
    carl, ada = world.classic("carl"), world.consumer("ada", names=(), regex="foo.*")
    world.converges(carl)
    ada.acts()
    world.settle()
    assert world.consumer_group.resolving
    world.fails_to_downgrade(ada, 1)  # the matching finds a classic group
    assert world.consumer_group.members.keys() == {carl.member_id, ada.member_id}
    world.converges(carl, ada)
    assert world.consumer_group.regexes["foo.*"].topics == ("foo",)
