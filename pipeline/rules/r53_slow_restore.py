"""R53: tasks of a streams group stand for long after they were given to a process that had no copy of their state.

Nobody tells the coordinator how far a task is restored. What else may stand like this is excluded as far as commits and
samples of log ends allow: nothing to read, a stateless task, a small changelog, a group that stands as a whole. Without
samples nobody knows whether records waited: then it is no more than a hint.

Source: Kafka's guide to the streams rebalance protocol (copies are a setting of the group; what applications set of them,
of warm-ups and of `acceptable.recovery.lag`, is ignored, and there are no warm-ups); `ProcessorStateManager` (what
exactly-once wipes); KIP-869 (metrics of restores).
"""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.streams_history import StreamsHistory
from kohort.pipeline.history.streams_restores import Restore, restores
from kohort.pipeline.rules.evidence import Evidence
from kohort.pipeline.rules.finding import (
    CERTAIN,
    INFO,
    LIKELY,
    POSSIBLE,
    WARNING,
    Finding,
    listed,
    seconds,
    several,
    weakest,
)

ID = "R53"
LONG_MS = 60_000
MANY = 1000
"""A changelog with fewer records is restored at once."""


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    if (streams := analysis.streams) is None:
        return
    stood = restores(analysis.group, streams, LONG_MS)
    found = [each for each in stood if each.end_ms >= streams.since_ms and _may_be_restoring(each)]
    sampled = [each for each in found if each.lag is not None]
    if found:  # what no sample shows is no news beside what samples do
        yield _finding(streams, sampled or found)


def _may_be_restoring(each: Restore) -> bool:
    """A group that stands as a whole has another reason. Without samples others must have gone on, and somebody must have
    had the task before: a new one has no state."""
    if each.others_went_on is False or (each.lag is None and not each.others_went_on):
        return False
    return not each.stay.is_first if each.changelog is None else each.changelog >= MANY


def _finding(streams: StreamsHistory, found: list[Restore]) -> Finding:
    tasks = list(dict.fromkeys(f"{each.stay.task[0]}_{each.stay.task[1]}" for each in found))
    names = sorted({each.stay.member.name for each in found})
    longest = max(found, key=lambda each: each.stood_ms)
    held = [each.changelog for each in found if each.changelog is not None]
    lags = [each.lag for each in found if each.lag is not None]
    still = [each for each in found if not each.ended and each.stay.end_ms is None]
    return Finding(
        ID,
        "Tasks stand for long after they moved",
        WARNING if lags else INFO,
        CERTAIN if lags else POSSIBLE,
        f"{several(len(tasks), 'task')} ({listed(tasks)}) stood after {listed(names)} was given "
        f"{'it' if len(tasks) == 1 else 'them'}, the longest for {seconds(longest.stood_ms)}{_meanwhile(lags)}"
        + ("; others went on" if any(each.others_went_on for each in found) else "")
        + _state(found)
        + (f"; a changelog holds up to {several(max(held), 'record')}" if held else "")
        + (f"; {several(len(still), 'task')} still {'stands' if len(still) == 1 else 'stand'}" if still else ""),
        _advice(streams, names),
        min(each.stay.start_ms for each in found),
        max(each.end_ms for each in found),
        names,
        _evidence(streams, found, tasks, lags, held) | {"open": bool(still)},
        cause_confidence=weakest(_cause(each) for each in found),
    )


def _evidence(
    streams: StreamsHistory, found: list[Restore], tasks: list[str], lags: list[int], held: list[int]
) -> Evidence:
    """records: that waited at most; it is missing where nobody knows."""
    evidence: Evidence = {
        "tasks": tasks,
        "longest_ms": max(each.stood_ms for each in found),
        "stood_ms": sum(each.stood_ms for each in found),
        "changelog_records": max(held, default=None),
        "standbys": streams.standbys,
    }
    if lags:
        evidence["records"] = max(lags)
    return evidence


def _meanwhile(lags: list[int]) -> str:
    if lags:
        return f", while records waited ({max(lags)} at most)"
    return ": nothing was committed of what they read, and whether records waited no sample of log ends tells"


def _state(found: list[Restore]) -> str:
    """Whether their state had to be restored."""
    if all(each.stay.is_cold for each in found):
        return "; their state had to be restored first, as the process had no copy of it"
    return "; whether the process still had a copy of their state is not known"


def _cause(each: Restore) -> str:
    is_likely = each.ended and each.changelog is not None and each.others_went_on and each.stay.is_cold
    return LIKELY if is_likely else POSSIBLE


def _advice(streams: StreamsHistory, names: list[str]) -> str:
    return (
        f"Whether it is restoring say the logs of {listed(names)} and its restore metrics (restore-remaining-records-total), "
        f"or a StateRestoreListener. If it is: {_copies(streams)}Keep state.dir on a disk that "
        "outlives the process, so that it restores only what it has missed; stores in memory are restored whole each time, and "
        "with exactly_once_v2 so is what a process leaves that is killed."
    )


def _copies(streams: StreamsHistory) -> str:
    """How another process is to have a copy."""
    if streams.standbys:
        number = several(streams.standbys, "standby copy", "standby copies")
        return f"the group is to have {number} of each task, and yet the process had none: look whether others were there. "
    alone = len({each.process_id for each in streams.threads if each.end_ms is None}) <= 1
    return (
        "let another process keep a copy: streams.num.standby.replicas=1 of the group (kafka-configs --alter --group; "
        "group.streams.num.standby.replicas for all groups; what the application sets as num.standby.replicas is ignored, "
        f"and there are no warm-ups). {'That needs another process. ' if alone else ''}"
    )
