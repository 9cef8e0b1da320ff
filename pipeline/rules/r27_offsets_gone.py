"""R27: committed offsets are gone: expired, deleted by an operator, or with a retention time of their own."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import CERTAIN, INFO, LIKELY, WARNING, Finding, listed, several
from kohort.pipeline.rules.r44_topic_made_again import made_again

ID = "R27"


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    recreated = made_again(analysis)
    removals = [
        (int(ts), topic_partition)
        for topic_partition, commits in analysis.group.commits.items()
        if topic_partition[0] not in recreated
        for ts in commits.gone_ms
    ]
    own_retention = sum(commits.expiring for commits in analysis.group.commits.values())
    if own_retention:
        yield _own_retention(analysis, own_retention, removals)
        return
    if not removals:
        return
    removals.sort()
    first, last = removals[0][0], removals[-1][0]
    alive = analysis.ownership.generation_at(first)
    deleted = any(abs(ts - last) < 1000 for ts in analysis.timeline.gone_ms)
    missed = _went_on_elsewhere(analysis)
    topics = listed(sorted({topic_partition[0] for _, topic_partition in removals}))
    if alive is not None and alive.size:
        title, text = (
            "Offsets were deleted while the group was active",
            f"{len(removals)} committed offsets of {topics} were removed ",
        )
        text += "while the group had members: deleted by an operator, or with their topic"
    elif missed:
        title, text = (
            "Offsets expired and the group continued elsewhere",
            f"offsets of {topics} had expired when the group came ",
        )
        text += f"back; {several(missed, 'partition')} continued at another position"
    elif deleted and not _empty_for_long(analysis, first):
        title, text = "The group was deleted", f"the group and its {len(removals)} offsets ({topics}) were deleted"
    else:
        title, text = (
            "Offsets expired",
            f"the group was empty until its {len(removals)} offsets ({topics}) expired; a consumer that rejoins ",
        )
        text += "starts according to auto.offset.reset"
    advice = "Raise offsets.retention.minutes, or let an idle group commit from time to time."
    if title.startswith(("Offsets were deleted", "The group was")):
        advice = "Ignore this if it was intended. Otherwise find out who deleted the topic, the group or its offsets."
    yield Finding(
        ID,
        title,
        WARNING if missed else INFO,
        LIKELY,
        text,
        advice,
        first,
        last,
        [],
        {
            "tombstones": len(removals),
            "topics": sorted({topic_partition[0] for _, topic_partition in removals}),
            "went_on_elsewhere": missed,
        },
    )


def _own_retention(analysis: GroupAnalysis, commits: int, removals: list[tuple[int, tuple[str, int]]]) -> Finding:
    start, end = analysis.span_ms
    return Finding(
        ID,
        "Offsets with their own retention time",
        WARNING if removals else INFO,
        CERTAIN,
        f"{several(commits, 'commit')} set their own retention time, as old clients do"
        + (f"; {several(len(removals), 'offset')} expired because of it" if removals else ""),
        "Update that client: such offsets expire long before offsets.retention.minutes.",
        start,
        end,
        [],
        {"commits": commits, "tombstones": len(removals)},
    )


def _empty_for_long(analysis: GroupAnalysis, ts_ms: int) -> bool:
    """Return whether offsets may have expired: expiry runs every few minutes, so an immediate deletion is manual."""
    earlier = [g for g in analysis.generations if g.stable_ms <= ts_ms]
    return bool(earlier) and earlier[-1].size == 0 and ts_ms - earlier[-1].stable_ms > 60_000


def _went_on_elsewhere(analysis: GroupAnalysis) -> int:
    count = 0
    for commits in analysis.group.commits.values():
        for ts in commits.gone_ms.tolist():
            earlier_offsets = commits.committed[commits.ts_ms <= ts]
            after = commits.committed[commits.ts_ms > ts]
            if len(earlier_offsets) and len(after) and abs(int(after[0]) - int(earlier_offsets[-1])) > 1000:
                count += 1
    return count
