"""R53: tasks of a streams group stand for long after they were given to a process that had no copy of their state.

Nobody tells the coordinator how far a task is restored. What else may stand like this is excluded as far as commits and
samples of log ends allow: nothing to read, a stateless task, a small changelog, a group that stands as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.streams_history import StreamsHistory
from kohort.pipeline.history.streams_restores import Restore, restores
from kohort.pipeline.rules.finding import (
    CERTAIN,
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
    if found:
        yield _finding(streams, found)


def _may_be_restoring(each: Restore) -> bool:
    return each.others_went_on is not False and (each.changelog is None or each.changelog >= MANY)


def _finding(streams: StreamsHistory, found: list[Restore]) -> Finding:
    tasks = list(dict.fromkeys(f"{each.stay.task[0]}_{each.stay.task[1]}" for each in found))
    names = sorted({each.stay.member.name for each in found})
    longest = max(found, key=lambda each: each.stood_ms)
    held = [each.changelog for each in found if each.changelog is not None]
    lags = [each.lag for each in found if each.lag is not None]
    still = [each for each in found if not each.ended and each.stay.end_ms is None]
    return Finding(
        ID,
        "Tasks stand for long while their state is restored",
        WARNING,
        CERTAIN if lags else LIKELY,
        f"{several(len(tasks), 'task')} ({listed(tasks)}) stood after {listed(names)} was given "
        f"{'it' if len(tasks) == 1 else 'them'}, the longest for {seconds(longest.stood_ms)}"
        + (f", while records waited ({max(lags)} at most)" if lags else ", and what they read was not committed")
        + ("; others went on" if any(each.others_went_on for each in found) else "")
        + (f"; a changelog holds up to {several(max(held), 'record')}" if held else "")
        + (f"; {several(len(still), 'task')} still {'stands' if len(still) == 1 else 'stand'}" if still else ""),
        _advice(streams, names),
        min(each.stay.start_ms for each in found),
        max(each.end_ms for each in found),
        names,
        {
            "tasks": tasks,
            "longest_ms": longest.stood_ms,
            "stood_ms": sum(each.stood_ms for each in found),
            "records": max(lags, default=0),
            "changelog_records": max(held, default=None),
            "standbys": streams.standbys,
            "open": bool(still),
        },
        cause_confidence=weakest(_cause(each) for each in found),
    )


def _cause(each: Restore) -> str:
    return LIKELY if each.ended and each.changelog is not None and each.others_went_on else POSSIBLE


def _advice(streams: StreamsHistory, names: list[str]) -> str:
    copies = (
        f"The group has {several(streams.standbys, 'standby copy', 'standby copies')} of each task, and yet the process had none. "
        if streams.standbys
        else "Let another process keep a copy: streams.num.standby.replicas=1 of the group (kafka-configs --group; "
        "group.streams.num.standby.replicas for all groups). "
    )
    return (
        f"{copies}Keep state.dir on a disk that outlives the process, so that it restores only what it has missed, and let "
        "a short absence be none: streams.session.timeout.ms. Whether it is restoring say the logs of "
        f"{listed(names)} and its restore metrics (restore-remaining-records-total, KIP-869), or a StateRestoreListener."
    )
