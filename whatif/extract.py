"""The script of a group: what its history shows happened to it, apart from its settings.

Each element is observed, inferred by a rule, or unknown (`Script.sources`).
"""

from __future__ import annotations

import itertools
from array import array
from bisect import bisect_left
from dataclasses import replace
from statistics import median

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import TopicPartition
from kohort.pipeline.history.member_sessions import Session
from kohort.pipeline.rules.readiness import has_librdkafka_form
from kohort.whatif.arrivals import arrivals_of, base_offset
from kohort.whatif.clients.assignors import ASSIGNORS
from kohort.whatif.played_settings import Settings
from kohort.whatif.script import Event, Origin, Script, Sourced

# Time that is played after a disturbance, until the group is stable again under any settings; more is left out
SETTLING_MS = {"kill": 60_000, "pause": 60_000, "grow": 320_000}
USUAL_SETTLING_MS = 15_000
LEAD_MS = 5_000  # time that is played before a disturbance
SLOW_MS = 2_500  # a member that comes so much later than the others was busy
FIRST_JOIN_MS = 120  # from the start of the first member to its join
TOGETHER_SILENT_MS = 700  # partitions of one member fall silent within this time
SHUTDOWN_MS = 5_000  # members that stop within this time of each other at the end were shut down together
METADATA_AGES_MS = (5_000, 10_000, 30_000, 60_000, 300_000)
_LIBRARY_RULES = {
    "aiokafka": "rebalance timeout equals session timeout",
    "librdkafka": "form of subscriptions and assignments",
    "java": "Java unless --given client.library names another",
}
EVERY_BATCH = 4_000  # commits further apart than this are made at an interval


class UnplayableError(ValueError):
    """A history that does not contain what a script needs."""


def extract(analysis: GroupAnalysis) -> tuple[Script, Settings]:
    """Return the script of a group and the settings that it had.

    Raises:
        UnplayableError: The history has no members or no commits.
    """
    if analysis.group_type not in ("classic", "consumer"):
        raise UnplayableError(
            f"group {analysis.group_id} is a {analysis.group_type} group; only classic and consumer groups can be "
            "played"
        )
    if not analysis.sessions or not analysis.generations:
        raise UnplayableError(f"group {analysis.group_id} has no members in these sources")
    if not analysis.group.commits:
        raise UnplayableError(f"group {analysis.group_id} has no commits in these sources")
    sources: list[Sourced] = []
    settings = _settings(analysis, sources)
    begin_ms = min(session.first_ms for session in analysis.sessions)
    logged_ms = [event.ts for event in analysis.group.events if event.kind in ("member_id_issued", "member_added")]
    if logged_ms:
        begin_ms = min(begin_ms, *logged_ms)
    elif not settings.is_consumer:
        # The first record is that of the first generation: the initial delay has ended, which a second member extends.
        begin_ms -= 2 * settings.initial_delay_ms + FIRST_JOIN_MS
    end_ms = _end(analysis)
    partitions, arrivals, bases = _arrivals(analysis, settings, begin_ms, end_ms, sources)
    starts, events = _events(analysis, settings, begin_ms, sources)
    events += _growth(analysis, partitions, begin_ms)
    events = sorted(event for event in events if event.at_ms < end_ms - begin_ms)
    count = sum(1 for place in partitions if place not in _grown(analysis))
    script = Script(
        topic=analysis.group_id,
        partitions=max(count, 1),
        arrivals=arrivals,
        end_ms=end_ms - begin_ms + 1,
        events=events,
        starts=starts,
        origin_ms=begin_ms,
        base_offsets=bases,
        places=partitions,
        first_ms=min((event.at_ms for event in events), default=0),
        sources=sources,
    )
    sources.append(Sourced("work on a batch", f"{script.work_ms} ms", "unknown", "assumed; it is not in the logs"))
    return script, settings


