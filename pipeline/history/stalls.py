"""Stalls: silences of the whole group, of one member or of one partition; and rewinds."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from kohort.pipeline.history.commit_history import CommitHistory, median_gap
from kohort.pipeline.history.inputs import GroupInput, TopicPartition
from kohort.pipeline.history.lag import burrow_status, is_sampled, log_grew, most_lag, waited_ms
from kohort.pipeline.history.partition_owners import Ownership
from kohort.pipeline.history.rebalance import Rebalance

SILENCE_MS = 30_000  # shorter silences outside of rebalances are normal
SILENCE_IN_REBALANCE_MS = 3000  # minimum silence around a rebalance that gets a row: it is the cost of the rebalance
TIMES_USUAL = 3
HABIT_UNKNOWN_MS = 60_000  # assumed commit interval of a group with too little history
# minimum part of a silence during which a record waited; a shorter wait is a coincidence of the sample
SHARE_WAITED = 0.3
TIMES_WAITED = 2  # multiple of the commit interval that a record may wait without any delay
ASKED_WITHIN_MS = 5 * 60_000
# Without lag, only a partition that was busy before and then made no progress for long counts as stuck: one without new
# records looks the same.
BUSY_STEPS, TIMES_BUSY = 10, 10


@dataclass(slots=True)
class Stall:
    """A stall.

    `kind` is group_silent, member_silent, partition_stuck or rewind; a whole group has no `topic_partition`.
    """

    kind: str
    start_ms: int
    end_ms: int
    topic_partition: TopicPartition | None = None
    owner: str | None = None
    owner_id: str | None = None
    during_rebalance: int | None = None
    burrow: str | None = None
    lag: int | None = None
    waited_ms: int | None = None  # of a group: minimum time that a record waited, or None without samples
    offsets: int = 0  # of a rewind: its length
    open: bool = False  # lasted to the end of the analyzed period

    @property
    def length_ms(self) -> int:
        return self.end_ms - self.start_ms


def find_stalls(
    group: GroupInput, commits: CommitHistory, rebalances: list[Rebalance], ownership: Ownership
) -> list[Stall]:
    overlaps = Overlaps(rebalances)
    stalls = _group_silences(group, commits, overlaps, ownership)
    for topic_partition in commits.partitions:
        stalls += _stuck(group, commits, topic_partition, ownership)
        stalls += _rewinds(group, commits, topic_partition, ownership, overlaps)
    stalls += _silent_members(group, commits, overlaps, ownership)
    return sorted(stalls, key=lambda stall: (stall.start_ms, stall.kind))


class Overlaps:
    """Index of rebalances by time, queried for every silence of a group."""

    def __init__(self, rebalances: list[Rebalance]) -> None:
        some = [r for r in rebalances if r.after.size and r.before.size]
        self._order = sorted(range(len(some)), key=lambda n: some[n].begin_ms)
        self._rebalances = some
        self._begins = [some[n].begin_ms for n in self._order]
        # running maximum of the ends: no earlier rebalance overlaps a later time
        self._ends = list(accumulate((some[n].stable_ms for n in self._order), max))

    def longest(self, start_ms: int, end_ms: int) -> int | None:
        """Return the number of the longest rebalance that overlaps a period; the first of equal ones."""
        numbers: list[int] = []
        at = bisect_right(self._begins, end_ms) - 1
        while at >= 0 and self._ends[at] >= start_ms:
            if self._rebalances[self._order[at]].stable_ms >= start_ms:
                numbers.append(self._order[at])
            at -= 1
        overlapping = [self._rebalances[n] for n in sorted(numbers)]
        return max(overlapping, key=lambda r: r.stable_ms - r.begin_ms).number if overlapping else None


def _group_silences(
    group: GroupInput, commits: CommitHistory, rebalances: Overlaps, ownership: Ownership
) -> list[Stall]:
    known_step = commits.usual_step_ms()
    usual = HABIT_UNKNOWN_MS if known_step is None else known_step
    shortest = max(SILENCE_IN_REBALANCE_MS, TIMES_USUAL * usual)
    last = min(group.until_ms, ownership.lived()[1])
    result = []
    for start, end in commits.silences(round(shortest), last):
        if ownership.generations and not ownership.populated(start + 1, end - 1):
            continue
        number = rebalances.longest(start, end)
        if end - start <= max(SILENCE_MS if number is None else 0, TIMES_USUAL * usual):
            continue
        least = round(max(min(SILENCE_MS, SHARE_WAITED * (end - start)), TIMES_WAITED * usual))
        waits = [_long_wait(group, place, start, end, least) for place in commits.partitions]
        sampled_waits = [wait for wait in waits if wait is not None]
        if sampled_waits and not any(sampled_waits):
            continue  # nothing to read
        # A cluster that was queried once was queried after its log was read.
        at_the_end = end == last and not sampled_waits
        seen_until = end + ASKED_WITHIN_MS if at_the_end else end
        lag = sum(most_lag(group, tp, start, seen_until) or 0 for tp in commits.partitions)
        if at_the_end and not lag:
            continue  # it is unknown whether there was anything to read, and no commit shows that it continued
        result.append(
            Stall(
                "group_silent",
                start,
                end,
                during_rebalance=number,
                lag=lag if sampled_waits or at_the_end else None,
                waited_ms=max(sampled_waits, default=None),
                open=end == group.until_ms and commits.last_ms != end,
            )
        )
    return result


def _long_wait(group: GroupInput, topic_partition: TopicPartition, start: int, end: int, least: int) -> int | None:
    """Return the minimum time that a record waited in a silence; 0 if shorter than `least`, None without samples."""
    wait = waited_ms(group, topic_partition, start, end)
    if not wait or wait >= least:
        return wait
    return 0 if is_sampled(group, topic_partition, start, end - least) else None


def _stuck(
    group: GroupInput, commits: CommitHistory, topic_partition: TopicPartition, ownership: Ownership
) -> list[Stall]:
    """Find long periods without progress while records wait and the owner's other partitions advance.

    A Java client with auto-commit repeats the same offset, so progress counts rather than commits.
    """
    partition = commits.partitions[topic_partition]
    usual = commits.usual_gap_ms(topic_partition)
    if usual is None:
        return []
    times = partition.commits.ts_ms
    moved = np.flatnonzero(np.concatenate(([True], partition.deltas > 0)))
    steps = times[moved]
    last = min(group.until_ms, ownership.lived()[1])
    open_end = last > steps[-1]
    edges = np.concatenate((steps, [last])) if open_end else steps
    gaps = np.diff(edges)
    usual_step = max(usual, median_gap(steps)) if len(steps) > 4 else usual
    result = []
    for n in np.flatnonzero(gaps >= max(SILENCE_MS, TIMES_USUAL * usual_step)).tolist():
        start, end = int(edges[n]), int(edges[n + 1])
        owner = ownership.owner(topic_partition, start + 1)
        if owner is None or ownership.owner(topic_partition, end - 1) != owner:
            continue
        generation = ownership.generation_at(start + 1)
        other_partitions = (generation.parts_of(owner) if generation else set()) - {topic_partition}
        if not _others_move(commits, other_partitions, start, end):
            continue
        lag = most_lag(group, topic_partition, start + (end - start) // 4, end)
        grew = log_grew(group, topic_partition, start, end)
        if lag == 0 or grew == 0 or (waited_ms(group, topic_partition, start, end) or SILENCE_MS) < SILENCE_MS / 2:
            continue
        if lag is None and (n + 1 < BUSY_STEPS or end - start < TIMES_BUSY * usual_step):
            continue
        result.append(
            Stall(
                "partition_stuck",
                start,
                end,
                topic_partition,
                ownership.owner_name(topic_partition, start + 1),
                owner,
                burrow=_burrow(group, commits, topic_partition, end),
                lag=lag,
                open=open_end and n == len(gaps) - 1 and end == group.until_ms,
            )
        )
    return result


def _others_move(commits: CommitHistory, other_partitions: set[TopicPartition], start: int, end: int) -> bool:
    """Return whether other partitions advanced at least twice well inside the period."""
    margin = (end - start) // 5
    steps = 0
    for topic_partition in other_partitions & commits.partitions.keys():
        partition = commits.partitions[topic_partition]
        low, high = np.searchsorted(partition.moved_ms, (start + margin, end - margin))
        steps += int(high - low)
    return steps >= 2


def _burrow(group: GroupInput, commits: CommitHistory, topic_partition: TopicPartition, now: int) -> str:
    own = commits.partitions[topic_partition].commits
    until = int(np.searchsorted(own.ts_ms, now, "left"))
    times, offsets = own.ts_ms[:until], own.committed[:until]
    ends = group.ends.get(topic_partition)
    if ends is None or not until:
        return burrow_status(times, offsets, None, now)
    at = np.clip(np.searchsorted(ends.sampled_ms, times, "right") - 1, 0, None)
    lags = np.maximum(0, ends.log_end[at] - offsets)
    recent = int(np.searchsorted(ends.sampled_ms, now, "right")) - 1
    reached = recent >= 0 and int(ends.log_end[recent]) <= int(offsets[-1])
    lag_now = max(0, int(ends.log_end[recent]) - int(offsets[-1])) if recent >= 0 else None
    return burrow_status(times, offsets, lags, now, lag_now=lag_now, end_reached=reached)


def _rewinds(
    group: GroupInput,
    commits: CommitHistory,
    topic_partition: TopicPartition,
    ownership: Ownership,
    rebalances: Overlaps,
) -> list[Stall]:
    partition = commits.partitions[topic_partition]
    result = []
    committed = partition.commits.committed
    for n in partition.rewinds:
        start, end = int(partition.commits.ts_ms[n]), int(partition.commits.ts_ms[n + 1])
        owner = ownership.owner(topic_partition, end)
        was = ownership.owner(topic_partition, start)
        number = rebalances.longest(start, end) if owner != was else None
        caught_up = np.flatnonzero(committed[n + 1 :] >= committed[n])
        until = int(partition.commits.ts_ms[n + 1 + int(caught_up[0])]) if len(caught_up) else end
        result.append(
            Stall(
                "rewind",
                end,
                until,
                topic_partition,
                ownership.owner_name(topic_partition, end),
                owner,
                number,
                "REWIND",
                offsets=int(committed[n] - committed[n + 1]),
            )
        )
    return result


def _silent_members(
    group: GroupInput, commits: CommitHistory, rebalances: Overlaps, ownership: Ownership
) -> list[Stall]:
    """Find members of a settled generation without a commit for long while the partitions of others have commits."""
    result = []
    for generation in ownership.generations:
        end = generation.end_ms or group.until_ms
        shares, committed = generation.shares(), generation.owners.keys() & commits.partitions.keys()
        for member in generation.members.values():
            mine = shares[member.member_id] & committed
            other_partitions = committed - mine
            if not mine or not other_partitions:
                continue
            usual = max((u for p in mine if (u := commits.usual_gap_ms(p)) is not None), default=0.0)
            long = max(3000.0, TIMES_USUAL * usual)
            for start, stop in _holes(commits, mine, generation.stable_ms, end):
                if stop - start < long or not _others_move(commits, other_partitions, start, stop):
                    continue
                lag = max((most_lag(group, p, start, stop) or 0 for p in mine), default=0)
                grew = [log_grew(group, p, start, stop) for p in mine]
                waits = [wait for p in mine if (wait := waited_ms(group, p, start, stop)) is not None]
                if all(g == 0 for g in grew) or (waits and max(waits) < SHARE_WAITED * (stop - start)):
                    continue
                topic_partition = min(mine)
                result.append(
                    Stall(
                        "member_silent",
                        start,
                        stop,
                        topic_partition,
                        member.name,
                        member.member_id,
                        rebalances.longest(start, stop),
                        lag=lag or None,
                        open=stop >= group.until_ms,
                    )
                )
    return result


def _holes(
    commits: CommitHistory, topic_partitions: set[TopicPartition], start: int, end: int
) -> list[tuple[int, int]]:
    """Return periods within [start, end] without a commit of any of these partitions, longer than a second."""
    inside = []
    for topic_partition in topic_partitions:
        times = commits.partitions[topic_partition].sorted_ms
        inside.append(times[np.searchsorted(times, start, "right") : np.searchsorted(times, end, "left")])
    edges = np.concatenate(([start], np.sort(np.concatenate(inside)), [end]))
    gaps = np.diff(edges)
    return [(int(edges[n]), int(edges[n + 1])) for n in np.flatnonzero(gaps > 1000)]
