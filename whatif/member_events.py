"""Events of a script: starts, stops, crashes and pauses of the processes whose members a history contains."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import TopicPartition
from kohort.pipeline.history.member_sessions import Session
from kohort.whatif.played_settings import Settings
from kohort.whatif.script import Action, Event, Origin, Sourced

STOPPED = ("left", "session_expired", "replaced")  # ends of sessions after which the process has to start again
EARLY_MS = 12_000  # a process that joins within this time is one of the beginning
JOIN_AFTER_MS = 100  # from the start of a process to its join
SLOW_MS = 2_500  # a member that comes so much later than the others was busy
TOGETHER_SILENT_MS = 700  # partitions of one member fall silent within this time


class _Members(NamedTuple):
    """The sessions of a group by process, with the times that a broker's log contains."""

    analysis: GroupAnalysis
    settings: Settings
    begin_ms: int
    processes: dict[str, list[Session]]  # by name, in the order of time
    joined_ms: dict[str, int]  # by member id, as far as a broker's log has it
    left_ms: dict[str, int]

    def starts(self) -> tuple[dict[str, int], list[Event]]:
        """Return the times at which processes of the beginning start, and the starts of others and after stops."""
        starts: dict[str, int] = {}
        events: list[Event] = []
        for name, sessions in self.processes.items():
            is_up = was_replaced = False
            for session in sessions:
                if not is_up:
                    is_logged = session.member.member_id in self.joined_ms
                    start_ms = max(self._join_ms(session) - self.begin_ms - JOIN_AFTER_MS, 0)
                    if self._join_ms(session) <= self.begin_ms + EARLY_MS and name not in starts:
                        starts[name] = start_ms if is_logged else 10 * len(starts)
                    else:
                        # Without a log, a member joined at some time in the heartbeat interval before the barrier. The
                        # record of a static member that takes the place of the old one needs no barrier.
                        is_exact = is_logged or was_replaced or self.settings.is_consumer
                        unknown_ms = 0 if is_exact else self.settings.heartbeat_ms
                        events.append(Event(start_ms, "start", name, early_ms=unknown_ms))
                is_up, was_replaced = session.end_kind not in STOPPED, session.end_kind == "replaced"
        return starts, events

    def ends(self) -> Iterator[Event]:
        """Yield the stops, crashes and pauses that ended sessions."""
        for name, sessions in self.processes.items():
            ids = {session.member.member_id for session in sessions}
            for number, session in enumerate(sessions):
                following = sessions[number + 1] if number + 1 < len(sessions) else None
                match session.end_kind:
                    case "left":
                        yield self._event(self._leave_ms(session), "stop", name)
                    case "replaced":
                        yield self._event(self._replaced_ms(session, ids), "stop", name)
                    case "session_expired":
                        yield self._event(self._crash_ms(session, ids), "kill", name)
                    case "poll_timeout" | "barrier":
                        at_ms = session.last_ms - self.settings.max_poll_ms
                        back_ms = session.last_ms if following is None else self._join_ms(following)
                        yield self._event(at_ms, "slow", name, back_ms - at_ms)

    def _event(self, at_ms: int, action: Action, name: str, length_ms: int = 0) -> Event:
        return Event(at_ms - self.begin_ms, action, name, length_ms, is_exact=action == "stop")

    def _join_ms(self, session: Session) -> int:
        return self.joined_ms.get(session.member.member_id, session.first_ms)

    def _leave_ms(self, session: Session) -> int:
        member_id = session.member.member_id
        last_commit_ms = _last_commit(self.analysis, {member_id}, session.last_ms) or session.last_ms
        return self.left_ms.get(member_id, last_commit_ms + 1)

    def _replaced_ms(self, session: Session, ids: set[str]) -> int:
        at_ms = (
            self.left_ms.get(session.member.member_id)
            or _last_commit(self.analysis, ids, session.last_ms)
            or session.last_ms - 1_000
        )
        return min(at_ms, session.last_ms - 1)

    def _crash_ms(self, session: Session, ids: set[str]) -> int:
        # The session ends that long after the last heartbeat, which the process sent up to one interval before it died.
        expired_ms = session.last_ms - self.settings.session_ms + self.settings.heartbeat_ms // 2
        last_commit_ms = _last_commit(self.analysis, ids, session.last_ms) or 0
        return max(expired_ms, session.first_ms, last_commit_ms + 1)


def events_of(
    analysis: GroupAnalysis, settings: Settings, begin_ms: int, sources: list[Sourced]
) -> tuple[dict[str, int], list[Event]]:
    """Return the times at which processes of the beginning start, and the events of all processes."""
    joined_ms, left_ms = logged_times(analysis)
    members = _Members(analysis, settings, begin_ms, _processes(analysis.sessions), joined_ms, left_ms)
    starts, events = members.starts()
    events += [*members.ends(), *_pauses(analysis, members.processes, begin_ms)]
    counts = Counter(event.action for event in events)
    logged: Origin = "observed" if left_ms or joined_ms else "inferred"
    sources += [
        Sourced(
            "starts of processes",
            str(counts["start"] + len(starts)),
            logged,
            "first request of each member, less 100 ms",
        ),
        Sourced("closed consumers", str(counts["stop"]), logged, "LeaveGroup, or a static member's last commit"),
        Sourced("crashes", str(counts["kill"]), "inferred", "session expiry less the session timeout"),
        Sourced("pauses", str(counts["slow"]), "inferred", "silence of a member while others waited for it"),
        Sourced("heartbeat phases", "from the joins", "inferred", "heartbeats follow the last join at their interval"),
    ]
    return starts, [event for event in events if event.at_ms >= 0]