def _end(analysis: GroupAnalysis) -> int:
    """Return the end of the script: that of the history, or the time at which all members were stopped for good."""
    end_ms = analysis.span_ms[1]
    if any(session.end_kind == "alive" for session in analysis.sessions):
        return end_ms
    _, leaves = _logged_times(analysis)
    ends = sorted(leaves.get(session.member.member_id, session.last_ms) for session in analysis.sessions)
    last_ms = ends[-1]
    commits_ms = max(
        (int(commits.ts_ms[-1]) for commits in analysis.group.commits.values() if len(commits.ts_ms)), default=last_ms
    )
    first_of_last = last_ms
    for ms in reversed(ends):
        if first_of_last - ms > SHUTDOWN_MS:
            break
        first_of_last = ms
    return min(first_of_last, commits_ms + 1)


# Settings


def _settings(analysis: GroupAnalysis, sources: list[Sourced]) -> Settings:
    members = [member for generation in analysis.generations for member in generation.members.values()]
    last = analysis.generations[-1] if analysis.generations[-1].members else analysis.generations[0]
    is_consumer = analysis.group_type == "consumer"
    sessions = [member.session_timeout_ms for member in members if member.session_timeout_ms]
    rebalances = [member.rebalance_timeout_ms for member in members if member.rebalance_timeout_ms]
    session_ms = int(median(sessions)) if sessions else 45_000
    max_poll_ms = int(median(rebalances)) if rebalances else 300_000
    assignor = last.protocol or next((g.protocol for g in reversed(analysis.generations) if g.protocol), "range")
    heartbeat_ms = 5_000 if is_consumer else min(3_000, session_ms // 3)
    is_custom = assignor not in ASSIGNORS
    static = any(member.instance_id for member in members)
    library = "java"
    if not is_consumer and rebalances and max_poll_ms == session_ms:
        library = "aiokafka"
    elif not is_consumer and has_librdkafka_form(analysis.group.members):
        library = "librdkafka"
    interval_ms = _commit_interval(analysis)
    leader_ms = _leader_ms(analysis)
    sources += [
        Sourced(
            "session timeout",
            f"{session_ms} ms",
            "observed" if sessions else "unknown",
            "" if sessions else "Kafka's default",
        ),
        Sourced(
            "max.poll.interval.ms",
            f"{max_poll_ms} ms",
            "observed" if rebalances else "unknown",
            "rebalance timeout of the members",
        ),
        Sourced("heartbeat interval", f"{heartbeat_ms} ms", "unknown", "the default; logs do not contain it"),
        Sourced("assignor", assignor, "observed"),
        Sourced("static members", "yes" if static else "no", "observed"),
        Sourced(
            "client library",
            library,
            "inferred",
            _LIBRARY_RULES[library],
        ),
        Sourced(
            "commits",
            "after each batch" if interval_ms is None else f"every {interval_ms} ms",
            "inferred",
            "time between commits of a partition",
        ),
    ]
    return Settings(
        library=library,
        protocol="consumer" if is_consumer else "classic",
        assignor=assignor if not is_custom else "range",
        session_ms=session_ms,
        heartbeat_ms=heartbeat_ms,
        max_poll_ms=max_poll_ms,
        static=static,
        metadata_ms=_metadata_age(analysis),
        auto_commit_ms=interval_ms,
        assignor_ms=leader_ms,
        assignor_user_data=is_custom,
    )


def _commit_interval(analysis: GroupAnalysis) -> int | None:
    gaps = [
        int(later) - int(earlier)
        for commits in analysis.group.commits.values()
        for earlier, later in zip(commits.ts_ms[:200], commits.ts_ms[1:201], strict=False)
    ]
    usual = median(gaps) if gaps else 0
    return round(usual / 1000) * 1000 if usual >= EVERY_BATCH else None


def _metadata_age(analysis: GroupAnalysis) -> int:
    """Return the usual age of metadata that explains when a classic group noticed new partitions."""
    grown = _grown(analysis)
    noticed = [r.begin_ms for r in analysis.rebalances if r.grown]
    if not grown or not noticed:
        return METADATA_AGES_MS[-1]
    delay_ms = min(noticed) - min(grown.values())
    return next((age_ms for age_ms in METADATA_AGES_MS if age_ms >= delay_ms), METADATA_AGES_MS[-1])


def _leader_ms(analysis: GroupAnalysis) -> int:
    """Return the usual time between the end of a join barrier and the leader's assignment."""
    spans = [r.stable_ms - r.barrier_ms for r in analysis.rebalances if not r.is_epoch and r.after.size]
    usual = median(spans) if spans else 0
    return int(usual) if usual >= 200 else 0


# Records


def _arrivals(
    analysis: GroupAnalysis, settings: Settings, begin_ms: int, end_ms: int, sources: list[Sourced]
) -> tuple[list[TopicPartition], dict[int, array[int]], dict[int, int]]:
    """Return the partitions of all topics, and their arrivals and first offsets by number in that list."""
    grown = _grown(analysis)
    topics = sorted({topic for topic, _ in analysis.group.commits})
    places = sorted({p for p in (*analysis.group.commits, *analysis.group.ends) if p[0] in topics})
    places.sort(key=lambda place: place in grown)
    by_topic = {}
    for topic in topics:
        by_topic[topic], topic_sources = arrivals_of(
            analysis.group, topic, begin_ms, end_ms, 20, commits_each_batch=settings.auto_commit_ms is None
        )
        sources += topic_sources
    if len(topics) > 1:
        sources.append(
            Sourced(
                "topics",
                f"{len(topics)}, played as one",
                "inferred",
                "assignors see their partitions as those of one topic",
            )
        )
    arrivals = {number: by_topic[topic].get(partition, array("q")) for number, (topic, partition) in enumerate(places)}
    bases = {
        number: base_offset(analysis.group.ends.get(place), begin_ms, end_ms) for number, place in enumerate(places)
    }
    return places, arrivals, bases


def _grown(analysis: GroupAnalysis) -> dict[TopicPartition, int]:
    """Return the partitions that were added while the group had members, with the time of their first sample."""
    first_ms = analysis.sessions[0].first_ms if analysis.sessions else 0
    by_topic: dict[str, int] = {}
    for (topic, _), ends in analysis.group.ends.items():
        if len(ends.sampled_ms):
            by_topic[topic] = min(by_topic.get(topic, int(ends.sampled_ms[0])), int(ends.sampled_ms[0]))
    return {
        place: int(ends.sampled_ms[0])
        for place, ends in analysis.group.ends.items()
        if len(ends.sampled_ms)
        and int(ends.sampled_ms[0]) > max(by_topic[place[0]], first_ms) + 5_000
        and not int(ends.log_start[0])
    }


def _growth(analysis: GroupAnalysis, places: list[TopicPartition], begin_ms: int) -> list[Event]:
    grown = _grown(analysis)
    if not grown:
        return []
    return [Event(max(min(grown.values()) - begin_ms - 1_000, 0), "grow", partitions=len(places))]


# Members


def _events(
    analysis: GroupAnalysis, settings: Settings, begin_ms: int, sources: list[Sourced]
) -> tuple[dict[str, int], list[Event]]:
    joins, leaves = _logged_times(analysis)
    names = _names(analysis.sessions)
    starts: dict[str, int] = {}
    events: list[Event] = []
    origins = {"start": 0, "stop": 0, "crash": 0, "pause": 0, "exact": 0}
    by_end: dict[str, list[Session]] = {}
    for session in analysis.sessions:
        by_end.setdefault(names[id(session)], []).append(session)
    early_ms = begin_ms + 12_000
    for name, sessions in by_end.items():
        sessions.sort(key=lambda session: session.first_ms)
        ids = {session.member.member_id for session in sessions}
        is_up = False
        for number, session in enumerate(sessions):
            member_id = session.member.member_id
            joined_ms = joins.get(member_id, session.first_ms)
            origins["exact"] += member_id in joins
            if not is_up:
                if joined_ms <= early_ms and name not in starts:
                    starts[name] = max(joined_ms - begin_ms - 100, 0) if member_id in joins else 10 * len(starts)
                else:
                    # Without a log, a member joined at some time in the heartbeat interval before the barrier.
                    unknown_ms = 0 if member_id in joins or settings.is_consumer else settings.heartbeat_ms
                    events.append(Event(max(joined_ms - begin_ms - 100, 0), "start", name, early_ms=unknown_ms))
                    origins["start"] += 1
            is_up = True
            following = sessions[number + 1] if number + 1 < len(sessions) else None
            match session.end_kind:
                case "left":
                    last_commit_ms = _last_commit(analysis, {member_id}, session.last_ms) or session.last_ms
                    at_ms = leaves.get(member_id, last_commit_ms + 1)
                    events.append(Event(at_ms - begin_ms, "stop", name, is_exact=True))
                    origins["stop"] += 1
                    is_up = False
                case "session_expired":
                    expired_ms = session.last_ms - settings.session_ms - settings.heartbeat_ms // 2
                    at_ms = max(expired_ms, session.first_ms, (_last_commit(analysis, ids, session.last_ms) or 0) + 1)
                    events.append(Event(at_ms - begin_ms, "kill", name))
                    origins["crash"] += 1
                    is_up = False
                case "replaced":
                    at_ms = (
                        leaves.get(member_id) or _last_commit(analysis, ids, session.last_ms) or session.last_ms - 1_000
                    )
                    events.append(Event(min(at_ms, session.last_ms - 1) - begin_ms, "stop", name, is_exact=True))
                    origins["stop"] += 1
                    is_up = False
                case "poll_timeout" | "barrier":
                    at_ms = session.last_ms - settings.max_poll_ms
                    back_ms = joins.get(following.member.member_id, following.first_ms) if following else None
                    length_ms = (back_ms or session.last_ms) - at_ms
                    events.append(Event(at_ms - begin_ms, "slow", name, length_ms))
                    origins["pause"] += 1
                    is_up = following is not None
    pauses = _pauses(analysis, by_end, begin_ms)
    events += pauses
    origins["pause"] += len(pauses)
    logged: Origin = "observed" if leaves or joins else "inferred"
    sources += [
        Sourced(
            "starts of processes",
            str(origins["start"] + len(starts)),
            logged,
            "first request of each member, less 100 ms",
        ),
        Sourced("closed consumers", str(origins["stop"]), logged, "LeaveGroup, or a static member's last commit"),
        Sourced("crashes", str(origins["crash"]), "inferred", "session expiry less the session timeout"),
        Sourced("pauses", str(origins["pause"]), "inferred", "silence of a member while others waited for it"),
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
        for number, (silent_ms, resumed_ms) in enumerate(itertools.pairwise(times)):
            if resumed_ms - silent_ms >= max(SLOW_MS, 3 * usual) and offsets[number + 1] - offsets[number] > 1:
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


def _logged_times(analysis: GroupAnalysis) -> tuple[dict[str, int], dict[str, int]]:
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


# Long histories


def compress(script: Script) -> Script:
    """Leave out most of the quiet time between disturbances, in which nothing happens that a setting changes."""
    busy: list[tuple[int, int]] = []
    for event in sorted(script.events):
        end_ms = event.at_ms + event.ms + SETTLING_MS.get(event.action, USUAL_SETTLING_MS)
        if busy and event.at_ms <= busy[-1][1]:
            busy[-1] = busy[-1][0], max(busy[-1][1], end_ms)
        else:
            busy.append((event.at_ms, end_ms))
    cuts: list[tuple[int, int]] = []
    last_ms = USUAL_SETTLING_MS
    for begin, end in [*busy, (script.end_ms, script.end_ms)]:
        if begin - last_ms > 2 * LEAD_MS:
            cuts.append((last_ms, begin - LEAD_MS))
        last_ms = max(last_ms, end)
    if not cuts:
        return script
    begins = [begin for begin, _ in cuts]
    removed = [0]
    for begin, end in cuts:
        removed.append(removed[-1] + end - begin)

    def moved(at_ms: int) -> int | None:
        """Return the time in the shorter script, or None inside of a cut."""
        number = bisect_left(begins, at_ms)
        if number and at_ms < cuts[number - 1][1]:
            return None
        return at_ms - removed[number]

    arrivals = {
        partition: array("q", [new for ms in times if (new := moved(ms)) is not None])
        for partition, times in script.arrivals.items()
    }
    events = [event._replace(at_ms=new) for event in script.events if (new := moved(event.at_ms)) is not None]
    return replace(
        script,
        arrivals=arrivals,
        events=events,
        end_ms=script.end_ms - removed[-1],
        first_ms=None if script.first_ms is None else moved(script.first_ms),
        compressed_ms=removed[-1],
    )
