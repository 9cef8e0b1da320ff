"""Live state of a group and its alerts. Independent of Spark for the sake of tests.

Its input rows are the group's records (one generation or membership each) and its commits (one row per time), ordered
by offset. Times are those of the records; `now_ms` is the local wall clock and decides whether an alert is news.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from kohort.pipeline.history.stalls import SILENCE_MS, TIMES_USUAL
from kohort.pipeline.history.storms import MANY, WINDOW_MS

NEWS_MS = 10 * 60_000  # an event that is older when read goes to the report, not to the terminal
SLOT_MS, SLOTS_KEPT = 60_000, 20
FEWEST_SLOTS, FEWEST_INTERVALS = 3, 3
FIRST_PATIENCE_MS = 4 * SILENCE_MS  # for a group whose habits are not known yet


class Watched(NamedTuple):
    """Period that was read without a gap. A silence counts only within it: unread records may contain commits."""

    since_ms: int
    until_ms: int


class Commits(NamedTuple):
    """A time at which the group committed."""

    ts_ms: int


class Generation(NamedTuple):
    """A classic group's record. members: id and client of each; a deleted group has none, and the number -1."""

    ts_ms: int
    number: int
    members: list[tuple[str, str]]


class Epoch(NamedTuple):
    """An epoch of the group (KIP-848)."""

    ts_ms: int
    number: int


class Joined(NamedTuple):
    """A member's record (KIP-848)."""

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
    """Return a row as JSON, for the transfer to another worker."""
    return json.dumps([type(row).__name__, *row])


def row_of(text: str) -> Row:
    kind, *values = json.loads(text)
    return _KINDS[kind](*values)


@dataclass(slots=True)
class Alert:
    """One line for the user. `rule` is the related diagnosis, if any."""

    group_id: str
    ts_ms: int
    kind: str
    severity: str
    text: str


@dataclass(slots=True)
class GroupState:
    """State of a group. Small, and can be stored as JSON."""

    generation: int = -1
    members: dict[str, str] = field(default_factory=dict)  # member id -> name of the client
    rebalances_ms: list[int] = field(default_factory=list)  # starts of the last generations
    last_commit_ms: int = -1
    intervals: int = 0
    # Longest time between two commits in each of the last minutes with commits: (minute, milliseconds). Single gaps
    # would be too short for a habit: members commit one after the other.
    longest: list[tuple[int, int]] = field(default_factory=list)
    away_since_ms: int = -1  # time since which the group has had no members, or -1 after a commit
    silent: bool = False
    stormy: bool = False

    @classmethod
    def of(cls, text: str) -> GroupState:
        fields = json.loads(text)
        fields.pop("intervals_ms", None)  # of an earlier release
        state = cls(**fields)
        state.longest = [(slot, length) for slot, length in state.longest]
        return state

    def text(self) -> str:
        return json.dumps(asdict(self))

    @property
    def usual_ms(self) -> int | None:
        """Longest usual time without a commit, or None if it is not known yet."""
        if self.intervals < FEWEST_INTERVALS:
            return None
        longest = sorted(length for _, length in self.longest)
        return longest[len(longest) // 2] if len(longest) >= FEWEST_SLOTS else longest[-1]

    @property
    def patience_ms(self) -> int:
        """Time without commits after which an alert is due."""
        usual = self.usual_ms
        if usual is None:
            return FIRST_PATIENCE_MS
        return max(SILENCE_MS if len(self.longest) > 1 else FIRST_PATIENCE_MS, TIMES_USUAL * usual)

    def waited(self, ts_ms: int, length_ms: int) -> None:
        """Record a time without commits that has just ended."""
        slot = ts_ms // SLOT_MS
        self.intervals += 1
        if self.longest and self.longest[-1][0] == slot:
            self.longest[-1] = (slot, max(self.longest[-1][1], length_ms))
        else:
            self.longest = [*self.longest, (slot, length_ms)][-SLOTS_KEPT:]

    def alarm_ms(self, watched: Watched) -> int | None:
        """Return when the group counts as silent, or None if it has no members or is already silent.

        The start of the watched period restarts the time, as the group may have been unable to commit before.
        """
        if self.silent or not self.members or self.last_commit_ms < 0:
            return None
        return max(self.last_commit_ms, watched.since_ms) + self.patience_ms


def feed(group_id: str, state: GroupState, rows: Iterable[Row], now_ms: int) -> list[Alert]:
    """Process rows, ordered by offset, and return recent alerts."""
    alerts: list[Alert] = []
    for row in rows:
        match row:
            case Commits():
                alerts += _commits(group_id, state, row.ts_ms)
            case Generation():
                alerts += _generation(group_id, state, row)
            case Epoch():
                previous, state.generation = state.generation, row.number
                if row.number > previous and state.members:
                    alerts += _storm(group_id, state, row.ts_ms)
            case Joined():
                _take_members(state, {**state.members, row.member_id: row.client}, row.ts_ms)
            case Gone():
                alerts += _on_departure(group_id, state, row)
    return [alert for alert in alerts if now_ms - alert.ts_ms <= NEWS_MS]


def look(group_id: str, state: GroupState, watched: Watched) -> list[Alert]:
    """Return an alert if the group is silent for too long."""
    alarm_ms, now_ms = state.alarm_ms(watched), watched.until_ms
    if alarm_ms is None or now_ms < alarm_ms:
        return []
    state.silent = True
    if now_ms - alarm_ms > NEWS_MS:
        return []
    names = ", ".join(sorted(set(state.members.values())))
    quiet_s = (now_ms - state.last_commit_ms) // 1000
    text = f"no commits for {quiet_s} s, usually {_usual_s(state)}; members: {names}"
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
    departed = [client for member, client in state.members.items() if member not in members]
    back = set(members.values())
    lost = sorted({client for client in departed if client not in back})
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
    """Set the members. Time without members is not a silence: a joining member gets time to commit."""
    if members and not state.members and state.last_commit_ms >= 0:
        state.last_commit_ms = max(state.last_commit_ms, ts_ms)
    if not members and state.away_since_ms < 0:
        state.away_since_ms = ts_ms
    if not members:  # a member that joins an empty group interrupts no other one: a console consumer, a nightly job
        state.rebalances_ms, state.stormy = [], False
    state.members = members


def _on_departure(group_id: str, state: GroupState, row: Gone) -> list[Alert]:
    client = state.members.get(row.member_id)
    if client is None:
        return []
    _take_members(
        state, {member_id: name for member_id, name in state.members.items() if member_id != row.member_id}, row.ts_ms
    )
    text = f"{client} is gone, {len(state.members)} left" if state.members else "the last member is gone"
    return [Alert(group_id, row.ts_ms, "members_gone" if state.members else "empty", "info", text)]


def _storm(group_id: str, state: GroupState, ts_ms: int) -> list[Alert]:
    recent = [ts for ts in state.rebalances_ms if ts_ms - ts <= WINDOW_MS]
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
