"""Filter for alerts about silent groups: a silence is reported only if the group has records to read.

The tracker only sees commits. A group that has read everything makes no commits either, while no records arrive.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from kohort.pipeline.history.stalls import SILENCE_MS
from kohort.pipeline.live.webhook import Message
from kohort.pipeline.rules.finding import several

Place = tuple[str, int]
Waiting = dict[Place, tuple[int, int]]  # committed offset and log end, by partition with records to read
SILENT, RESUMED, EMPTY = "silent", "resumed", "empty"


@dataclass(slots=True)
class _Silence:
    message: Message
    waiting: Waiting = field(default_factory=dict)
    since_ms: int | None = None  # time since which a record is known to wait, or None
    reported: bool = False


class Silences:
    """Holds back the tracker's alerts about silent groups until records are known to wait. Thread-safe."""

    def __init__(self, waiting: Callable[[str], Waiting | None], now_ms: Callable[[], int]) -> None:
        """Create a filter.

        Args:
            waiting: Returns the lag of a group, or None if it is unknown; then the silence itself is reported.
        """
        self._waiting, self._now_ms = waiting, now_ms
        self._silent: dict[str, _Silence] = {}
        self._lock = threading.Lock()

    def hear(self, message: Message) -> list[Message]:
        """Return the alerts to report for a message of the tracker."""
        with self._lock:
            if message.kind == SILENT:
                self._silent[message.group] = _Silence(message)
                return list(self._check(message.group))
            ended = self._silent.pop(message.group, None) if message.kind in (RESUMED, EMPTY) else None
            unknown = message.kind == RESUMED and ended is not None and not ended.reported
            return [] if unknown else [message]

    def look(self) -> list[Message]:
        """Check all silent groups without an alert again and return their alerts."""
        with self._lock:
            groups = [group for group, silence in self._silent.items() if not silence.reported]
            return [message for group in groups for message in self._check(group)]

    def _check(self, group: str) -> Iterator[Message]:
        silence, now_ms = self._silent[group], self._now_ms()
        waiting = self._waiting(group)
        if waiting is None:
            silence.reported = True
            yield silence.message
            return
        same = {
            topic_partition
            for topic_partition, (offset, _) in waiting.items()
            if silence.waiting.get(topic_partition, (-1, 0))[0] == offset
        }
        if not same:  # nothing waits, or it is the first time that something does
            silence.since_ms = now_ms if waiting else None
        silence.waiting = waiting
        if silence.since_ms is None or now_ms - silence.since_ms < SILENCE_MS / 2:
            return
        silence.reported = True
        records = sum(end - offset for offset, end in waiting.values())
        wait = f"{several(records, 'record')} {'waits' if records == 1 else 'wait'}"
        yield replace(silence.message, text=f"{silence.message.text}; {wait}")
