"""A group's live state, and the alerts that follow from it. Knows no Spark, so that tests can play it.

The rows it is fed are the group's records (one generation or membership each) and its commits (a row per moment), in
the order of their offsets. Times are the records' own; `now_ms` is the wall clock of whoever follows, and decides
whether something is news.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from kohort.pipeline.history.stalls import SILENCE_MS, TIMES_USUAL
from kohort.pipeline.history.storms import MANY, WINDOW_MS

NEWS_MS = 10 * 60_000
"""What is older when it is read belongs to the report, not on the terminal."""
SLOT_MS, SLOTS_KEPT = 60_000, 20
FEWEST_SLOTS, FEWEST_INTERVALS = 3, 3
FIRST_PATIENCE_MS = 4 * SILENCE_MS
"""For a group whose habits are not known yet."""


class Watched(NamedTuple):
    """The time that was read without a gap. A silence counts only within it: what wasn't read may hold commits."""

    since_ms: int
    until_ms: int


class Commits(NamedTuple):
    """A moment at which the group committed."""

    ts_ms: int


class Generation(NamedTuple):
    """A classic group's record. members: id and client of each; none and number -1 where the group is gone."""

    ts_ms: int
    number: int
    members: list[tuple[str, str]]


class Epoch(NamedTuple):
    """The group's epoch (KIP-848)."""

    ts_ms: int
    number: int


class Joined(NamedTuple):
    """A member's own record (KIP-848)."""

    ts_ms: int
    member_id: str
    client: str


class Gone(NamedTuple):
    """A member's tombstone (KIP-848)."""

    ts_ms: int
    member_id: str


Row = Commits | Generation | Epoch | Joined | Gone
_KINDS: dict[str, type[Row]] = {kind.__name__: kind for kind in (Commits, Generation, Epoch, Joined, Gone)}


def row_text(row: Row) -> str:
    """A row as JSON, for the way to another worker."""
    return json.dumps([type(row).__name__, *row])


def row_of(text: str) -> Row:
    """The row that `row_text` wrote."""
    kind, *values = json.loads(text)
    return _KINDS[kind](*values)


@dataclass(slots=True)
class Alert:
    """One line for a person. `rule` is the diagnosis it hints at, where there is one."""

    group_id: str
    ts_ms: int
    kind: str
    severity: str
    text: str


