"""R45: lag grows for one member alone, although it receives no more records than the others: it is slower.

R19 reports a partition with more records. The growth of the logs distinguishes the two.
"""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.backlogs import Backlog, backlogs
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import CERTAIN, POSSIBLE, WARNING, Finding, several

ID = "R45"


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    for backlog in backlogs(analysis):
        if backlog.hot is None:
            yield _finding(backlog)


def _finding(backlog: Backlog) -> Finding:
    place, lag = backlog.worst
    of = "all" if len(backlog.places) == backlog.of else f"{len(backlog.places)} of the"
    text = f"lag grows in {of} {several(backlog.of, 'partition')} of {backlog.client}: up to {lag} wait on partition "
    text += (
        f"{place[1]} of {place[0]}, while partitions of other members never had more than {backlog.others_lag}; its "
    )
    text += f"partitions receive no more records than theirs ({backlog.inflow:.1f} a second, theirs {backlog.usual_inflow:.1f})"
    if backlog.rate < 0.8 * backlog.inflow:
        text += f", and it processed {backlog.rate:.1f} a second in each"
    return Finding(
        ID,
        "A member is slower than its records arrive",
        WARNING,
        CERTAIN,
        text,
        f"Compare the host of {backlog.client} with the others: throttled CPU (container limits), swapping, a slow disk or a "
        "slow connection to a service that it calls. A thread dump shows what it waits for. A restart on another host helps if "
        "the host is slow; more partitions don't.",
        backlog.start_ms,
        backlog.end_ms,
        [backlog.client],
        {
            "topic": place[0],
            "part": place[1],
            "lag": lag,
            "others_lag": backlog.others_lag,
            "lasted_ms": backlog.end_ms - backlog.start_ms,
            "partitions": len(backlog.places),
            "of": backlog.of,
        },
        cause_confidence=POSSIBLE,
    )
