"""Write predictions for the pairs of a folder of recordings, laid out as described in its README.

    python -m tests.what_if_pairs FOLDER > prediction.json

Of the history's side it uses the segments, the coordinator's log, the samples of log ends, the settings and the
schedule; of the predicted side the settings only. How well the plays reproduce each history is printed to stderr.
"""

from __future__ import annotations

import gzip
import json
import sys
import tarfile
import tempfile
from array import array
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.whatif.arrivals import arrivals_of
from kohort.whatif.group_history import observed_figures, read_history
from kohort.whatif.played_settings import Settings, assignor_name
from kohort.whatif.predict import Calibration, Prediction, predict
from kohort.whatif.script import Event, Script

JAVA_ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")
SLOW_ASSIGNOR_MS = 6_000
LATEST_START_MS = 2_000


def settings_of(group: dict[str, Any]) -> Settings:
    """Return the settings of a group of settings.json."""
    settings = _settings(group, group["client"])
    later = group.get("client_after_the_restart")
    return replace(settings, restarted_with=_settings(group, later)) if later else settings


def _settings(group: dict[str, Any], client: dict[str, Any]) -> Settings:
    at_broker = group["group_settings_at_the_broker"]
    is_consumer = client["group.protocol"] == "consumer"
    assignor = assignor_name(client.get("partition.assignment.strategy", "range"))
    is_custom = assignor not in JAVA_ASSIGNORS
    prefix, source = ("consumer.", at_broker) if is_consumer else ("", client)
    return Settings(
        library=group["library"],
        protocol=client["group.protocol"],
        assignor="range" if is_custom else assignor,
        session_ms=source.get(f"{prefix}session.timeout.ms", 45_000),
        heartbeat_ms=source.get(f"{prefix}heartbeat.interval.ms", 5_000 if is_consumer else 3_000),
        max_poll_ms=client.get("max.poll.interval.ms", 300_000),
        max_poll_records=client.get("max.poll.records", 500),
        metadata_ms=client.get("metadata.max.age.ms", 300_000),
        static=group["static_members"],
        auto_commit_ms=5_000 if group["commit"] == "auto" else None,
        initial_delay_ms=0 if group["broker"] == 2 else 3_000,
        assignor_ms=SLOW_ASSIGNOR_MS if is_custom else 0,
    )


def begin_of(topic: str, broker: Path) -> int:
    """Return the time of the first sample of a story's topic, which is its beginning."""
    with gzip.open(broker / "log-ends.jsonl.gz", "rt") as lines:
        return next(int(row["sampled_ms"]) for row in map(json.loads, lines) if row["topic"] == topic)


def script_of(story: dict[str, Any], run: str, group: dict[str, Any], analysis: GroupAnalysis, begin_ms: int) -> Script:
    """Return the schedule of a story, with the arrivals of records and the starts of processes from a history."""
    schedule = story["runs"][run]
    topic, count = group["topic"], story["partitions"]
    end_ms = round(schedule["ends at s"] * 1000)
    work_ms = story["work per batch ms"]
    arrivals, sources = arrivals_of(
        analysis.group, topic, begin_ms, begin_ms + end_ms, work_ms, commits_each_batch=group["commit"] == "sync"
    )
    hosts = {host: member for member, host in story["member in a process of its own"].items()}
    events: list[Event] = []
    burst_ms: int | None = None
    for seconds, action, *arguments in schedule["actions (s, what, ...)"]:
        at_ms = round(seconds * 1000)
        match action:
            case "start" | "stop":
                events.append(Event(at_ms, action, f"m{arguments[0]}"))
            case "kill":
                events.append(Event(at_ms, "kill", hosts[arguments[0]]))
            case "freeze":
                events.append(Event(at_ms, "pause", hosts[arguments[0]], round(arguments[1] * 1000)))
            case "slow":
                events.append(Event(at_ms, "slow", f"m{arguments[0]}", arguments[1]))
            case "poison":
                events.append(Event(at_ms, "poison", ms=arguments[1], partition=arguments[0]))
            case "cure":
                events.append(Event(at_ms, "cure"))
            case "addparts":
                events.append(Event(at_ms, "grow", partitions=arguments[0]))
            case "burst":
                burst_ms = at_ms
                events.append(Event(at_ms, "none"))
    starts = {f"m{number + 1}": 0 for number in range(story["members at the start"])}
    joins = [
        (event.ts - begin_ms, event.client_id)
        for event in analysis.group.events
        if event.kind in ("member_id_issued", "member_added") and event.client_id
    ]
    joins += [
        (session.first_ms - begin_ms, session.member.identity)
        for session in analysis.sessions
        if session.member.speaks == "consumer"
    ]
    startups: dict[tuple[str, int], int] = {}
    for name, at_ms in [*starts.items(), *((e.member, e.at_ms) for e in events if e.action == "start")]:
        waits = [ms - at_ms for ms, client in joins if client == name and 0 <= ms - at_ms < LATEST_START_MS]
        if waits:
            startups[name, at_ms] = min(waits)
    return Script(
        topic=topic,
        partitions=count,
        arrivals=arrivals,
        end_ms=end_ms,
        events=events,
        starts=starts,
        startups=startups,
        work_ms=work_ms,
        work_per_record_ms=story["work per record ms"],
        burst_ms=burst_ms,
        sources=sources,
        first_ms=events[0].at_ms,
        origin_ms=begin_ms,
    )


