"""Settings: what is set, what the history proposes, and on how many samples that rests.

A client's time between two polls shows as the gap between two moments at which any of its partitions was committed:
an upper bound, since a client may commit less often than it polls. Where samples are few, the maximum stands for the
percentile, and where they are very few there is no advice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import Member
from kohort.pipeline.rules.finding import LIKELY, POSSIBLE, Finding, seconds

ENOUGH, FEWEST = 200, 20
LOWEST_POLL_MS, STEP_MS, MARGIN = 60_000, 10_000, 1.5
NEAR_THE_LIMIT = 0.8
SESSION_RANGE_MS = (6000, 1_800_000)


@dataclass(slots=True)
class Proposal:
    """current and proposed as a person would write them; proposed is None for "no advice"."""

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
    if poll := _max_poll_interval(analysis):
        result.append(poll)
    result += _session_timeout(analysis, findings)
    result += _static_membership(analysis, findings)
    result += _assignor(findings)
    return result


def poll_gaps_ms(analysis: GroupAnalysis) -> dict[str, list[int]]:
    """Times between a client's commits while it stayed a member, by client."""
    gaps: dict[str, list[int]] = {}
    for generation in analysis.generations:
        end = generation.end_ms or analysis.group.until_ms
        for member in generation.members.values():
            moments = [
                partition.commits.ts_ms[
                    slice(*np.searchsorted(partition.commits.ts_ms, (generation.stable_ms, end)).tolist())
                ]
                for topic_partition in generation.parts_of(member.member_id)
                if (partition := analysis.commits.partitions.get(topic_partition)) is not None
            ]
            if not moments:
                continue
            every = np.unique(np.concatenate(moments))
            gaps.setdefault(member.name, []).extend(np.diff(every).tolist())
    return gaps


def _newest_members(analysis: GroupAnalysis) -> list[Member]:
    return [s.member for s in analysis.sessions]


def _max_poll_interval(analysis: GroupAnalysis) -> Proposal | None:
    current = max((m.rebalance_timeout_ms or 0 for m in _newest_members(analysis)), default=0)
    gaps = poll_gaps_ms(analysis)
    for r in analysis.rebalances:
        if r.why.laggard is not None and r.why.laggard.how != "session_expired":
            # the batch that the others waited for began before the rebalance did
            before = analysis.commits.last_of(r.before.parts_of(r.why.laggard.member_id), r.begin_ms)
            if before is not None:
                gaps.setdefault(r.why.laggard.client, []).append(r.barrier_ms - before)
    samples = sum(len(of_client) for of_client in gaps.values())
    if not current or samples < FEWEST:
        return None
    enough = samples >= ENOUGH
    worst = {c: float(np.percentile(g, 99.9) if len(g) >= ENOUGH else max(g)) for c, g in gaps.items() if g}
    client = max(worst, key=lambda c: worst[c])
    p = worst[client]
    wanted = -(-MARGIN * p // STEP_MS) * STEP_MS
    proposed = int(min(max(wanted, LOWEST_POLL_MS), 4 * current))
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
    return Proposal(
        "max.poll.interval.ms", str(current), None, basis, samples, percentile, "fits: no advice", confidence, client
    )


def _session_timeout(analysis: GroupAnalysis, findings: list[Finding]) -> list[Proposal]:
    result = []
    static = [m for m in _newest_members(analysis) if m.instance_id]
    if static:
        away = [
            new.first_ms - old.last_ms
            for new in analysis.sessions
            if (old := new.predecessor) is not None and new.member.instance_id
        ]
        unserved = [row["ms"] for f in findings if f.rule == "R12" for row in f.evidence["away"]]
        times = sorted(t for t in away + unserved if t > 0)
        current = max((m.session_timeout_ms or 0 for m in static), default=0)
        if times and current:
            p95 = times[-(-len(times) * 95 // 100) - 1]
            proposed = min(max(round(1.5 * p95 / 1000) * 1000, SESSION_RANGE_MS[0]), SESSION_RANGE_MS[1])
            result.append(
                Proposal(
                    "session.timeout.ms",
                    str(current),
                    str(proposed) if proposed != current else None,
                    f"1.5 times the 95th percentile of restart times ({seconds(p95)})",
                    len(times),
                    "p95",
                    "restarts cause no rebalance, and partitions wait no longer than they must",
                    LIKELY if len(times) >= 5 else POSSIBLE,
                )
            )
        return result
    for finding in findings:
        timeout = finding.evidence.get("session_timeout_ms")
        if finding.rule == "R03" and finding.evidence.get("came_back") and isinstance(timeout, int):
            result.append(
                Proposal(
                    "session.timeout.ms",
                    str(timeout),
                    str(min(2 * timeout, SESSION_RANGE_MS[1])),
                    "expired although the process lived",
                    finding.evidence["expiries"],
                    "",
                    "a pause of this length no longer expires the session; a dead member is noticed later",
                    POSSIBLE,
                    finding.clients[0],
                )
            )
    return result


def _static_membership(analysis: GroupAnalysis, findings: list[Finding]) -> list[Proposal]:
    counted = [r for r in analysis.rebalances if r.counts and r.kind != "initial"]
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
                    f"{caused} rebalances and up to {finding.evidence['unavailable_partition_s_hi']:.0f} partition-seconds "
                    f"fewer; a restarting member's partitions wait for it (up to {seconds(restart)})",
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
            f"{finding.evidence['rebalances_counted']} rebalances in which little had to move",
            finding.evidence["rebalances_counted"],
            "",
            f"about {finding.evidence['estimated_gain_partition_s']:.0f} partition-seconds without a reader fewer",
            LIKELY,
        )
        for finding in findings
        if finding.rule == "R10"
    ]
