"""Proposed settings with the current value, the basis in the history, and the number of samples.

The time between two polls of a client is estimated by the gap between two commits of any of its partitions. This is an
upper bound, since a client may commit less often than it polls. With few samples the maximum is used instead of the
percentile, and very few give no proposal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import Member
from kohort.pipeline.rules.finding import LIKELY, POSSIBLE, Finding, seconds, times

ENOUGH, FEWEST = 200, 20
LOWEST_POLL_MS, STEP_MS, MARGIN = 60_000, 10_000, 1.5
NEAR_THE_LIMIT = 0.8
SESSION_RANGE_MS = (6000, 1_800_000)


@dataclass(slots=True)
class Proposal:
    """Proposed setting, with values as in a configuration file; no change is proposed as None."""

    setting: str
    current: str
    proposed: str | None
    basis: str
    sample_size: int
    percentile: str
    expected_effect: str
    confidence: str
    client: str | None = None


def proposals(analysis: GroupAnalysis, findings: list[Finding]) -> list[Proposal]:
    result = []
    if poll := _max_poll_interval(analysis, findings):
        result.append(poll)
    result += _session_timeout(analysis, findings)
    result += _static_membership(analysis, findings)
    result += _assignor(findings)
    return result


def poll_gaps_ms(analysis: GroupAnalysis) -> dict[str, list[int]]:
    """Return the times between a client's commits while it stayed a member, by client."""
    gaps: dict[str, list[int]] = {}
    for generation in analysis.generations:
        end = generation.end_ms or analysis.group.until_ms
        shares = generation.shares()
        for member in generation.members.values():
            moments = [
                partition.commits.ts_ms[
                    slice(*np.searchsorted(partition.commits.ts_ms, (generation.stable_ms, end)).tolist())
                ]
                for topic_partition in shares[member.member_id]
                if (partition := analysis.commits.partitions.get(topic_partition)) is not None
            ]
            if not moments:
                continue
            every = np.unique(np.concatenate(moments))
            gaps.setdefault(member.name, []).extend(np.diff(every).tolist())
    return gaps


def _newest_members(analysis: GroupAnalysis) -> list[Member]:
    return [s.member for s in analysis.sessions]


def _exceeded(current: int, fitting_ms: int, finding: Finding) -> Proposal:
    """Propose a larger value after members left at their poll timeout, regardless of the gaps between commits."""
    count = finding.evidence["times"]
    return Proposal(
        "max.poll.interval.ms",
        str(current),
        str(max(fitting_ms, 2 * current)),
        f"{finding.clients[0]} exceeded it between two polls {times(count)}",
        count,
        "",
        "or halve max.poll.records, so that a batch is completed in time and the member stays",
        finding.confidence,
        finding.clients[0],
    )


