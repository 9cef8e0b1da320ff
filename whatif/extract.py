"""The script of a group: what its history shows happened to it, apart from its settings.

Each element is observed, inferred by a rule, or unknown (`Script.sources`).
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import replace
from statistics import median

from kohort.pipeline.history.group_analysis import GroupAnalysis, once
from kohort.pipeline.history.inputs import TopicPartition
from kohort.pipeline.rules.readiness import DEFAULT_SESSION_MS, has_librdkafka_form
from kohort.whatif.arrivals import arrivals_of, base_offset
from kohort.whatif.clients.assignors import ASSIGNORS
from kohort.whatif.clients.client_libraries import LIBRARIES
from kohort.whatif.consumer_process import METADATA_DELAY_MS
from kohort.whatif.member_events import events_of, logged_times
from kohort.whatif.played_settings import Settings
from kohort.whatif.script import Event, Script, Sourced

# Time that is played after a disturbance, until the group is stable again under any settings; more is left out
SETTLING_MS = {"kill": 60_000, "pause": 60_000, "grow": 320_000, "restart": 20_000}
USUAL_SETTLING_MS = 15_000
LEAD_MS = 5_000  # time that is played before a disturbance
FIRST_JOIN_MS = 120  # from the start of the first member to its join
SHUTDOWN_MS = 5_000  # members that stop within this time of each other at the end were shut down together
METADATA_AGES_MS = (5_000, 10_000, 30_000, 60_000, 300_000)
_LIBRARY_RULES = {
    "aiokafka": "rebalance timeout equals session timeout",
    "librdkafka": "form of subscriptions and assignments",
    "java": "Java unless --given client.library names another",
}
DEFAULT_INITIAL_DELAY_MS = 3_000
NO_DELAY_MS = 500  # members of an empty group that have their generation so early did not wait
EVERY_BATCH = 4_000  # commits further apart than this are made at an interval


class UnplayableError(ValueError):
    """A history that does not contain what a script needs."""


@once
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
    starts, events = events_of(analysis, settings, begin_ms, sources)
    events += _growth(analysis, settings, partitions, begin_ms)
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
    _, leaves = logged_times(analysis)
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
    is_consumer = analysis.group_type == "consumer"
    observed_session_ms = _usual(member.session_timeout_ms for member in members)
    observed_rebalance_ms = _usual(member.rebalance_timeout_ms for member in members)
    session_ms = DEFAULT_SESSION_MS if observed_session_ms is None else observed_session_ms
    assignor = _assignor(analysis)
    is_custom = assignor not in ASSIGNORS
    initial_delay_ms = _initial_delay(analysis)
    settings = Settings(
        library=_library(analysis, session_ms, observed_rebalance_ms),
        protocol="consumer" if is_consumer else "classic",
        assignor=assignor if not is_custom else "range",
        session_ms=session_ms,
        heartbeat_ms=5_000 if is_consumer else min(3_000, session_ms // 3),
        max_poll_ms=300_000 if observed_rebalance_ms is None else observed_rebalance_ms,
        static=analysis.is_static(),
        metadata_ms=_metadata_age(analysis),
        auto_commit_ms=_commit_interval(analysis),
        initial_delay_ms=DEFAULT_INITIAL_DELAY_MS if initial_delay_ms is None else initial_delay_ms,
        assignor_ms=_leader_ms(analysis),
        assignor_user_data=is_custom,
    )
    sources += [
        Sourced("session timeout", f"{session_ms} ms", "unknown", "Kafka's default")
        if observed_session_ms is None
        else Sourced("session timeout", f"{session_ms} ms", "observed"),
        Sourced(
            "max.poll.interval.ms",
            f"{settings.max_poll_ms} ms",
            "unknown" if observed_rebalance_ms is None else "observed",
            "rebalance timeout of the members",
        ),
        *_sources_of_settings(settings, assignor),
    ]
    if initial_delay_ms is not None:
        rule = "time from the first join of an empty group to its generation"
        sources.append(Sourced("initial rebalance delay", f"{initial_delay_ms} ms", "inferred", rule))
    return settings


def _sources_of_settings(settings: Settings, assignor: str) -> list[Sourced]:
    """Return the origins of settings whose origin is the same for all groups."""
    interval_ms = settings.auto_commit_ms
    return [
        Sourced("heartbeat interval", f"{settings.heartbeat_ms} ms", "unknown", "the default; logs do not contain it"),
        Sourced("assignor", assignor, "observed"),
        Sourced("static members", "yes" if settings.static else "no", "observed"),
        Sourced("client library", settings.library, "inferred", _LIBRARY_RULES[settings.library]),
        Sourced(
            "commits",
            "after each batch" if interval_ms is None else f"every {interval_ms} ms",
            "inferred",
            "time between commits of a partition",
        ),
    ]


def _usual(timeouts_ms: Iterable[int | None]) -> int | None:
    """Return the median of the timeouts that members sent, or None if no member sent one."""
    sent_ms = [timeout_ms for timeout_ms in timeouts_ms if timeout_ms]
    return int(median(sent_ms)) if sent_ms else None


def _assignor(analysis: GroupAnalysis) -> str:
    """Return the assignor of the last generation, or of an earlier one if that has no members."""
    last = analysis.generations[-1] if analysis.generations[-1].members else analysis.generations[0]
    return last.protocol or next((g.protocol for g in reversed(analysis.generations) if g.protocol), "range")


def _library(analysis: GroupAnalysis, session_ms: int, rebalance_ms: int | None) -> str:
    if analysis.group_type == "consumer":
        return "java"
    if rebalance_ms == session_ms:
        return "aiokafka"
    return "librdkafka" if has_librdkafka_form(analysis.group.members) else "java"


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


def _initial_delay(analysis: GroupAnalysis) -> int | None:
    """Return group.initial.rebalance.delay.ms if an empty group had its generation earlier than by the default."""
    spans_ms = [
        rebalance.barrier_ms - rebalance.opening.start_ms
        for rebalance in analysis.rebalances
        if rebalance.opening is not None
        and not rebalance.is_epoch
        and rebalance.after.size
        and not rebalance.before.size
    ]
    shortest_ms = min(spans_ms, default=DEFAULT_INITIAL_DELAY_MS)
    if shortest_ms >= DEFAULT_INITIAL_DELAY_MS:
        return None
    return 0 if shortest_ms < NO_DELAY_MS else shortest_ms


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


def _growth(analysis: GroupAnalysis, settings: Settings, places: list[TopicPartition], begin_ms: int) -> list[Event]:
    grown = _grown(analysis)
    if not grown:
        return []
    # A sample shows new partitions late. An assignment that contains them shows that they existed when the rebalance
    # began: without a log, that is a heartbeat interval before its barrier at most.
    owned_ms = [
        r.seen_ms - (1 if settings.is_consumer or r.opening is not None else settings.heartbeat_ms + 1_000)
        for r in analysis.rebalances
        if not grown.keys().isdisjoint(r.after.owners)
    ]
    grown_ms = min(*(ms - 1_000 for ms in grown.values()), *owned_ms)
    return [Event(max(grown_ms - begin_ms, 0), "grow", partitions=len(places))]


# Long histories


def compress(script: Script, settings: Settings) -> Script:
    """Leave out most of the quiet time between disturbances, in which nothing happens that a setting changes.

    Each part that is left out is a multiple of the heartbeat interval, or of the age of metadata before partitions are
    added, so that the members are in the same phase afterwards.
    """
    delay_ms = sum(LIBRARIES[settings.library].heartbeat_delay_ms) // 2
    beat_ms, metadata_ms = settings.heartbeat_ms + delay_ms, settings.metadata_ms + sum(METADATA_DELAY_MS) // 2
    last_growth_ms = max((event.at_ms for event in script.events if event.action == "grow"), default=0)
    busy: list[tuple[int, int]] = []
    for event in sorted(script.events):
        end_ms = event.at_ms + event.ms + SETTLING_MS.get(event.action, USUAL_SETTLING_MS)
        if busy and event.at_ms <= busy[-1][1]:
            first_ms, last_end_ms = busy[-1]
            if event.waits:
                end_ms += last_end_ms - event.at_ms
            busy[-1] = first_ms, max(last_end_ms, end_ms)
        else:
            busy.append((event.at_ms, end_ms))
    cuts: list[tuple[int, int]] = []
    last_ms = USUAL_SETTLING_MS
    for begin, end in [*busy, (script.end_ms, script.end_ms)]:
        if begin - last_ms > 2 * LEAD_MS:
            period_ms = metadata_ms if last_ms < last_growth_ms else beat_ms
            quiet_ms = begin - LEAD_MS - last_ms
            cuts.append((last_ms, last_ms + quiet_ms - quiet_ms % period_ms))
        last_ms = max(last_ms, end)
    cuts = [(begin, end) for begin, end in cuts if begin < end]
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

    arrivals = {partition: _without(times, cuts) for partition, times in script.arrivals.items()}
    events = [event._replace(at_ms=new) for event in script.events if (new := moved(event.at_ms)) is not None]
    return replace(
        script,
        arrivals=arrivals,
        events=events,
        end_ms=script.end_ms - removed[-1],
        first_ms=None if script.first_ms is None else moved(script.first_ms),
        compressed_ms=removed[-1],
    )


def _without(times: array[int], cuts: list[tuple[int, int]]) -> array[int]:
    """Return ascending times as they are after some periods were cut out."""
    kept: array[int] = array("q")
    removed_ms = last_ms = 0
    for begin, end in [*cuts, (sys.maxsize, sys.maxsize)]:
        part = times[bisect_left(times, last_ms) : bisect_left(times, begin)]
        kept.extend(ms - removed_ms for ms in part)
        removed_ms += end - begin
        last_ms = end
    return kept
