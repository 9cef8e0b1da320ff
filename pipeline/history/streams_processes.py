"""Processes of a streams group: their time in the group, and the tasks that others took over when they left."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from kohort.pipeline.history.share_members import LEFT, UNKNOWN, VANISHED
from kohort.pipeline.history.streams_history import StreamsHistory, Task, ThreadStay

TOGETHER_MS = 60_000  # threads that left this shortly before the last one left with their process


@dataclass(slots=True)
class ProcessStay:
    """Time of a process in the group, from its first thread to its last. `end_ms` is unset while it is a member."""

    threads: list[ThreadStay]
    start_ms: int
    end_ms: int | None

    @property
    def had(self) -> frozenset[Task]:
        since_ms = (self.end_ms or 0) - TOGETHER_MS
        return frozenset(
            task for thread in self.threads if (thread.end_ms or since_ms) >= since_ms for task in thread.had
        )

    @property
    def ended(self) -> str:
        """End of the process: vanished if any of its threads vanished."""
        how = {thread.ended for thread in self.threads}
        return VANISHED if VANISHED in how else LEFT if how == {LEFT} else UNKNOWN

    @property
    def member_ids(self) -> set[str]:
        return {thread.member_id for thread in self.threads}


@dataclass(slots=True)
class Process:
    """A process, or successive processes with one name on one host."""

    name: str
    stays: list[ProcessStay] = field(default_factory=list)


def processes(history: StreamsHistory) -> list[Process]:
    """Return all processes ordered by name.

    A process that lost its state directory has another process id. It is identified by name and host, if no two
    processes had these at the same time.
    """
    by_place: dict[tuple[str, str], dict[str, list[ThreadStay]]] = {}
    for thread in history.threads:
        by_place.setdefault((thread.name, thread.host), {}).setdefault(thread.process_id, []).append(thread)
    results: list[Process] = []
    for (name, _), by_id in by_place.items():
        each_alone = [_stays(threads) for threads in by_id.values()]
        stays = sorted((stay for alone in each_alone for stay in alone), key=lambda stay: stay.start_ms)
        if any(previous.end_ms is None or previous.end_ms > after.start_ms for previous, after in pairwise(stays)):
            results += [Process(name, alone) for alone in each_alone]
        else:
            results.append(Process(name, stays))
    return sorted(results, key=lambda process: process.name)


def _stays(threads: list[ThreadStay]) -> list[ProcessStay]:
    """Return the stays of a process, which is a member while any of its threads is."""
    stays: list[ProcessStay] = []
    for thread in sorted(threads, key=lambda thread: thread.start_ms):
        last = stays[-1] if stays else None
        if last is not None and (last.end_ms is None or thread.start_ms <= last.end_ms):
            last.threads.append(thread)
            last.end_ms = None if last.end_ms is None or thread.end_ms is None else max(last.end_ms, thread.end_ms)
        else:
            stays.append(ProcessStay([thread], thread.start_ms, thread.end_ms))
    return stays


def taken_over(history: StreamsHistory, departed: ProcessStay, back: ProcessStay) -> int:
    """Count the active tasks of a departed process that others were assigned until it departed again."""
    assert departed.end_ms is not None, "the process has left"
    until_ms = history.until_ms if back.end_ms is None else back.end_ms
    own = departed.member_ids | back.member_ids
    assigned = (stay for stay in history.tasks if departed.end_ms <= stay.start_ms <= until_ms)
    return len({stay.task for stay in assigned if stay.task in departed.had and stay.member.member_id not in own})


def threads_that_stayed(history: StreamsHistory, start_ms: int, end_ms: int) -> int:
    """Count the threads in a period; 0 if any joined or left, a task moved, or none had tasks."""
    threads = history.threads_between(start_ms, end_ms)
    stayed = all(entry.start_ms <= start_ms and (entry.end_ms is None or entry.end_ms >= end_ms) for entry in threads)
    moved = any(start_ms < entry.start_ms < end_ms for entry in history.tasks)
    return len(threads) if stayed and not moved and any(entry.had for entry in threads) else 0
