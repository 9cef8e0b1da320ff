"""Tasks with state that nobody worked on after they were given to a process which had no copy of them.

The coordinator isn't told how far a task is restored (Kafka 4.3 refuses a member's task offsets). What shows is when a
task was given, when the first commit of what it reads came, whether records waited meanwhile, and how much its
changelog holds. Where samples of log ends say that nothing waited, nothing stood; where there are none, nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kohort.pipeline.history.inputs import GroupInput, PartitionCommits, TopicPartition
from kohort.pipeline.history.lag import lag_at_samples
from kohort.pipeline.history.streams_history import StreamsHistory, Task, TaskStay

FEWEST_SAMPLES = 2
SEVERAL_TIMES = 3
"""A shorter silence than so many usual gaps is none."""
FEWEST_COMMITS = 20
"""Before and after, where commits alone tell what is usual."""
TIMES_THE_USUAL = 20
TWICE = 2
"""A silence that is not so many times as long as any other one is none that stands out."""
AS_MUCH_AS_USUAL = 0.5
"""A share of the records that come at the usual rate: after a silence in which fewer came, nothing had waited."""


@dataclass(frozen=True, slots=True)
class Restore:
    """A task that stood from the moment it was given. ended: a commit came, else it was taken away or is still so.

    stood_ms: while records waited. lag: records that waited at the last sample; None: no samples tell that any did.
    changelog: records that its changelogs hold at most; None: no samples tell. others_went_on: records of other tasks
    were read meanwhile; None: there are no such tasks.
    """

    stay: TaskStay
    end_ms: int
    ended: bool
    stood_ms: int
    lag: int | None
    changelog: int | None
    others_went_on: bool | None


def restores(group: GroupInput, history: StreamsHistory, shortest_ms: int) -> Iterator[Restore]:
    """Those that stood for so long, in the order in which they were given."""
    usual_ms = _usual_ms(group)
    for stay in history.tasks:
        if stay.is_cold is False or not stay.begins_intact:
            continue
        if (found := _restore(group, history, stay, shortest_ms, usual_ms)) is not None:
            yield found


def _restore(
    group: GroupInput, history: StreamsHistory, stay: TaskStay, shortest_ms: int, usual_ms: float
) -> Restore | None:
    changelogs = _changelogs(history, stay)
    if not changelogs:
        return None
    read = _read_by(history, stay.task, stay.start_ms)
    progress_ms = min((ms for each in read if (ms := _progress(group, each, stay.start_ms)) is not None), default=None)
    end_ms = min(each for each in (progress_ms, stay.end_ms, history.until_ms) if each is not None)
    if end_ms - stay.start_ms < shortest_ms:
        return None
    waited = _waited(group, read, stay.start_ms, end_ms, shortest_ms)
    if waited is None and _stands_out(group, read, stay.start_ms, progress_ms):
        waited = stay.start_ms, None
    if waited is None or end_ms - waited[0] < max(shortest_ms, SEVERAL_TIMES * usual_ms):
        return None
    held, went_on = _held(group, changelogs, end_ms), _others_went_on(group, history, stay, end_ms)
    return Restore(stay, end_ms, end_ms == progress_ms, end_ms - waited[0], waited[1], held, went_on)


def _progress(group: GroupInput, place: TopicPartition, since_ms: int) -> int | None:
    """When a position first changed after that. One that goes back is read again from there: its offset was lost."""
    commits = group.commits.get(place)
    if commits is None:
        return None
    known = commits.position(since_ms)
    changed = (commits.ts_ms > since_ms) & (commits.committed != (-1 if known is None else known))
    return int(commits.ts_ms[changed][0]) if changed.any() else None


def _usual_ms(group: GroupInput) -> float:
    """How far apart commits of one partition are, where they are farthest apart."""
    many = (commits.ts_ms for commits in group.commits.values() if len(commits.ts_ms) >= FEWEST_SAMPLES + 1)
    return max((float(np.median(np.diff(ts_ms))) for ts_ms in many), default=0.0)


def _waited(
    group: GroupInput, places: list[TopicPartition], start_ms: int, end_ms: int, shortest_ms: int
) -> tuple[int, int | None] | None:
    """From when on records waited, and how many at last: the end of the stretch where none did; None: nobody knows."""
    sampled = [place for place in places if place in group.ends]
    waiting: dict[int, int] = {}
    for place in sampled:
        for at_ms, lag in _lags(group, place, start_ms, end_ms):
            waiting[at_ms] = waiting.get(at_ms, 0) + lag
    moments = sorted(waiting)
    if moments and waiting[moments[-1]]:
        idle_ms = max((at_ms for at_ms in moments if not waiting[at_ms]), default=0)
        late = [at_ms for at_ms in moments if at_ms > idle_ms]
        return (late[0], waiting[late[-1]]) if len(late) >= FEWEST_SAMPLES else None
    to_the_end = bool(moments) and len(sampled) == len(places) and end_ms - moments[-1] < shortest_ms
    return (end_ms, None) if to_the_end else None


def _lags(group: GroupInput, place: TopicPartition, start_ms: int, end_ms: int) -> Iterator[tuple[int, int]]:
    """Records that waited at each sample.

    Where no position is known from the start only those count that came later: a group that never committed may have
    begun at the log's end. What was committed before the window isn't known either.
    """
    ends, commits = group.ends[place], group.commits.get(place)
    inside = (ends.sampled_ms >= start_ms) & (ends.sampled_ms < end_ms)
    if start_ms >= group.since_ms and commits is not None and commits.position(start_ms) is not None:
        lag = lag_at_samples(ends, commits)
    else:
        lag = np.maximum(0, ends.log_end - np.maximum(ends.log_end[inside][:1].max(initial=0), ends.log_start))
    yield from zip(ends.sampled_ms[inside].tolist(), lag[inside].tolist(), strict=True)


def _stands_out(group: GroupInput, places: list[TopicPartition], start_ms: int, progress_ms: int | None) -> bool:
    """Whether commits alone show it: they were regular, then there were none for long, then they were regular again.

    None of its other silences was half as long, and at least half as much was read afterwards as comes in such a time.
    """
    return progress_ms is not None and any(
        place in group.commits and _is_a_hole(group.commits[place], start_ms, progress_ms) for place in places
    )


def _is_a_hole(commits: PartitionCommits, start_ms: int, progress_ms: int) -> bool:
    times, offsets = commits.ts_ms, commits.committed
    before, after = np.flatnonzero(times <= start_ms), np.flatnonzero(times >= progress_ms)
    if len(before) < FEWEST_COMMITS or len(after) < FEWEST_COMMITS:
        return False
    first, last, again, soon = before[-FEWEST_COMMITS], before[-1], after[0], after[FEWEST_COMMITS - 1]
    usual_ms = max(float(np.median(np.diff(times[a : b + 1]))) for a, b in ((first, last), (again, soon)))
    silence_ms = progress_ms - int(times[last])
    others_ms = np.concatenate([np.diff(times[: last + 1]), np.diff(times[again:])])
    if silence_ms < max(TIMES_THE_USUAL * max(usual_ms, 1.0), TWICE * float(others_ms.max())):
        return False
    rate = (int(offsets[last]) - int(offsets[first])) / max(1, int(times[last]) - int(times[first]))
    came = int(offsets[soon]) - int(offsets[last])
    return came >= max(1.0, AS_MUCH_AS_USUAL * rate * (int(times[soon]) - int(times[last])))


def _changelogs(history: StreamsHistory, stay: TaskStay) -> list[TopicPartition]:
    """Where the state of a task is kept; nothing of one without state."""
    return [(topic, stay.task[1]) for topic in history.subtopology_of(stay.task, stay.start_ms).stores]


def _held(group: GroupInput, changelogs: list[TopicPartition], at_ms: int) -> int | None:
    """Records that changelogs hold at most: compaction leaves holes."""
    held: int | None = None
    for place in changelogs:
        if (ends := group.ends.get(place)) is not None and (sampled := ends.sampled_ms <= at_ms).any():
            n = int(np.flatnonzero(sampled)[-1])
            held = (held or 0) + int(ends.log_end[n] - ends.log_start[n])
    return held


def _others_went_on(group: GroupInput, history: StreamsHistory, stay: TaskStay, end_ms: int) -> bool | None:
    """Whether something was committed for tasks that were not given anew; None: there are none."""
    others = {each.task for each in history.tasks if _was_there(each, stay.start_ms, end_ms)} - {stay.task}
    places = [place for task in others for place in _read_by(history, task, stay.start_ms)]
    quarter_ms = (end_ms - stay.start_ms) // 4  # in the midst of it: what stands and goes on together has one cause
    span = stay.start_ms + quarter_ms, end_ms - quarter_ms
    return any(_moved(group, place, *span) for place in places) if places else None


def _was_there(other: TaskStay, start_ms: int, end_ms: int) -> bool:
    """Whether a task was in the same hands from before the one moment to after the other."""
    return other.start_ms < start_ms and (other.end_ms is None or other.end_ms > end_ms)


def _read_by(history: StreamsHistory, task: Task, at_ms: int) -> list[TopicPartition]:
    subtopology = history.subtopology_of(task, at_ms)
    return [(topic, task[1]) for topic in (*subtopology.reads, *subtopology.rereads)]


def _moved(group: GroupInput, place: TopicPartition, start_ms: int, end_ms: int) -> bool:
    moved_ms = _progress(group, place, start_ms)
    return moved_ms is not None and moved_ms <= end_ms
