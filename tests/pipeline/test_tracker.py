"""What is said while it happens: stories of one group, row by row."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

from kohort.pipeline.live.tracker import (
    NEWS_MS,
    Alert,
    Commits,
    Epoch,
    Generation,
    Gone,
    GroupState,
    Joined,
    Row,
    Watched,
    feed,
    look,
    row_of,
    row_text,
)
from kohort.pipeline.live.watching import NEVER, WatchedUntil, watched

START_MS = 1_700_000_000_000


class Story:
    """One group, and a clock that the story moves."""

    def __init__(self) -> None:
        self.now_ms = START_MS
        self.state = GroupState()
        self.watched_since_ms = 0
        self.read_until_ms: int | None = None
        self.generations = count(1)

    def reads(self, kind: Callable[..., Row], *values: object) -> list[str]:
        """Read a row of now from its stored form, and return the alerts."""
        row = row_of(row_text(kind(self.now_ms, *values)))
        return self._words(feed("orders", self.state, [row], self.now_ms))

    def generation(self, *clients: str, number: int | None = None) -> list[str]:
        members = [(f"{client}-id", client) for client in clients]
        number = next(self.generations) if number is None else number
        return self.reads(Generation, number, members)

    def commits(self, times: int = 1, every_s: float = 5) -> list[str]:
        told: list[str] = []
        for _ in range(times):
            self.later(every_s)
            told += self.reads(Commits)
        return told

    def later(self, seconds: float) -> list[str]:
        """Advance the clock and check the group."""
        self.now_ms += round(seconds * 1000)
        self.state = GroupState.of(self.state.text())  # as after a restart
        until_ms = self.now_ms if self.read_until_ms is None else self.read_until_ms
        return self._words(look("orders", self.state, Watched(self.watched_since_ms, until_ms)))

    def _words(self, alerts: list[Alert]) -> list[str]:
        return [f"{alert.kind}: {alert.text}" for alert in alerts]


def test_stopped_commits_are_reported_once() -> None:
    story = Story()
    story.generation("ada", "bob")
    assert story.commits(10) == []
    assert story.later(29) == []
    assert story.later(2) == ["silent: no commits for 31 s, usually every 5.0 s; members: ada, bob"]
    assert story.later(600) == []
    assert story.reads(Commits) == ["resumed: commits again after 631 s"]
    assert story.later(31)


def test_rare_commits_allow_longer_silence() -> None:
    story = Story()
    story.generation("ada")
    story.commits(5, every_s=60)
    assert story.later(179) == []
    assert story.later(2)


def test_staggered_minute_commits_are_silent_between() -> None:
    story = Story()
    story.generation("ada", "bob")
    told: list[str] = []
    for _ in range(30):
        told += story.commits(1, every_s=58) + story.commits(1, every_s=2)
        told += [each for _ in range(50) for each in story.later(0)]
    assert told == []
    assert story.later(173) == []
    assert story.later(2) == ["silent: no commits for 175 s, usually every 58.0 s; members: ada, bob"]


def test_new_group_has_two_minutes() -> None:
    story = Story()
    story.generation("ada")
    story.commits(4, every_s=1)
    assert story.later(119) == []
    assert story.later(2) == ["silent: no commits for 121 s, usually every 1.0 s; members: ada"]


def test_time_without_members_is_no_silence() -> None:
    story = Story()
    told: list[str] = []
    for _ in range(5):
        told += story.generation("ada")
        told += story.commits(20, every_s=5)
        told += story.generation()
        told += story.later(3_600)
    assert told == ["empty: the last member is gone"] * 5
    story.generation("ada")
    assert story.state.usual_ms == 5_000
    assert story.later(29) == []


def test_empty_group_may_be_silent() -> None:
    story = Story()
    story.generation("ada")
    story.commits(5)
    assert story.generation() == ["empty: the last member is gone"]
    assert story.later(3_600) == []


def test_departed_member_is_named() -> None:
    story = Story()
    story.generation("ada", "bob", "eve")
    assert story.generation("ada", "eve") == ["members_gone: generation 2: bob is gone, 2 left"]
    assert story.generation("ada", "eve", "bob") == []


def test_returned_member_is_not_gone() -> None:
    story = Story()
    story.reads(Generation, 1, [("b-1", "bob"), ("a-1", "ada")])
    assert story.reads(Generation, 2, [("b-2", "bob"), ("a-1", "ada")]) == []


def test_unread_silence_is_ignored() -> None:
    # after a restart the missing commits are in the part of the log that is read last
    story = Story()
    story.generation("ada")
    story.commits(10)
    story.read_until_ms = story.now_ms
    assert story.later(72) == []
    story.read_until_ms = None
    story.watched_since_ms = story.now_ms
    assert story.reads(Commits) == []
    assert story.later(29) == []


def test_first_look_gives_group_time() -> None:
    story = Story()
    story.generation("ada")
    story.commits(10)
    story.now_ms += 72_000
    story.watched_since_ms = story.now_ms
    assert story.later(0) == []
    assert story.later(31) == ["silent: no commits for 103 s, usually every 5.0 s; members: ada"]


def test_cluster_outage_is_no_silence(tmp_path: Path) -> None:
    story, path = Story(), tmp_path / "watched.json"
    kept = WatchedUntil(path)

    def looks(seconds: int, *, away: bool) -> list[str]:
        told: list[str] = []
        for _ in range(seconds):
            story.now_ms += 1_000
            if not away:
                kept.looked(story.now_ms, to_the_end=True)
            story.watched_since_ms, story.read_until_ms = watched(path)
            told += story.later(0)
        return told

    story.generation("ada", "bob")
    kept.looked(story.now_ms, to_the_end=True)
    story.watched_since_ms, story.read_until_ms = watched(path)
    assert story.commits(10) == []
    assert looks(1, away=False) == []
    assert looks(600, away=True) == []
    assert looks(29, away=False) == []
    assert looks(5, away=False) == [f"silent: no commits for {1 + 600 + 31} s, usually every 5.0 s; members: ada, bob"]


def test_position_is_stored_in_file(tmp_path: Path) -> None:
    path = tmp_path / "watched.json"
    assert watched(path) == NEVER
    kept = WatchedUntil(path)
    kept.looked(START_MS, to_the_end=False)
    assert watched(path) == NEVER, "a portion of a long log"
    kept.looked(START_MS + 1_000, to_the_end=True)
    kept.looked(START_MS + 3_000, to_the_end=True)
    assert watched(path) == Watched(START_MS + 1_000, START_MS + 3_000)
    kept.looked(START_MS + 5_000, to_the_end=False)
    assert watched(path).until_ms == START_MS + 3_000
    kept.looked(START_MS + 90_000, to_the_end=True)
    assert watched(path) == Watched(START_MS + 90_000, START_MS + 90_000), "the cluster was away"
    WatchedUntil(path).looked(START_MS + 91_000, to_the_end=True)
    assert watched(path).since_ms == START_MS + 91_000, "a restart"


def test_storm_is_reported_once() -> None:
    story = Story()
    told: list[str] = []
    for _ in range(8):
        told += story.generation("ada", "bob")
        told += story.generation("ada", "bob", "eve")
        story.later(20)
    assert [each for each in told if each.startswith("storm")] == ["storm: 5 rebalances in 1 min"]


def test_rebalances_far_apart_are_no_storm() -> None:
    story = Story()
    told: list[str] = []
    for _ in range(10):
        told += story.generation("ada")
        story.later(300)
    assert told == []


def test_whole_group_restarts_are_no_storm() -> None:
    for members in (("ada",), ("ada", "bob")):
        story = Story()
        told: list[str] = []
        for _ in range(8):
            for number in range(len(members)):
                told += story.generation(*members[: number + 1])
            story.later(15)
            for number in range(len(members)):
                told += story.generation(*members[number + 1 :])
            story.later(35)
        assert [each for each in told if each.startswith("storm")] == []


def test_old_events_are_ignored() -> None:
    story = Story()
    story.generation("ada", "bob")
    story.commits(5)
    story.now_ms += NEWS_MS + 200_000
    rows = [Generation(START_MS + 30_000, 9, [("ada-id", "ada")])]
    assert feed("orders", story.state, rows, story.now_ms) == []
    assert look("orders", story.state, Watched(0, story.now_ms)) == []
    assert story.state.generation == 9


def test_lower_generation_is_new_group() -> None:
    story = Story()
    story.generation("ada", "bob", number=40)
    assert story.generation("eve", number=1) == []
    assert story.state.generation == 1


def test_consumer_members_change_individually() -> None:
    story = Story()
    story.reads(Joined, "a", "ada")
    story.reads(Joined, "b", "bob")
    assert story.reads(Epoch, 1) == []
    assert story.reads(Gone, "b") == ["members_gone: bob is gone, 1 left"]
    assert story.reads(Gone, "nobody") == []
    assert story.reads(Gone, "a") == ["empty: the last member is gone"]
