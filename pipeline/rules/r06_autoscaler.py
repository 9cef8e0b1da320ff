"""R06: the group is scaled up and down continuously, with proper joins and leaves.

Restarts don't count: a client that comes back with its client id is a deploy, and so is a replacement of all pods.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import LIKELY, WARNING, Finding, busiest, seconds, several, times
from kohort.pipeline.rules.replaced_pods import deploys

ID = "R06"
TURNS = 4
WINDOW_MS = 30 * 60_000


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    deployed = {session for deploy in deploys(analysis) for session in (*deploy.old, *deploy.new)}
    returning = {s.predecessor for s in analysis.sessions if s.predecessor}
    # a session without a client id may be the restart of another one
    scaled = [s for s in analysis.sessions if s not in deployed and s.member.client_id]
    steps = [(s.first_ms, 1) for s in scaled if not s.predecessor]
    steps += [(s.last_ms, -1) for s in scaled if s.end_kind == "left" and s not in returning]
    steps.sort()
    turns = [now for (_, was), (now, step) in itertools.pairwise(steps) if step != was]
    if analysis.timeline.conversions and analysis.consumer is None:
        return  # the text log alone: members that change their protocol come under other names
    if busiest(turns, WINDOW_MS) < TURNS:
        return
    start, end = turns[0], turns[-1]
    inside = [r for r in analysis.rebalances if start <= r.stable_ms <= end + 60_000 and r.outcome == "completed"]
    sizes = [r.after.size for r in inside]
    yield Finding(
        ID,
        "The group is scaled up and down continuously",
        WARNING,
        LIKELY,
        f"the group alternated between growing and shrinking {times(len(turns))} within {seconds(end - start)} "
        f"(members: {' '.join(map(str, sizes))}); {several(len(inside), 'rebalance')}. No session expired",
        "Give the autoscaler a longer stabilisation window and larger steps down. Static membership doesn't help.",
        start,
        end,
        [],
        {"turns": len(turns), "sizes": sizes, "rebalances": [r.number for r in inside]},
    )
