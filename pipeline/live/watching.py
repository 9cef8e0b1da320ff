"""Period in which the log was read without a gap, passed from the driver to the workers in a small file."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

from kohort.pipeline.live.tracker import Watched
from kohort.pipeline.whole_files import replace_text

GAP_MS = 30_000  # time between two queries of the log end that interrupts the period
NEVER = Watched(1 << 60, 0)  # nothing has been read to its end yet: no silence counts


def extended(watched: Watched | None, now_ms: int) -> Watched:
    """Return the period after the log was read to its end, which starts again after a gap."""
    if watched is None or now_ms - watched.until_ms > GAP_MS:
        return Watched(now_ms, now_ms)
    return Watched(watched.since_ms, now_ms)


@dataclass(slots=True)
class WatchedUntil:
    """Driver side. To be called after each query of the log end."""

    path: Path
    watched: Watched | None = None

    def looked(self, now_ms: int, *, to_the_end: bool) -> None:
        """Extend the period.

        Args:
            to_the_end: Whether the next batch contains everything that was in the log at that time. Otherwise the last
                time stays, which holds for the earlier batches.
        """
        if not to_the_end:
            return
        self.watched = extended(self.watched, now_ms)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(self.path, json.dumps(self.watched))


def watched(path: Path | None) -> Watched:
    """Return the period on the worker side. Without a path everything until now has been read."""
    if path is None:
        return Watched(0, round(time.time() * 1000))
    try:
        return Watched(*json.loads(path.read_text()))
    except FileNotFoundError:
        return NEVER