def _histories(folder: Path, run: str, names: set[str]) -> dict[str, GroupAnalysis]:
    """Return the analyses of some groups of a run."""
    analyses: dict[str, GroupAnalysis] = {}
    for broker in sorted((folder / run).glob("broker-*")):
        with tempfile.TemporaryDirectory() as place:
            with tarfile.open(broker / "segments.tar.xz") as archive:
                archive.extractall(place, filter="data")
            logs = [str(broker / name) for name in ("coordinator.log.gz", "log-ends.jsonl.gz")]
            settings = json.loads((folder / run / "settings.json").read_text())
            local_names = {name for name in names if f"broker-{settings[name]['broker']}" == broker.name}
            if local_names:
                analyses |= read_history([place, *logs], local_names)
    return analyses


def _predict(work: tuple[Script, Settings]) -> Prediction:
    return predict(*work)


def main(folder: Path) -> dict[str, Any]:
    pairs = json.loads((folder / "pairs.json").read_text())
    stories = json.loads((folder / "stories.json").read_text())
    settings = {run: json.loads((folder / run / "settings.json").read_text()) for p in pairs for run in p["runs"]}
    names = {
        run: {stories[pair["history"][0]]["groups"][pair["history"][1]] for pair in pairs if run in pair["runs"]}
        for run in settings
    }
    works: list[tuple[Script, Settings]] = []
    places: dict[str, list[int]] = {}
    calibrations: dict[tuple[str, str, str], tuple[int, dict[str, float]]] = {}
    for run, groups in names.items():
        analyses = _histories(folder, run, groups)
        for pair in pairs:
            if run not in pair["runs"]:
                continue
            (story, history), (other, setting) = pair["history"], pair["predict"]
            group = stories[story]["groups"][history]
            described = settings[run][group]
            begin_ms = begin_of(described["topic"], folder / run / f"broker-{described['broker']}")
            script = script_of(stories[story], run, described, analyses[group], begin_ms)
            if (run, story, history) not in calibrations:
                observed = observed_figures(analyses[group], script, settings_of(settings[run][group]))
                calibrations[run, story, history] = len(works), observed
                works.append((script, settings_of(settings[run][group])))
            if other != story:  # another schedule for the same group: that story's, with this one's phases
                predicted = {**stories[other], "partitions": stories[story]["partitions"]}
                script = _rescheduled(script, predicted, run)
            places.setdefault(pair["pair"], []).append(len(works))
            works.append((script, settings_of(settings[run][stories[other]["groups"][setting]])))
    with ProcessPoolExecutor() as pool:
        predictions = list(pool.map(_predict, works, chunksize=2))
    for (run, story, history), (number, observed) in sorted(calibrations.items()):
        played = predictions[number]
        calibration = Calibration(observed, played.by_commits, played.commit_ranges)
        print(
            f"{run} {story}: {history}: rebalances {observed['rebalances']:g}"
            f" played {played.by_commits['rebalances']:g},"
            f" partition-seconds by commits {observed['stalled_partition_seconds']:.1f} played"
            f" {played.by_commits['stalled_partition_seconds']:.1f}: {'good' if calibration.is_good else 'NOT GOOD'}",
            file=sys.stderr,
        )
    result: dict[str, Any] = {}
    for pair in pairs:
        several = [predictions[number] for number in places[pair["pair"]]]
        metrics = pair["metrics"]
        result[pair["pair"]] = {name: round(mean(p.figures[name] for p in several), 1) for name in metrics} | {
            "ranges": {
                name: [min(p.ranges[name][0] for p in several), max(p.ranges[name][1] for p in several)]
                for name in metrics
            }
        }
    return result


def _rescheduled(script: Script, story: dict[str, Any], run: str) -> Script:
    """Return the script with the schedule of another story of as many members."""
    schedule = story["runs"][run]
    end_ms = round(schedule["ends at s"] * 1000)
    events = [
        Event(round(seconds * 1000), action, f"m{arguments[0]}")
        for seconds, action, *arguments in schedule["actions (s, what, ...)"]
    ]
    arrivals = {p: array("q", [ms for ms in times if ms < end_ms]) for p, times in script.arrivals.items()}
    first = {place: ms for place, ms in script.startups.items() if place[1] == 0}
    return replace(script, arrivals=arrivals, end_ms=end_ms, events=events, startups=first, first_ms=events[0].at_ms)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    json.dump(main(Path(sys.argv[1])), sys.stdout, indent=1)
    print()