def _pauses(analysis: GroupAnalysis, processes: dict[str, list[Session]], begin_ms: int) -> list[Event]:
    """Return the times in which a member finished no batch although records waited, while its process continued.

    All its partitions stand still from the same time, which is before any rebalance that explains it.
    """
    owners = {session.member.member_id: name for name, sessions in processes.items() for session in sessions}
    silences: dict[str, list[tuple[int, int]]] = {}
    for place, commits in analysis.group.commits.items():
        times, offsets = commits.ts_ms.tolist(), commits.committed.tolist()
        usual = median(b - a for a, b in itertools.pairwise(times)) if len(times) > 2 else 0
        rate = (offsets[-1] - offsets[0]) / max(times[-1] - times[0], 1)
        for number, (silent_ms, resumed_ms) in enumerate(itertools.pairwise(times)):
            # The first commit may be that of the long batch alone. Those shortly after it show whether records waited,
            # or were not appended before.
            last = bisect_right(times, resumed_ms + max(usual, SLOW_MS)) - 1
            caught_up = offsets[last] - offsets[number]
            waited = (
                caught_up > 1 and caught_up - rate * (times[last] - resumed_ms) >= rate * (resumed_ms - silent_ms) / 2
            )
            if resumed_ms - silent_ms >= max(SLOW_MS, 3 * usual) and waited:
                owner = _owner(analysis, place, silent_ms)
                if owner in owners:
                    silences.setdefault(owner, []).append((silent_ms, resumed_ms))
    edges = sorted((r.begin_ms, r.stable_ms) for r in analysis.rebalances)
    events: list[Event] = []
    for member_id, intervals in silences.items():
        name = owners[member_id]
        ended = {session.last_ms for session in processes[name] if session.end_kind != "alive"}
        last_ms = 0
        for silent_ms, resumed_ms in sorted(intervals):
            if silent_ms < last_ms:
                continue
            together = [end for begin, end in intervals if abs(begin - silent_ms) < TOGETHER_SILENT_MS]
            owned = sum(owner == member_id for owner in _owners_at(analysis, silent_ms).values())
            in_rebalance = any(begin - TOGETHER_SILENT_MS <= silent_ms <= end for begin, end in edges)
            stopped = any(silent_ms <= ms <= resumed_ms for ms in ended)
            if len(together) < owned or in_rebalance or stopped:
                continue
            last_ms = min(together)
            events.append(Event(silent_ms - begin_ms, "slow", name, last_ms - silent_ms))
    return events


def _owners_at(analysis: GroupAnalysis, at_ms: int) -> dict[TopicPartition, str]:
    generation = next((g for g in reversed(analysis.generations) if g.stable_ms <= at_ms), None)
    return generation.owners if generation is not None else {}


def _owner(analysis: GroupAnalysis, place: TopicPartition, at_ms: int) -> str:
    return _owners_at(analysis, at_ms).get(place, "")


def logged_times(analysis: GroupAnalysis) -> tuple[dict[str, int], dict[str, int]]:
    """Return the times of first joins and of leaves by member id, as a broker's log has them."""
    joins: dict[str, int] = {}
    leaves: dict[str, int] = {}
    for event in analysis.group.events:
        if event.member_id is None:
            continue
        if event.kind in ("member_id_issued", "member_added"):
            joins[event.member_id] = min(joins.get(event.member_id, event.ts), event.ts)
        elif event.kind in ("member_removed", "member_away"):
            leaves[event.member_id] = event.ts
    return joins, leaves


def _processes(sessions: list[Session]) -> dict[str, list[Session]]:
    """Return the sessions of each process by its name. Processes that run at the same time get different names."""
    names = _names(sessions)
    processes: dict[str, list[Session]] = {}
    for session in sessions:
        processes.setdefault(names[id(session)], []).append(session)
    for of_process in processes.values():
        of_process.sort(key=lambda session: session.first_ms)
    return processes


def _names(sessions: list[Session]) -> dict[int, str]:
    """Return the name of each session's process. Processes that run at the same time get different names."""
    names: dict[int, str] = {}
    free_ms: dict[str, int] = {}
    for session in sorted(sessions, key=lambda session: session.first_ms):
        base, number = session.member.identity, 1
        name = base
        while free_ms.get(name, -1) > session.first_ms:
            number += 1
            name = f"{base}#{number}"
        names[id(session)] = name
        free_ms[name] = session.last_ms
    return names


def _last_commit(analysis: GroupAnalysis, ids: set[str], until_ms: int) -> int | None:
    """Return the last commit of the partitions of a process before a time.

    Args:
        ids: All member ids of the process. A static member that is replaced keeps its partitions under a new id.
    """
    owned: set[TopicPartition] = set()
    for generation in analysis.generations:
        if generation.stable_ms <= until_ms:
            owned = {place for place, owner in generation.owners.items() if owner in ids} or owned
    times = []
    for place in owned:
        commits = analysis.group.commits.get(place)
        if commits is not None:
            index = int(commits.ts_ms.searchsorted(until_ms - 1)) - 1
            if index >= 0:
                times.append(int(commits.ts_ms[index]))
    return max(times) if times else None