@dataclass(slots=True)
class GroupState:
    """What is remembered of a group. Small, and plain enough for JSON."""

    generation: int = -1
    members: dict[str, str] = field(default_factory=dict)
    """Member id to the client, as a person knows it."""
    rebalances_ms: list[int] = field(default_factory=list)
    """When the last generations began."""
    last_commit_ms: int = -1
    intervals: int = 0
    longest: list[tuple[int, int]] = field(default_factory=list)
    """The longest time between two commits in each of the last minutes that had one: minute, milliseconds.

    From one commit to the next it would be too short for a habit: members commit one after the other.
    """
    away_since_ms: int = -1
    """Since when nobody was there; -1: somebody has committed since."""
    silent: bool = False
    stormy: bool = False

    @classmethod
    def of(cls, text: str) -> GroupState:
        """The state that `text` wrote."""
        known = json.loads(text)
        known.pop("intervals_ms", None)  # of an earlier release
        state = cls(**known)
        state.longest = [(slot, length) for slot, length in state.longest]
        return state

    def text(self) -> str:
        """The state as JSON, for keeping."""
        return json.dumps(asdict(self))

    @property
    def usual_ms(self) -> int | None:
        """The longest time that usually passes without a commit; None: not known yet."""
        if self.intervals < FEWEST_INTERVALS:
            return None
        longest = sorted(length for _, length in self.longest)
        return longest[len(longest) // 2] if len(longest) >= FEWEST_SLOTS else longest[-1]

    @property
    def patience_ms(self) -> int:
        """How long commits may stay away before it is worth a line."""
        usual = self.usual_ms
        if usual is None:
            return FIRST_PATIENCE_MS
        return max(SILENCE_MS if len(self.longest) > 1 else FIRST_PATIENCE_MS, TIMES_USUAL * usual)

    def waited(self, ts_ms: int, length_ms: int) -> None:
        """Takes note of a time without commits that ended just now."""
        slot = ts_ms // SLOT_MS
        self.intervals += 1
        if self.longest and self.longest[-1][0] == slot:
            self.longest[-1] = (slot, max(self.longest[-1][1], length_ms))
        else:
            self.longest = [*self.longest, (slot, length_ms)][-SLOTS_KEPT:]

    def alarm_ms(self, watched: Watched) -> int | None:
        """When the group counts as silent if nothing comes; None: it has no members, or is silent already.

        Whoever begins to look gives the group its time: it may have been unable to commit while nobody looked.
        """
        if self.silent or not self.members or self.last_commit_ms < 0:
            return None
        return max(self.last_commit_ms, watched.since_ms) + self.patience_ms


def feed(group_id: str, state: GroupState, rows: Iterable[Row], now_ms: int) -> list[Alert]:
    """Takes rows in, in the order of their offsets; returns what is news."""
    alerts: list[Alert] = []
    for row in rows:
        match row:
            case Commits():
                alerts += _commits(group_id, state, row.ts_ms)
            case Generation():
                alerts += _generation(group_id, state, row)
            case Epoch():
                known, state.generation = state.generation, row.number
                if row.number > known and state.members:
                    alerts += _storm(group_id, state, row.ts_ms)
            case Joined():
                _take_members(state, {**state.members, row.member_id: row.client}, row.ts_ms)
            case Gone():
                alerts += _gone(group_id, state, row)
    return [alert for alert in alerts if now_ms - alert.ts_ms <= NEWS_MS]


def look(group_id: str, state: GroupState, watched: Watched) -> list[Alert]:
    """The alarm's time has come, or something else made somebody look."""
    alarm_ms, now_ms = state.alarm_ms(watched), watched.until_ms
    if alarm_ms is None or now_ms < alarm_ms:
        return []
    state.silent = True
    if now_ms - alarm_ms > NEWS_MS:
        return []
    who = ", ".join(sorted(set(state.members.values())))
    quiet_s = (now_ms - state.last_commit_ms) // 1000
    text = f"no commits for {quiet_s} s, usually {_usual_s(state)}; members: {who}"
    return [Alert(group_id, now_ms, "silent", "warning", text)]


def _usual_s(state: GroupState) -> str:
    usual = state.usual_ms
    return "now and then" if usual is None else f"every {usual / 1000:.1f} s"


def _commits(group_id: str, state: GroupState, ts_ms: int) -> list[Alert]:
    since_ms = ts_ms - state.last_commit_ms
    alerts = []
    if state.last_commit_ms >= 0 and since_ms > 0:
        if state.silent:
            alerts.append(Alert(group_id, ts_ms, "resumed", "info", f"commits again after {since_ms // 1000} s"))
        # A silence counts as an interval too: a group that always commits that seldom causes no further alerts.
        if state.away_since_ms < 0:
            state.waited(ts_ms, since_ms)
    state.silent, state.away_since_ms = False, -1
    state.last_commit_ms = max(state.last_commit_ms, ts_ms)
    return alerts


def _generation(group_id: str, state: GroupState, row: Generation) -> list[Alert]:
    members: dict[str, str] = dict(row.members)
    if row.number < state.generation:  # the group was deleted and is a new one, or the topic is
        state.rebalances_ms, state.longest, state.intervals, state.members = [], [], 0, {}
    if row.number == state.generation and members.keys() == state.members.keys():
        return []
    alerts = []
    gone = [client for member, client in state.members.items() if member not in members]
    back = set(members.values())
    lost = sorted({client for client in gone if client not in back})
    if lost and members:
        text = f"generation {row.number}: {', '.join(lost)} {'is' if len(lost) == 1 else 'are'} gone, "
        text += f"{len(members)} left"
        alerts.append(Alert(group_id, row.ts_ms, "members_gone", "info", text))
    elif lost:
        alerts.append(Alert(group_id, row.ts_ms, "empty", "info", "the last member is gone"))
    state.generation = row.number
    _take_members(state, members, row.ts_ms)
    if members:
        alerts += _storm(group_id, state, row.ts_ms)
    return alerts


def _take_members(state: GroupState, members: dict[str, str], ts_ms: int) -> None:
    """Time without members is no silence: whoever comes then is given time to commit."""
    if members and not state.members and state.last_commit_ms >= 0:
        state.last_commit_ms = max(state.last_commit_ms, ts_ms)
    if not members and state.away_since_ms < 0:
        state.away_since_ms = ts_ms
    if not members:  # whoever comes and goes interrupts nobody: a console consumer, a job of the night
        state.rebalances_ms, state.stormy = [], False
    state.members = members


def _gone(group_id: str, state: GroupState, row: Gone) -> list[Alert]:
    client = state.members.get(row.member_id)
    if client is None:
        return []
    _take_members(state, {each: name for each, name in state.members.items() if each != row.member_id}, row.ts_ms)
    left = f"{client} is gone, {len(state.members)} left" if state.members else "the last member is gone"
    return [Alert(group_id, row.ts_ms, "members_gone" if state.members else "empty", "info", left)]


def _storm(group_id: str, state: GroupState, ts_ms: int) -> list[Alert]:
    recent = [each for each in state.rebalances_ms if ts_ms - each <= WINDOW_MS]
    state.rebalances_ms = [*recent[-MANY:], ts_ms]
    many = len(state.rebalances_ms) >= MANY
    if not many:
        state.stormy = False
        return []
    if state.stormy:
        return []
    state.stormy = True
    minutes = max(1, (ts_ms - state.rebalances_ms[0]) // 60_000)
    text = f"{len(state.rebalances_ms)} rebalances in {minutes} min"
    return [Alert(group_id, ts_ms, "storm", "warning", text)]