def _max_poll_interval(analysis: GroupAnalysis, findings: list[Finding]) -> Proposal | None:
    """Propose a value, or return None if there are too few samples or the current value is suitable."""
    current = max((m.rebalance_timeout_ms or 0 for m in _newest_members(analysis)), default=0)
    gaps = poll_gaps_ms(analysis)
    for r in analysis.rebalances:
        if r.why.laggard is not None and r.why.laggard.how != "session_expired":
            # the batch that the others waited for began before the rebalance did
            last_commit = analysis.commits.last_of(r.before.parts_of(r.why.laggard.member_id), r.begin_ms)
            if last_commit is not None:
                gaps.setdefault(r.why.laggard.client, []).append(r.barrier_ms - last_commit)
    samples = sum(len(of_client) for of_client in gaps.values())
    timeouts = next((f for f in findings if f.rule == "R02"), None)
    if not current or (samples < FEWEST and timeouts is None):
        return None
    if not any(gaps.values()):
        return _exceeded(current, 0, timeouts) if timeouts is not None else None
    enough = samples >= ENOUGH
    worst = {c: float(np.percentile(g, 99.9) if len(g) >= ENOUGH else max(g)) for c, g in gaps.items() if g}
    client = max(worst, key=lambda c: worst[c])
    p = worst[client]
    fitting_ms = -(-MARGIN * p // STEP_MS) * STEP_MS
    proposed = int(min(max(fitting_ms, LOWEST_POLL_MS), 4 * current))
    if timeouts is not None:
        return _exceeded(current, proposed, timeouts)
    percentile = "p99.9" if enough else "maximum"
    basis = f"{percentile} of the time between commits of one client: {seconds(p)} ({client})"
    confidence = LIKELY if enough else POSSIBLE
    if p >= NEAR_THE_LIMIT * current:
        effect = f"or halve max.poll.records: {client} comes within {p / current:.0%} of the limit"
        return Proposal(
            "max.poll.interval.ms",
            str(current),
            str(max(proposed, current)) if proposed > current else None,
            basis,
            samples,
            percentile,
            effect,
            confidence,
            client,
        )
    if proposed < current / 2:
        effect = f"the longest stop that one member can cause falls from {seconds(current)} to {seconds(proposed)}"
        return Proposal(
            "max.poll.interval.ms", str(current), str(proposed), basis, samples, percentile, effect, confidence, client
        )
    return None


def _session_timeout(analysis: GroupAnalysis, findings: list[Finding]) -> list[Proposal]:
    result = []
    static = [m for m in _newest_members(analysis) if m.instance_id]
    if static:
        returned = [
            new.first_ms - old.last_ms
            for new in analysis.sessions
            if (old := new.predecessor) is not None and new.member.instance_id
        ]
        unserved = [row["ms"] for f in findings if f.rule == "R12" for row in f.evidence["away"]]
        absences = sorted(t for t in returned + unserved if t > 0)
        current = max((m.session_timeout_ms or 0 for m in static), default=0)
        p95 = absences[-(-len(absences) * 95 // 100) - 1] if absences else 0
        proposed = min(max(round(1.5 * p95 / 1000) * 1000, SESSION_RANGE_MS[0]), SESSION_RANGE_MS[1])
        if absences and current and proposed != current:
            result.append(
                Proposal(
                    "session.timeout.ms",
                    str(current),
                    str(proposed),
                    f"1.5 times the 95th percentile of restart times ({seconds(p95)})",
                    len(absences),
                    "p95",
                    "restarts cause no rebalance, and partitions wait no longer than necessary",
                    LIKELY if len(absences) >= 5 else POSSIBLE,
                )
            )
        return result
    for finding in findings:
        timeout = finding.evidence.get("session_timeout_ms")
        if finding.rule == "R03" and _was_paused(finding) and isinstance(timeout, int):
            result.append(
                Proposal(
                    "session.timeout.ms",
                    str(timeout),
                    str(min(2 * timeout, SESSION_RANGE_MS[1])),
                    "expired, and the client came back soon",
                    finding.evidence["expiries"],
                    "",
                    "a pause of this length no longer expires the session; a crashed member is detected later",
                    POSSIBLE,
                    finding.clients[0],
                )
            )
    return result


def _was_paused(expiry: Finding) -> bool:
    """Return whether the clients of an R03 finding came back after their sessions; restarted ones are back before."""
    back_after_ms = expiry.evidence.get("back_after_ms", ())
    return bool(expiry.evidence.get("came_back")) and all(ms is None or ms >= 0 for ms in back_after_ms)


def _static_membership(analysis: GroupAnalysis, findings: list[Finding]) -> list[Proposal]:
    counted = [r for r in analysis.rebalances if r.outcome != "open" and r.kind != "initial"]
    for finding in findings:
        caused = finding.evidence.get("rebalances_caused", 0)
        if finding.rule == "R04" and caused >= 0.5 * len(counted) > 0:
            restart = max(finding.evidence["restart_ms"], default=0)
            return [
                Proposal(
                    "group.instance.id",
                    "none",
                    "one per process",
                    f"{caused} of {len(counted)} rebalances are restarts",
                    finding.evidence["restarts"],
                    "",
                    f"{caused} rebalances fewer, but a restarting member's partitions wait for it (up to "
                    f"{seconds(restart)}); `kohort what-if` computes the sum",
                    LIKELY,
                )
            ]
    return []


def _assignor(findings: list[Finding]) -> list[Proposal]:
    return [
        Proposal(
            "partition.assignment.strategy",
            "eager",
            "cooperative-sticky",
            f"{finding.evidence['rebalances_counted']} rebalances in which few partitions had to move",
            finding.evidence["rebalances_counted"],
            "",
            "members keep reading during one rebalance, but a rolling restart has more of them; `kohort what-if` computes "
            "the sum",
            LIKELY,
        )
        for finding in findings
        if finding.rule == "R10"
    ]
