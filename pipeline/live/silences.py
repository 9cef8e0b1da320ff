"""Whether a group that commits nothing has anything to read: only then its silence is told.

The tracker sees commits alone. A group that has read everything commits nothing either, for as long as nothing comes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from kohort.pipeline.history.stalls import SILENCE_MS
from kohort.pipeline.live.webhook import Message
from kohort.pipeline.rules.finding import several

Place = tuple[str, int]
Waiting = dict[Place, tuple[int, int]]
"""Committed offset and end of the log, by partition with something to read."""
SILENT, RESUMED, EMPTY = "silent", "resumed", "empty"


@dataclass(slots=True)
class _Silence:
    message: Message
    waiting: Waiting = field(default_factory=dict)
    since_ms: int | None = None
    """From when on it is known that a record waits; None: none does."""
    told: bool = False


class Silences:
    """Keeps back what the tracker says of silent groups until records are known to wait. Threads may share it."""

    def __init__(self, waiting: Callable[[str], Waiting | None], now_ms: Callable[[], int]) -> None:
        """waiting: asks for a group; None: nobody tells, and then the silence itself is told."""
        self._waiting, self._now_ms = waiting, now_ms
        self._silent: dict[str, _Silence] = {}
        self._lock = threading.Lock()

    def hear(self, message: Message) -> list[Message]:
        """What is to be told of it now."""
        with self._lock:
            if message.kind == SILENT:
                self._silent[message.group] = _Silence(message)
                return list(self._asked(message.group))
            ended = self._silent.pop(message.group, None) if message.kind in (RESUMED, EMPTY) else None
            unknown = message.kind == RESUMED and ended is not None and not ended.told
            return [] if unknown else [message]

    def look(self) -> list[Message]:
        """Asks again for all that are silent and not told of yet."""
        with self._lock:
            groups = [group for group, silence in self._silent.items() if not silence.told]
            return [message for group in groups for message in self._asked(group)]

    def _asked(self, group: str) -> Iterator[Message]:
        silence, now_ms = self._silent[group], self._now_ms()
        waiting = self._waiting(group)
        if waiting is None:
            silence.told = True
            yield silence.message
            return
        same = {place for place, (offset, _) in waiting.items() if silence.waiting.get(place, (-1, 0))[0] == offset}
        if not same:  # nothing waits, or it is the first time that something does
            silence.since_ms = now_ms if waiting else None
        silence.waiting = waiting
        if silence.since_ms is None or now_ms - silence.since_ms < SILENCE_MS / 2:
            return
        silence.told = True
        records = sum(end - offset for offset, end in waiting.values())
        wait = f"{several(records, 'record')} {'waits' if records == 1 else 'wait'}"
        yield replace(silence.message, text=f"{silence.message.text}; {wait}")
