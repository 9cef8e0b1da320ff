"""R01: one slow member stalled the whole group.

The join barrier waits for all members. A rebalance counts if its wait was long and caused by one member alone; a
member that had died by then is reported by R03 and R05.
"""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.rebalance import Rebalance
from kohort.pipeline.rules.finding import CERTAIN, CRITICAL, LIKELY, WARNING, Finding, seconds, times

ID = "R01"
LONG_MS, SHORTEST_MS = 5000, 1000
SHARE_OF_TIMEOUT = 0.5
_ALIVE = ("rejoined", "evicted", "leave_poll_timeout")
_ADVICE = (
    "Check what {client} does between two polls. Use a smaller max.poll.records, or move the work off the poll thread. "
    "Raise max.poll.interval.ms only if the processing needs it: one member can stop the group for that long "
    "(now {timeout}). {protocol}"
)
_NEEDS_COMMITS = (
    "Analyze the offsets topic, too: give a bootstrap address or a copy of its segment files. Commits show which member was busy. "
    "Then check what that member does between two polls."
)
_COOPERATIVE = (
    "With the cooperative assignor the others continue to consume, but new members and revoked partitions wait."
)
_EAGER = "With cooperative-sticky or the new protocol (group.protocol=consumer) the others would continue to consume."


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    by_client: dict[str, list[Rebalance]] = {}
    unknown: list[Rebalance] = []
    for r in analysis.rebalances:
        if not r.reached_barrier or not r.before.size or r.is_epoch:
            continue
        timeout = r.before.rebalance_timeout_ms
        shortest = max(SHORTEST_MS, min(LONG_MS, SHARE_OF_TIMEOUT * timeout)) if timeout else LONG_MS
        if r.prepare_ms < shortest:
            continue
        if r.why.laggard is None and r.start_ms is not None and r.kind == "normal":
            unknown.append(r)
        elif r.why.laggard is not None and r.why.laggard.how in _ALIVE:
            by_client.setdefault(r.why.laggard.client, []).append(r)
    for client, hits in by_client.items():
        yield _finding(analysis, client, hits)
    if unknown:
        yield _by_unknown_member(analysis, unknown)


def _by_unknown_member(analysis: GroupAnalysis, hits: list[Rebalance]) -> Finding:
    """Return a finding about exact waits for a last member that no source identifies, or for several members."""
    advice = "Check what the members do between two polls: several were slow, and no single member made the group wait."
    if not analysis.group.records:
        advice = _NEEDS_COMMITS
    waits = [r.prepare_ms for r in hits]
    return Finding(
        ID,
        "The group waited for an unknown member",
        WARNING,
        CERTAIN,
        f"the group waited {times(len(hits))} for members to rejoin, {seconds(sum(waits))} in total (longest "
        f"{seconds(max(waits))}); no source shows which member joined last, or several members did",
        advice,
        min(r.begin_ms for r in hits),
        max(r.stable_ms for r in hits),
        [],
        {
            "stops": len(hits),
            "waits_ms": waits,
            "longest_wait_ms": max(waits),
            "total_wait_ms": sum(waits),
            "without_progress_ms": 0,
            "eager": any(r.eager is not False for r in hits),
            "generations": [r.after.number for r in hits],
            "rebalances": [r.number for r in hits],
        },
    )


def _finding(analysis: GroupAnalysis, client: str, hits: list[Rebalance]) -> Finding:
    waits = [r.prepare_ms for r in hits]
    silences = [s for r in hits if (s := analysis.commits.silence_over(r.begin_ms, r.barrier_ms)) is not None]
    covered = [
        min(end, r.barrier_ms) - max(start, r.begin_ms) >= 0.8 * r.prepare_ms
        for r, (start, end) in zip(hits, silences, strict=False)
    ]
    stopped_ms = sum(end - start for (start, end), whole in zip(silences, covered, strict=False) if whole)
    eager = any(r.eager is not False for r in hits)
    evicted = [r for r in hits if r.why.laggard is not None and r.why.laggard.how == "evicted"]
    gave_up = [r for r in hits if r.why.laggard is not None and r.why.laggard.how == "leave_poll_timeout"]
    timeout = max((r.before.rebalance_timeout_ms or 0 for r in hits), default=0)
    severity = CRITICAL if evicted or (eager and (len(hits) > 1 or max(waits) >= 60_000)) else WARNING
    stopped_activity = "consumption" if eager else "commits"
    text = f"the group waited {times(len(hits))} for client {client}, {seconds(sum(waits))} in total"
    text += f" (longest {seconds(max(waits))})"
    if stopped_ms:
        text += f"; {seconds(stopped_ms)} without {stopped_activity} of any partition"
    if evicted:
        text += f"; the coordinator removed {client} after the rebalance timeout"
    elif gave_up:
        text += f"; the wait ended when {client} left at its poll timeout"
    else:
        text += "; it rejoined in time and no member was removed"
    return Finding(
        ID,
        "One slow member stalled the group",
        severity,
        CERTAIN if all(r.start_ms is not None for r in hits) and len(covered) == len(hits) else LIKELY,
        text,
        _ADVICE.format(
            client=client,
            timeout=seconds(timeout) if timeout else "not known",
            protocol=_EAGER if eager else _COOPERATIVE,
        ),
        min(r.begin_ms for r in hits),
        max(r.stable_ms for r in hits),
        [client],
        {
            "stops": len(hits),
            "waits_ms": waits,
            "longest_wait_ms": max(waits),
            "total_wait_ms": sum(waits),
            "without_progress_ms": stopped_ms,
            "silences_ms": [end - start for start, end in silences],
            "eager": eager,
            "evicted": len(evicted),
            "left_at_poll_timeout": len(gave_up),
            "rebalance_timeout_ms": timeout or None,
            "generations": [r.after.number for r in hits],
            "rebalances": [r.number for r in hits],
        },
    )
