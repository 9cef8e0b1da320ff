"""R28: members of one group have different timeouts.

The join barrier of a classic group waits for the largest; in a consumer group each member may take its own timeout to
revoke partitions.
"""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import CERTAIN, INFO, WARNING, Finding, listed, seconds

ID = "R28"


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    for generation in analysis.generations:
        members = generation.members.values()
        sessions = {m.session_timeout_ms for m in members if m.session_timeout_ms}
        rebalance = {m.rebalance_timeout_ms for m in members if m.rebalance_timeout_ms}
        if len(sessions) < 2 and len(rebalance) < 2:
            continue
        largest = max(rebalance, default=0)
        slowest = sorted(m.name for m in members if m.rebalance_timeout_ms == largest)
        is_epoch = generation.kind == "consumer"
        longest = f"up to {seconds(largest)}, {listed(slowest)}"
        effect = f"others may wait for partitions until the timeout of their owner ({longest})"
        if not is_epoch:
            effect = f"the join barrier waits for the largest ({seconds(largest)}, {listed(slowest)})"
        yield Finding(
            ID,
            "Members have different timeouts",
            WARNING if not is_epoch and rebalance and largest >= 2 * min(rebalance) else INFO,
            CERTAIN,
            "members differ: "
            + " and ".join(
                f"{name} is {listed(map(seconds, sorted(values)))}"
                for name, values in (("session.timeout.ms", sessions), ("max.poll.interval.ms", rebalance))
                if len(values) > 1
            )
            + (f"; {effect}" if len(rebalance) > 1 else ""),
            "Give all members the same settings"
            + ("." if is_epoch else ": the join barrier waits for the largest timeout of all."),
            generation.stable_ms,
            generation.end_ms or analysis.group.until_ms,
            slowest,
            {
                "session_timeout_ms": sorted(sessions),
                "rebalance_timeout_ms": sorted(rebalance),
                "generation": generation.number,
            },
        )
        return
