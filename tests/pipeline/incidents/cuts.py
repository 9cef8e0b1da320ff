"""Groups of which a part is read: a log that begins later, or ends sooner, as excerpts and rotated files do."""

from __future__ import annotations

import copy
from dataclasses import replace

from kohort.pipeline.history.inputs import GroupInput, LogEnds, PartitionCommits
from kohort.pipeline.sources.window import FOREVER_MS

FACTS_OF_A_PART = {
    "R01": "how long the group waited; the rest may show the last member to join",
    "R03": "a session expired; the rest may show a crash loop",
    "R11": "second rounds; the rest may contain many others",
    "R18": "idle members; members that left later may have been idle briefly",
    "R19": "records that waited on one partition; the rest may show why",
    "R20": "a partition that stood; the rest may show that each owner leaves because of the record there",
    "R25": "members that came one after the other; the rest may show whom they replaced",
    "R47": "records that were given up; the rest may show that nothing else was processed then, or who held them too long",
    "R22": "a refused commit; the rest may show the rebalance that it was late for",
    "R26": "times of rebalances; the rest may show what they were for",
}
"""Rules that a part of a log may be certain of where the whole names something graver instead."""


def without_start(group: GroupInput, share: float) -> GroupInput:
    """Return the rest when this share of the records, and every earlier event, is removed."""
    cut = copy.copy(group)
    if offsets := sorted(record.offset for record in group.records):
        first = offsets[int(len(offsets) * share)]
        from_ms = min(record.ts_ms for record in group.records if record.offset == first)
        cut.records = [record for record in group.records if record.offset >= first]
        cut.members = [row for row in group.members if row.offset >= first]
        cut.parts = [row for row in group.parts if row.offset >= first]
        cut.intact_from = max(first, group.intact_from)
    else:
        from_ms = _event_at(group, share)
    cut.events = [event for event in group.events if event.ts >= from_ms]
    cut.share_states = [record for record in group.share_states if record.ts_ms >= from_ms]
    cut.share_lags = [sample for sample in group.share_lags if sample.sampled_ms >= from_ms]
    cut.coordinator_moves = [move for move in group.coordinator_moves if move[0] >= from_ms]
    cut.commits = {each: commits_within(commits, from_ms) for each, commits in group.commits.items()}
    cut.ends = {each: ends_within(ends, from_ms) for each, ends in group.ends.items()}
    return cut


def without_end(group: GroupInput, share: float) -> GroupInput:
    """Return what existed when this share of the group's records was written."""
    cut = copy.copy(group)
    if offsets := sorted(record.offset for record in group.records):
        last = offsets[int(len(offsets) * share)]
        to_ms = max(record.ts_ms for record in group.records if record.offset <= last)
        cut.records = [record for record in group.records if record.offset <= last]
        cut.members = [row for row in group.members if row.offset <= last]
        cut.parts = [row for row in group.parts if row.offset <= last]
    else:
        to_ms = _event_at(group, share)
    cut.events = [event for event in group.events if event.ts <= to_ms]
    cut.share_states = [record for record in group.share_states if record.ts_ms <= to_ms]
    cut.share_lags = [sample for sample in group.share_lags if sample.sampled_ms <= to_ms]
    cut.coordinator_moves = [move for move in group.coordinator_moves if move[0] <= to_ms]
    cut.commits = {each: commits_within(commits, to_ms=to_ms) for each, commits in group.commits.items()}
    cut.ends = {each: ends_within(ends, to_ms=to_ms) for each, ends in group.ends.items()}
    cut.until_ms = to_ms
    return cut


def _event_at(group: GroupInput, share: float) -> int:
    times = sorted(event.ts for event in group.events)
    return times[int(len(times) * share)] if times else 0


def commits_within(commits: PartitionCommits, from_ms: int = 0, to_ms: int = FOREVER_MS) -> PartitionCommits:
    """Return commits of a time range, including both ends."""
    kept, gone = ((ms >= from_ms) & (ms <= to_ms) for ms in (commits.ts_ms, commits.gone_ms))
    return replace(commits, ts_ms=commits.ts_ms[kept], committed=commits.committed[kept], gone_ms=commits.gone_ms[gone])


def ends_within(ends: LogEnds, from_ms: int = 0, to_ms: int = FOREVER_MS) -> LogEnds:
    """Return samples of a time range, including both ends."""
    kept = (ends.sampled_ms >= from_ms) & (ends.sampled_ms <= to_ms)
    return LogEnds(ends.sampled_ms[kept], ends.log_start[kept], ends.log_end[kept], ends.last_stable[kept])
