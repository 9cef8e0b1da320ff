"""What is said while it happens: stories of one group, row by row."""

from __future__ import annotations

from itertools import count
from typing import Any

from kohort.pipeline.live.tracker import NEWS_MS, Alert, GroupState, feed, look

START_MS = 1_700_000_000_000


class Story:
    """One group, and a clock that the story moves."""

    def __init__(self) -> None:
        self.now_ms = START_MS
        self.state = GroupState()
        self.generations = count(1)

    def tells(self, **row: Any) -> list[str]:
        """A row of now; returns what somebody is told."""
        return self._words(feed("orders", self.state, [{"ts_ms": self.now_ms, **row}], self.now_ms))

    def generation(self, *clients: str, number: int | None = None) -> list[str]:
        members = [(f"{client}-id", client) for client in clients]
        number = next(self.generations) if number is None else number
        return self.tells(kind="generation", generation=number, members=members)

    def commits(self, times: int = 1, every_s: float = 5) -> list[str]:
        told = []
        for _ in range(times):
            self.later(every_s)
            told += self.tells(kind="commits")
        return told

    def later(self, seconds: float) -> list[str]:
        """Time goes by; somebody looks."""
        self.now_ms += round(seconds * 1000)
        self.state = GroupState.read(self.state.plain())  # as after a restart
        return self._words(look("orders", self.state, self.now_ms))

    def _words(self, alerts: list[Alert]) -> list[str]:
        return [f"{alert.kind}: {alert.text}" for alert in alerts]


def test_commits_that_stop_are_told_once_and_their_return_too() -> None:
    story = Story()
    story.generation("ada", "bob")
    assert story.commits(10) == []
    assert story.later(29) == []
    assert story.later(2) == ["silent: no commits for 31 s, usually every 5.0 s; members: ada, bob"]
    assert story.later(600) == []
    assert story.tells(kind="commits") == ["resumed: commits again after 631 s"]
    assert story.later(31)


def test_a_group_that_commits_seldom_is_given_its_time() -> None:
    story = Story()
    story.generation("ada")
    story.commits(5, every_s=60)
    assert story.later(179) == []
    assert story.later(2)


def test_a_group_without_members_may_be_silent() -> None:
    story = Story()
    story.generation("ada")
    story.commits(5)
    assert story.generation() == ["empty: the last member is gone"]
    assert story.later(3_600) == []


def test_a_member_that_goes_is_named() -> None:
    story = Story()
    story.generation("ada", "bob", "eve")
    assert story.generation("ada", "eve") == ["members_gone: generation 2: bob is gone, 2 left"]
    assert story.generation("ada", "eve", "bob") == []


def test_a_member_that_comes_back_under_another_id_is_not_gone() -> None:
    story = Story()
    story.tells(kind="generation", generation=1, members=[("b-1", "bob"), ("a-1", "ada")])
    assert story.tells(kind="generation", generation=2, members=[("b-2", "bob"), ("a-1", "ada")]) == []


def test_a_storm_is_told_once() -> None:
    story = Story()
    told = []
    for _ in range(8):
        told += story.generation("ada", "bob")
        told += story.generation("ada", "bob", "eve")
        story.later(20)
    assert [each for each in told if each.startswith("storm")] == ["storm: 5 rebalances in 1 min"]


def test_rebalances_far_apart_are_no_storm() -> None:
    story = Story()
    told = []
    for _ in range(10):
        told += story.generation("ada")
        story.later(300)
    assert told == []


def test_what_is_long_past_is_no_news() -> None:
    story = Story()
    story.generation("ada", "bob")
    story.commits(5)
    story.now_ms += NEWS_MS + 100_000
    rows = [{"kind": "generation", "generation": 9, "members": [("ada-id", "ada")], "ts_ms": START_MS + 30_000}]
    assert feed("orders", story.state, rows, story.now_ms) == []
    assert look("orders", story.state, story.now_ms) == []
    assert story.state.generation == 9


def test_a_generation_that_goes_back_is_another_group_of_that_name() -> None:
    story = Story()
    story.generation("ada", "bob", number=40)
    assert story.generation("eve", number=1) == []
    assert story.state.generation == 1


def test_members_of_the_newer_protocol_come_and_go_one_by_one() -> None:
    story = Story()
    story.tells(kind="member", member_id="a", client="ada")
    story.tells(kind="member", member_id="b", client="bob")
    assert story.tells(kind="epoch", generation=1) == []
    assert story.tells(kind="member_gone", member_id="b") == ["members_gone: bob is gone, 1 left"]
    assert story.tells(kind="member_gone", member_id="nobody") == []
    assert story.tells(kind="member_gone", member_id="a") == ["empty: the last member is gone"]
