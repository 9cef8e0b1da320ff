"""R52: records wait, and the share group has no members."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.share_history import ShareHistory
from kohort.pipeline.history.share_lag import total_lag
from kohort.pipeline.history.share_members import LEFT, VANISHED, ShareStay
from kohort.pipeline.rules.finding import (
    CERTAIN,
    CRITICAL,
    INFO,
    LIKELY,
    POSSIBLE,
    WARNING,
    Finding,
    how_to_resume,
    is_tool,
    listed,
    moment,
    seconds,
    several,
)

ID = "R52"
STOPPED_FOR_LONG_MS = 15 * 60_000  # a group with a proper stop shorter than this is being deployed
SHORTEST_MS = 10_000
TOGETHER_MS = 60_000  # members that left this shortly before the last one left with it


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    if (share := analysis.share) is None or not share.stays or any(stay.end_ms is None for stay in share.stays):
        return
    since_ms = max(stay.end_ms or 0 for stay in share.stays)
    samples = [lag_sample for lag_sample in total_lag(share.lags) if lag_sample[0] >= since_ms]
    lasted_ms = share.until_ms - since_ms
    if not samples or not samples[-1][1] or lasted_ms < SHORTEST_MS or _has_members(analysis, since_ms):
        return
    last_stays = _last(share, since_ms)
    idle = samples[0][1] == samples[-1][1]
    severity, confidence, how = _judged(last_stays, lasted_ms, idle)
    names = sorted({stay.name for stay in last_stays})
    tool = is_tool(analysis.group_id, names)
    if tool and severity == WARNING and all(stay.ended == LEFT for stay in last_stays):
        severity, how = INFO, "a command-line tool was closed"
    yield Finding(
        ID,
        "No members, and records wait for the share group",
        severity,
        confidence,
        f"the share group has had no members since {moment(since_ms)} UTC ({seconds(lasted_ms)}), and "
        f"{several(samples[-1][1], 'record')} {'waits' if samples[-1][1] == 1 else 'wait'} for it; {how}",
        how_to_resume(listed(names), crashed=any(stay.ended == VANISHED for stay in last_stays), tool=tool),
        since_ms,
        share.until_ms,
        names,
        {"records": samples[-1][1], "lasted_ms": lasted_ms, "open": True},
    )


def _has_members(analysis: GroupAnalysis, since_ms: int) -> bool:
    """Return whether there are members that joined before the start of the data.

    Signs are the number of members in a sample or after the last removal, and later deliveries.
    """
    if any(sample.members for sample in analysis.group.share_lags if sample.sampled_ms > since_ms):
        return True
    later = [event for event in analysis.group.events if event.ts >= since_ms]
    member_counts = [event.members for event in later if event.kind == "member_removed"]
    return bool(member_counts and member_counts[-1]) or any(
        event.kind == "records_acquired" and event.ts > since_ms for event in later
    )


def _last(share: ShareHistory, since_ms: int) -> list[ShareStay]:
    return [stay for stay in share.stays if (stay.end_ms or 0) >= since_ms - TOGETHER_MS]


def _judged(stays: list[ShareStay], lasted_ms: int, idle: bool) -> tuple[str, str, str]:
    """Return severity, confidence and a description of the members' end; `idle` means no new records since."""
    if vanished := [stay for stay in stays if stay.ended == VANISHED]:
        names = listed(sorted({stay.name for stay in vanished}))
        return (WARNING if idle else CRITICAL), CERTAIN, f"{names} vanished without leaving the group"
    grave = WARNING if lasted_ms >= STOPPED_FOR_LONG_MS and not idle else INFO
    if all(stay.ended == LEFT for stay in stays):
        return grave, LIKELY, "its members left the group properly"
    return grave, POSSIBLE, "the offsets topic does not show whether they left or their sessions expired"
