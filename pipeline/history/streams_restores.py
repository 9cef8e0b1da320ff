"""Stateful tasks without progress after they were assigned to a process that had no copy of their state.

The coordinator does not know how far a task is restored (Kafka 4.3 rejects a member's task offsets). The data show when
a task was assigned, when the first commit of its input came, whether records waited meanwhile, and how much its
changelog holds. If samples of log ends show no waiting records, nothing was delayed; without samples it is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kohort.pipeline.history.commit_history import median_gap
from kohort.pipeline.history.inputs import GroupInput, PartitionCommits, TopicPartition
from kohort.pipeline.history.lag import lag_at_samples
from kohort.pipeline.history.streams_history import StreamsHistory, Task, TaskStay

FEWEST_SAMPLES = 2
SEVERAL_TIMES = 3  # minimum length of a silence, in usual gaps
FEWEST_COMMITS = 20  # minimum before and after the silence, to derive the usual gap from commits alone
TIMES_THE_USUAL = 20
TWICE = 2  # minimum length of a conspicuous silence relative to any other
AS_MUCH_AS_USUAL = 0.5  # part of the records that arrive at the usual rate: if fewer follow a silence, none had waited


@dataclass(frozen=True, slots=True)
class Restore:
    """A task without progress from its assignment.

    Attributes:
        ended: Whether a commit followed; otherwise it was revoked, or still makes no progress.
        stood_ms: Time in which records waited.
        lag: Records that waited at the last sample, or None if no samples show any.
        changelog: Upper limit of the records in its changelogs, or None without samples.
        others_went_on: Whether records of other tasks were read meanwhile; None without other tasks.
    """

    stay: TaskStay
    end_ms: int
    ended: bool
    stood_ms: int
    lag: int | None
    changelog: int | None
    others_went_on: bool | None


def restores(group: GroupInput, history: StreamsHistory, shortest_ms: int) -> Iterator[Restore]:
    """Yield the tasks without progress for at least `shortest_ms`, ordered by assignment."""
    usual_ms = _usual_ms(group)
    for stay in history.tasks:
        if stay.is_cold is False or not stay.begins_intact:
            continue
        if (restore := _restore(group, history, stay, shortest_ms, usual_ms)) is not None:
            yield restore


def _restore(
    group: GroupInput, history: StreamsHistory, stay: TaskStay, shortest_ms: int, usual_ms: float
) -> Restore | None:
    changelogs = _changelogs(history, stay)
    if not changelogs:
        return None
    read = _read_by(history, stay.task, stay.start_ms)
    progress_ms = min(
        (ms for limit_ms in read if (ms := _progress(group, limit_ms, stay.start_ms)) is not None), default=None
    )
    end_ms = min(limit_ms for limit_ms in (progress_ms, stay.end_ms, history.until_ms) if limit_ms is not None)
    if end_ms - stay.start_ms < shortest_ms:
        return None
    waited = _waited(group, read, stay.start_ms, end_ms, shortest_ms)
    if waited is None and _stands_out(group, read, stay.start_ms, progress_ms):
        waited = stay.start_ms, None
    if waited is None or end_ms - waited[0] < max(shortest_ms, SEVERAL_TIMES * usual_ms):
        return None
    held, went_on = _held(group, changelogs, end_ms), _others_went_on(group, history, stay, end_ms)
    return Restore(stay, end_ms, end_ms == progress_ms, end_ms - waited[0], waited[1], held, went_on)


def _progress(group: GroupInput, topic_partition: TopicPartition, since_ms: int) -> int | None:
    """Return when a position first changed after that time.

    A rewind counts as progress: the offset was lost and records are read again.
    """
    commits = group.commits.get(topic_partition)
    if commits is None:
        return None
    position = commits.position(since_ms)
    changed = (commits.ts_ms > since_ms) & (commits.committed != (-1 if position is None else position))
    return int(commits.ts_ms[changed][0]) if changed.any() else None


def _usual_ms(group: GroupInput) -> float:
    """Return the usual gap between commits of the partition where it is longest."""
    many = (commits.ts_ms for commits in group.commits.values() if len(commits.ts_ms) >= FEWEST_SAMPLES + 1)
    return max((median_gap(ts_ms) for ts_ms in many), default=0.0)


def _waited(
    group: GroupInput, places: list[TopicPartition], start_ms: int, end_ms: int, shortest_ms: int
) -> tuple[int, int | None] | None:
    """Return since when records waited, and how many at last.

    The time is the end of the period if none waited. None without samples.
    """
    sampled = [topic_partition for topic_partition in places if topic_partition in group.ends]
    waiting: dict[int, int] = {}
    for topic_partition in sampled:
        for at_ms, lag in _lags(group, topic_partition, start_ms, end_ms):
            waiting[at_ms] = waiting.get(at_ms, 0) + lag
    moments = sorted(waiting)
    if moments and waiting[moments[-1]]:
        idle_ms = max((at_ms for at_ms in moments if not waiting[at_ms]), default=0)
        late_ms = [at_ms for at_ms in moments if at_ms > idle_ms]
        return (late_ms[0], waiting[late_ms[-1]]) if len(late_ms) >= FEWEST_SAMPLES else None
    to_the_end = bool(moments) and len(sampled) == len(places) and end_ms - moments[-1] < shortest_ms
    return (end_ms, None) if to_the_end else None


def _lags(group: GroupInput, topic_partition: TopicPartition, start_ms: int, end_ms: int) -> Iterator[tuple[int, int]]:
    """Yield the waiting records at each sample.

    Without a position from the start only records that arrived later count: a group that never committed may have begun
    at the log end. Commits before the window aren't known either.
    """
    ends, commits = group.ends[topic_partition], group.commits.get(topic_partition)
    inside = (ends.sampled_ms >= start_ms) & (ends.sampled_ms < end_ms)
    if start_ms >= group.since_ms and commits is not None and commits.position(start_ms) is not None:
        lag = lag_at_samples(ends, commits)
    else:
        lag = np.maximum(0, ends.log_end - np.maximum(ends.log_end[inside][:1].max(initial=0), ends.log_start))
    yield from zip(ends.sampled_ms[inside].tolist(), lag[inside].tolist(), strict=True)


def _stands_out(group: GroupInput, places: list[TopicPartition], start_ms: int, progress_ms: int | None) -> bool:
    """Return whether commits alone show a restore: a long silence between two regular phases.

    No other silence was half as long, and at least half of the records that usually arrive in such a time were read
    afterwards.
    """
    return progress_ms is not None and any(
        topic_partition in group.commits and _is_a_hole(group.commits[topic_partition], start_ms, progress_ms)
        for topic_partition in places
    )


def _is_a_hole(commits: PartitionCommits, start_ms: int, progress_ms: int) -> bool:
    times, offsets = commits.ts_ms, commits.committed
    earlier, later = np.flatnonzero(times <= start_ms), np.flatnonzero(times >= progress_ms)
    if len(earlier) < FEWEST_COMMITS or len(later) < FEWEST_COMMITS:
        return False
    first, last, resumed, soon = earlier[-FEWEST_COMMITS], earlier[-1], later[0], later[FEWEST_COMMITS - 1]
    usual_ms = max(median_gap(times[a : b + 1]) for a, b in ((first, last), (resumed, soon)))
    silence_ms = progress_ms - int(times[last])
    others_ms = np.concatenate([np.diff(times[: last + 1]), np.diff(times[resumed:])])
    if silence_ms < max(TIMES_THE_USUAL * max(usual_ms, 1.0), TWICE * float(others_ms.max())):
        return False
    rate = (int(offsets[last]) - int(offsets[first])) / max(1, int(times[last]) - int(times[first]))
    came = int(offsets[soon]) - int(offsets[last])
    return came >= max(1.0, AS_MUCH_AS_USUAL * rate * (int(times[soon]) - int(times[last])))


def _changelogs(history: StreamsHistory, stay: TaskStay) -> list[TopicPartition]:
    return [(topic, stay.task[1]) for topic in history.subtopology_of(stay.task, stay.start_ms).stores]


def _held(group: GroupInput, changelogs: list[TopicPartition], at_ms: int) -> int | None:
    """Return the maximum number of records in changelogs: compaction leaves gaps."""
    held: int | None = None
    for topic_partition in changelogs:
        if (ends := group.ends.get(topic_partition)) is not None and (sampled := ends.sampled_ms <= at_ms).any():
            n = int(np.flatnonzero(sampled)[-1])
            held = (held or 0) + int(ends.log_end[n] - ends.log_start[n])
    return held


def _others_went_on(group: GroupInput, history: StreamsHistory, stay: TaskStay, end_ms: int) -> bool | None:
    """Return whether commits were made for tasks that were not reassigned, or None without such tasks."""
    other_tasks = {other.task for other in history.tasks if _was_there(other, stay.start_ms, end_ms)} - {stay.task}
    places = [topic_partition for task in other_tasks for topic_partition in _read_by(history, task, stay.start_ms)]
    # Look at the middle of the period: tasks that stop and continue together have a common cause.
    quarter_ms = (end_ms - stay.start_ms) // 4
    span = stay.start_ms + quarter_ms, end_ms - quarter_ms
    return any(_moved(group, topic_partition, *span) for topic_partition in places) if places else None


def _was_there(other: TaskStay, start_ms: int, end_ms: int) -> bool:
    return other.start_ms < start_ms and (other.end_ms is None or other.end_ms > end_ms)


def _read_by(history: StreamsHistory, task: Task, at_ms: int) -> list[TopicPartition]:
    subtopology = history.subtopology_of(task, at_ms)
    return [(topic, task[1]) for topic in (*subtopology.reads, *subtopology.rereads)]


def _moved(group: GroupInput, topic_partition: TopicPartition, start_ms: int, end_ms: int) -> bool:
    moved_ms = _progress(group, topic_partition, start_ms)
    return moved_ms is not None and moved_ms <= end_ms
