"""R53: tasks of a streams group make no progress long after their assignment to a process without their state.

The coordinator doesn't know how far a task is restored. Other reasons are excluded as far as commits and samples of log
ends allow: nothing to read, a stateless task, a small changelog, a group that makes no progress as a whole. Without
samples it is unknown whether records waited, so the finding is only a hint.

Source: Kafka's guide to the streams rebalance protocol (standby replicas are a setting of the group; the application's
own value, warm-ups and `acceptable.recovery.lag` are ignored); `ProcessorStateManager` (what exactly-once wipes);
KIP-869 (metrics of restores).
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
MANY = 1000  # a changelog with fewer records is restored at once


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    if (streams := analysis.streams) is None:
        return
    stood = restores(analysis.group, streams, LONG_MS)
    plausible = [restore for restore in stood if restore.end_ms >= streams.since_ms and _may_be_restoring(restore)]
    sampled = [restore for restore in plausible if restore.lag is not None]
    if plausible:  # restores proven by samples take precedence over those without
        yield _finding(streams, sampled or plausible)


def _may_be_restoring(restore: Restore) -> bool:
    """Return whether a restore is plausible.

    A group that makes no progress as a whole has another reason. Without samples the other tasks must have progressed,
    and the task must have had an owner before, because a new one has no state.
    """
    if restore.others_went_on is False or (restore.lag is None and not restore.others_went_on):
        return False
    return not restore.stay.is_first if restore.changelog is None else restore.changelog >= MANY


def _finding(streams: StreamsHistory, restores: list[Restore]) -> Finding:
    tasks = list(dict.fromkeys(f"{restore.stay.task[0]}_{restore.stay.task[1]}" for restore in restores))
    names = sorted({restore.stay.member.name for restore in restores})
    longest = max(restores, key=lambda restore: restore.stood_ms)
    held = [restore.changelog for restore in restores if restore.changelog is not None]
    lags = [restore.lag for restore in restores if restore.lag is not None]
    still = [restore for restore in restores if not restore.ended and restore.stay.end_ms is None]
    return Finding(
        ID,
        "Tasks make no progress long after they moved",
        WARNING if lags else INFO,
        CERTAIN if lags else POSSIBLE,
        f"{several(len(tasks), 'task')} ({listed(tasks)}) made no progress after {listed(names)} was assigned "
        f"{'it' if len(tasks) == 1 else 'them'}, the longest for {seconds(longest.stood_ms)}{_describe_lags(lags)}"
        + ("; others progressed" if any(restore.others_went_on for restore in restores) else "")
        + _state(restores)
        + (f"; a changelog holds up to {several(max(held), 'record')}" if held else "")
        + (f"; {several(len(still), 'task')} still {'makes' if len(still) == 1 else 'make'} none" if still else ""),
        _advice(streams, names),
        min(restore.stay.start_ms for restore in restores),
        max(restore.end_ms for restore in restores),
        names,
        _evidence(streams, restores, tasks, lags, held) | {"open": bool(still)},
        cause_confidence=weakest(_cause(restore) for restore in restores),
    )


def _evidence(
    streams: StreamsHistory, restores: list[Restore], tasks: list[str], lags: list[int], held: list[int]
) -> Evidence:
    """Return the figures; `records` is the maximum lag, and missing if it is unknown."""
    evidence: Evidence = {
        "tasks": tasks,
        "longest_ms": max(restore.stood_ms for restore in restores),
        "stood_ms": sum(restore.stood_ms for restore in restores),
        "changelog_records": max(held, default=None),
        "standbys": streams.standbys,
    }
    if lags:
        evidence["records"] = max(lags)
    return evidence


def _describe_lags(lags: list[int]) -> str:
    if lags:
        return f", while records waited ({max(lags)} at most)"
    return ": nothing was committed for their input, and no sample of log end offsets shows whether records waited"


def _state(restores: list[Restore]) -> str:
    """Describe whether the state had to be restored."""
    if all(restore.stay.is_cold for restore in restores):
        return "; their state had to be restored first, because the process had no copy of it"
    return "; it is unknown whether the process still had a copy of their state"


def _cause(restore: Restore) -> str:
    is_likely = restore.ended and restore.changelog is not None and restore.others_went_on and restore.stay.is_cold
    return LIKELY if is_likely else POSSIBLE


def _advice(streams: StreamsHistory, names: list[str]) -> str:
    return (
        f"Check whether it is restoring in the logs of {listed(names)} and its restore metrics (restore-remaining-records-total), "
        f"or a StateRestoreListener. If it is: {_copies(streams)}Keep state.dir on a disk that "
        "outlives the process, so that it restores only what it has missed; in-memory stores are restored completely each time, "
        "and with exactly_once_v2 all stores of a killed process."
    )


def _copies(streams: StreamsHistory) -> str:
    """Describe how to keep a copy in another process."""
    if streams.standbys:
        number = several(streams.standbys, "standby copy", "standby copies")
        return f"the group is configured for {number} of each task, but the process had none: check whether there were other processes. "
    alone = len({thread.process_id for thread in streams.threads if thread.end_ms is None}) <= 1
    return (
        "keep a copy in another process: streams.num.standby.replicas=1 of the group (kafka-configs --alter --group; "
        "group.streams.num.standby.replicas for all groups; the application's own num.standby.replicas is ignored, "
        f"and warm-ups don't exist). {'That needs another process. ' if alone else ''}"
    )
