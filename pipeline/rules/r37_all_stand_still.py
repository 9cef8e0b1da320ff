"""R37: a whole group makes no progress while records wait, and no rebalance explains it.

Samples of log ends prove that records waited, but not why. A hanging transaction blocks every read_committed consumer,
and shows in the last stable offset if samples have it. Members that commit the same position again are still polling.
Otherwise members that wait for a resource look like members that receive nothing. The offsets topic contains no rebalance of
a classic group before it completes: an open one is named if a broker log or event log shows it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kohort.pipeline.history.conversions import CLASSIC
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import TopicPartition
from kohort.pipeline.history.rebalance import Rebalance
from kohort.pipeline.history.stalls import ASKED_WITHIN_MS, Stall
from kohort.pipeline.history.streams_processes import threads_that_stayed
from kohort.pipeline.rules.finding import (
    CERTAIN,
    CRITICAL,
    INFO,
    LIKELY,
    POSSIBLE,
    WARNING,
    Finding,
    moment,
    seconds,
    several,
)
from kohort.pipeline.rules.waits import began_long_before

ID = "R37"
SHORTEST_MS, LONG_MS = 30_000, 60_000
SHARE_IN_REBALANCES = 0.2  # with a larger part of the stop in rebalances, they are its cause
MOST_OF_IT, SHARE_THAT_WAITS = 0.7, 0.5
AT_LEAST_REPEATED = 2
AFTERWARDS_MS = 60_000
_BLAMES = ("R01", "R15", "R20", "R23", "R26", "R45")
_OPEN_TRANSACTION = (
    "Abort the open transaction: find it with kafka-transactions.sh find-hanging, end it with abort. Then check why its "
    "producer neither commits nor aborts; transaction.timeout.ms limits how long it can block consumers"
)
_NOT_GIVEN = (
    "Check for an open transaction (kafka-transactions.sh find-hanging) if they read with isolation.level=read_committed, "
    "otherwise for paused partitions: the members still poll, but complete nothing."
)
_ANYTHING = (
    "Take a thread dump of a member. If it waits for a database or service, that resource is unavailable. "
    "If it waits in poll, check for an open transaction (kafka-transactions.sh find-hanging) if they read with "
    "isolation.level=read_committed."
)


_WAITED_FOR = "Find the members for which the rebalance waits (kohort watch names them). "
_MAY_REBALANCE = (
    "Check first whether a rebalance is open (kafka-consumer-groups.sh --describe --state, or kohort watch). "
)
_RESOURCE = "Take a thread dump of a member to find the resource that all members wait for (a database, a service)."
_STOPPED = (
    "Check whether the group was stopped on purpose. If not, take a thread dump of a member: it waits for something, or for "
    "records that it does not receive."
)


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    for stall in analysis.stalls:
        if stall.kind != "group_silent" or stall.length_ms < SHORTEST_MS:
            continue
        inside = _rebalances_in(analysis, stall)
        later = _rebalance_after(analysis, stall, inside)
        busy_ms = sum(min(r.stable_ms, stall.end_ms) - max(r.begin_ms, stall.start_ms) for r in inside)
        if later is None and busy_ms > SHARE_IN_REBALANCES * stall.length_ms:
            continue
        if members := _members(analysis, stall):
            yield _finding(analysis, stall, members, inside, later, _open_rebalance(analysis, stall))


def _rebalances_in(analysis: GroupAnalysis, stall: Stall) -> list[Rebalance]:
    return [
        r
        for r in analysis.rebalances
        if r.outcome != "open" and r.begin_ms < stall.end_ms and stall.start_ms < r.stable_ms
    ]


def _open_rebalance(analysis: GroupAnalysis, stall: Stall) -> Rebalance | None:
    """Return the rebalance that has not completed. For a classic group, only broker logs and event logs show it."""
    return next((r for r in reversed(analysis.rebalances) if r.outcome == "open"), None) if stall.open else None


def _rebalance_after(analysis: GroupAnalysis, stall: Stall, inside: list[Rebalance]) -> Rebalance | None:
    """Return the first rebalance in a stop if all members stood still well before it, so that it is not the cause.

    Its start must be known.
    """
    first = min(inside, key=lambda r: r.begin_ms, default=None)
    if first is None or (first.start_ms is None and not first.is_epoch):
        return None
    usual_ms = analysis.commits.usual_step_ms() or 0
    return first if began_long_before(first.begin_ms - stall.start_ms, usual_ms) else None


def _members(analysis: GroupAnalysis, stall: Stall) -> int:
    """Return the number of members that could have consumed."""
    if analysis.streams is not None:
        return threads_that_stayed(analysis.streams, stall.start_ms + 1, stall.end_ms)
    generation = analysis.ownership.generation_at(stall.start_ms + 1)
    return generation.size if generation is not None and generation.owners else 0


def _finding(
    analysis: GroupAnalysis,
    stall: Stall,
    members: int,
    inside: list[Rebalance],
    later: Rebalance | None,
    unfinished: Rebalance | None,
) -> Finding:
    sampled, once = stall.waited_ms is not None, stall.waited_ms is None and bool(stall.lag)
    text = (
        f"no partition of the group made progress for {seconds(stall.length_ms)}, from {moment(stall.start_ms)} UTC on"
    )
    text += f"{', and this continues' if stall.open else ''}; {several(members, 'member')} stayed in the group and "
    about_rebalances, first_advice = _about_rebalances(analysis, stall, later, unfinished)
    text += about_rebalances + _waiting_records(stall)
    may_be_stopped = _may_be_stopped(analysis, stall)
    cause, sure, advice = _cause(analysis, stall, may_be_stopped=may_be_stopped)
    if cause:
        text += f"; {cause}"
    return Finding(
        ID,
        "The whole group makes no progress",
        INFO if may_be_stopped else _severity(analysis, stall),
        CERTAIN if sampled else (LIKELY if once and _worth(analysis, stall) else POSSIBLE),
        text,
        first_advice + advice,
        stall.start_ms,
        stall.end_ms,
        [],
        {
            "stood_ms": stall.length_ms,
            "lag": stall.lag,
            "waited_longest_ms": stall.waited_ms,
            "open": stall.open,
            "members": members,
            "rebalances": [r.number for r in (*inside, *([unfinished] if unfinished is not None else ()))],
        },
        cause_confidence=sure,
    )


def _about_rebalances(
    analysis: GroupAnalysis, stall: Stall, later: Rebalance | None, unfinished: Rebalance | None
) -> tuple[str, str]:
    """Return the relation of rebalances to a stop, and the advice that precedes any other."""
    if unfinished is not None:
        return f"a rebalance that began at {moment(unfinished.begin_ms)} UTC has not completed", _WAITED_FOR
    if later is not None:
        return _then_rebalanced(stall, later), ""
    if stall.open and analysis.group_type == CLASSIC:
        text = "no completed rebalance explains it; the offsets topic does not show one that is still open"
        return text, _MAY_REBALANCE
    return "no rebalance explains it", ""


def _cause(analysis: GroupAnalysis, stall: Stall, *, may_be_stopped: bool) -> tuple[str, str, str]:
    """Return the cause, or "" if none is known, with its confidence and the advice."""
    if may_be_stopped:
        return (
            "its members are static, which don't leave when they stop: the group may have been stopped",
            POSSIBLE,
            _STOPPED,
        )
    transaction = _held_by_transaction(analysis, stall) if stall.waited_ms is not None or stall.lag else None
    if transaction is not None:
        topic, part, offset = transaction
        cause = "an open transaction blocks them: the last stable offset stayed at their position, while the log grew"
        return cause, LIKELY, f"{_OPEN_TRANSACTION}. It starts in partition {part} of {topic} at offset {offset}."
    if _commits_without_progress(analysis, stall) >= AT_LEAST_REPEATED:
        return "the members kept polling, since they committed the same positions again", POSSIBLE, _NOT_GIVEN
    if stall.waited_ms is not None and _excludes_transactions(analysis, stall):
        return "no transaction was open, so the members waited for a resource at the same time", LIKELY, _RESOURCE
    return "", POSSIBLE, _ANYTHING


def _waiting_records(stall: Stall) -> str:
    if stall.waited_ms is not None:
        return f"; up to {several(stall.lag or 0, 'record')} waited, one of them for {seconds(stall.waited_ms)}"
    if stall.lag:
        return f"; at its end, when log end offsets were sampled, {several(stall.lag, 'record')} waited"
    return "; it is unknown whether records waited, without samples of log end offsets"


def _then_rebalanced(stall: Stall, r: Rebalance) -> str:
    """Describe the rebalance that began during a stop, and that waited for the members as the rest of the group did."""
    waited = "" if r.is_epoch else f", which waited {seconds(r.prepare_ms)} for them"
    return (
        f"stood still for {seconds(r.begin_ms - stall.start_ms)} before a rebalance began{waited}: it is one stop, and no "
        "single member caused it"
    )


def explain(stop: Finding, other_findings: list[Finding]) -> None:
    """Downgrade findings that blame members for a rebalance in a stop that had begun before it."""
    if stop.severity == INFO or not stop.evidence["rebalances"]:
        return
    for other in other_findings:
        inside = stop.start_ms <= other.start_ms and other.end_ms <= stop.end_ms + AFTERWARDS_MS
        if other.rule in _BLAMES and other.severity != INFO and inside:
            other.is_explained_by(stop)


def _may_be_stopped(analysis: GroupAnalysis, stall: Stall) -> bool:
    """Return whether a stop is open, shorter than the sessions, and all members are static (KIP-345)."""
    generation = analysis.ownership.generation_at(stall.start_ms + 1)
    if not stall.open or generation is None or not generation.members:
        return False
    members = generation.members.values()
    shortest_ms = min(member.session_timeout_ms or 0 for member in members)
    return stall.length_ms < shortest_ms and all(member.instance_id for member in members)


def _severity(analysis: GroupAnalysis, stall: Stall) -> str:
    if stall.waited_ms is None and not _worth(analysis, stall):
        return INFO
    return CRITICAL if stall.length_ms >= LONG_MS or stall.open else WARNING


def _worth(analysis: GroupAnalysis, stall: Stall) -> bool:
    """Return whether the lag at the single sample is what arrives in half of the stop."""
    rate = sum(analysis.commits.throughput(place, stall.start_ms) for place in analysis.commits.partitions)
    return (stall.lag or 0) > SHARE_THAT_WAITS * rate * stall.length_ms / 1000 > 0


def _blocked_share(analysis: GroupAnalysis, stall: Stall) -> dict[TopicPartition, float]:
    """Return by partition with lag the fraction of samples without stable records beyond the group's position.

    Partitions without samples of the last stable offset are left out.
    """
    fractions = {}
    for place, ends in analysis.group.ends.items():
        committed = _committed(analysis, place, stall.start_ms)
        until_ms = stall.end_ms + (ASKED_WITHIN_MS if stall.waited_ms is None else 0)
        inside = slice(*np.searchsorted(ends.sampled_ms, (stall.start_ms, until_ms)).tolist())
        waiting = (ends.log_end[inside] > committed) & (ends.last_stable[inside] >= 0)
        if waiting.any():
            fractions[place] = float((ends.last_stable[inside][waiting] <= committed).mean())
    return fractions


def _committed(analysis: GroupAnalysis, place: TopicPartition, ms: int) -> int:
    partition = analysis.commits.partitions.get(place)
    if partition is None:
        return 1 << 62
    index = int(np.searchsorted(partition.commits.ts_ms, ms, "right")) - 1
    return int(partition.commits.committed[max(0, index)])


def _held_by_transaction(analysis: GroupAnalysis, stall: Stall) -> tuple[str, int, int] | None:
    """Return the start of the transaction, if nearly always no partition had stable records beyond the position.

    One or two records before the transaction may be stable.
    """
    shares = _blocked_share(analysis, stall)
    if not shares or min(shares.values()) < MOST_OF_IT:
        return None
    topic, part = min(shares)
    return topic, part, _committed(analysis, (topic, part), stall.start_ms)


def _excludes_transactions(analysis: GroupAnalysis, stall: Stall) -> bool:
    """Return whether every partition with lag had stable records beyond the group's position."""
    shares = _blocked_share(analysis, stall)
    return bool(shares) and max(shares.values()) <= 1 - MOST_OF_IT


def _commits_without_progress(analysis: GroupAnalysis, stall: Stall) -> int:
    """Return the maximum number of repeated commits of the same position in a partition."""
    counts = [0]
    for partition in analysis.commits.partitions.values():
        low, high = np.searchsorted(partition.sorted_ms, (stall.start_ms, stall.end_ms), ("right"))
        counts.append(int(high - low) - (0 if stall.open else 1))
    return max(counts)
