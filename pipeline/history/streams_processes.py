"""Processes of a streams group: when each was there, and which tasks others had to take over when it went."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from kohort.pipeline.history.share_members import LEFT, UNKNOWN, VANISHED
from kohort.pipeline.history.streams_history import StreamsHistory, Task, ThreadStay

TOGETHER_MS = 60_000
"""Threads that went so shortly before the last one went with their process."""


@dataclass(slots=True)
class ProcessStay:
    """A process's time in the group, from its first thread to its last. end_ms: None while it is there."""

    threads: list[ThreadStay]
    start_ms: int
    end_ms: int | None

    @property
    def had(self) -> frozenset[Task]:
        """The active tasks that it had when it went."""
        since_ms = (self.end_ms or 0) - TOGETHER_MS
        return frozenset(task for each in self.threads if (each.end_ms or since_ms) >= since_ms for task in each.had)

    @property
    def ended(self) -> str:
        """Vanished if any of its threads has."""
        how = {each.ended for each in self.threads}
        return VANISHED if VANISHED in how else LEFT if how == {LEFT} else UNKNOWN

    @property
    def member_ids(self) -> set[str]:
        """The ids of its threads."""
        return {each.member_id for each in self.threads}


@dataclass(slots=True)
class Process:
    """A process, or the processes that were one after the other under one name on one host."""

    name: str
    stays: list[ProcessStay] = field(default_factory=list)


def processes(history: StreamsHistory) -> list[Process]:
    """All of them, by name.

    A process whose state directory is gone has another process id. It is known by its name and host, if no two
    processes have had these at a time.
    """
    by_place: dict[tuple[str, str], dict[str, list[ThreadStay]]] = {}
    for thread in history.threads:
        by_place.setdefault((thread.name, thread.host), {}).setdefault(thread.process_id, []).append(thread)
    found: list[Process] = []
    for (name, _), by_id in by_place.items():
        each_alone = [_stays(threads) for threads in by_id.values()]
        stays = sorted((stay for alone in each_alone for stay in alone), key=lambda stay: stay.start_ms)
        if any(before.end_ms is None or before.end_ms > after.start_ms for before, after in pairwise(stays)):
            found += [Process(name, alone) for alone in each_alone]
        else:
            found.append(Process(name, stays))
    return sorted(found, key=lambda process: process.name)


def _stays(threads: list[ThreadStay]) -> list[ProcessStay]:
    """A process is there while any of its threads is."""
    stays: list[ProcessStay] = []
    for thread in sorted(threads, key=lambda each: each.start_ms):
        last = stays[-1] if stays else None
        if last is not None and (last.end_ms is None or thread.start_ms <= last.end_ms):
            last.threads.append(thread)
            last.end_ms = None if last.end_ms is None or thread.end_ms is None else max(last.end_ms, thread.end_ms)
        else:
            stays.append(ProcessStay([thread], thread.start_ms, thread.end_ms))
    return stays


def taken_over(history: StreamsHistory, gone: ProcessStay, back: ProcessStay) -> int:
    """Active tasks of a process that went which others were given until it went again."""
    assert gone.end_ms is not None, "it went"
    until_ms = history.until_ms if back.end_ms is None else back.end_ms
    own = gone.member_ids | back.member_ids
    given = (each for each in history.tasks if gone.end_ms <= each.start_ms <= until_ms)
    return len({each.task for each in given if each.task in gone.had and each.member.member_id not in own})


def threads_that_stayed(history: StreamsHistory, start_ms: int, end_ms: int) -> int:
    """How many there were all through a stretch; 0 if anyone came or went, a task moved, or none of them had tasks."""
    there = history.threads_between(start_ms, end_ms)
    stayed = all(each.start_ms <= start_ms and (each.end_ms is None or each.end_ms >= end_ms) for each in there)
    moved = any(start_ms < each.start_ms < end_ms for each in history.tasks)
    return len(there) if stayed and not moved and any(each.had for each in there) else 0
