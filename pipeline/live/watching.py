"""How far the log has been read without a gap, told from the driver to the workers in a small file."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

from kohort.pipeline.live.tracker import Watched
from kohort.pipeline.whole_files import replace_text

GAP_MS = 30_000
"""Longer between two looks at the log's end: nobody was watching."""
NEVER = Watched(1 << 60, 0)
"""Nothing was read to its end yet: no silence counts."""


@dataclass(slots=True)
class WatchedUntil:
    """The driver's side. Called whenever it has looked where the log ends."""

    path: Path
    watched: Watched | None = None

    def looked(self, now_ms: int, *, to_the_end: bool) -> None:
        """to_the_end: the batch that begins now takes everything that was in the log at that time.

        Without that the last moment stays: it is true of the batches before.
        """
        if not to_the_end:
            return
        before = self.watched
        since_ms = now_ms if before is None or now_ms - before.until_ms > GAP_MS else before.since_ms
        self.watched = Watched(since_ms, now_ms)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(self.path, json.dumps(self.watched))


def watched(path: Path | None) -> Watched:
    """The worker's side. path None: somebody else keeps up with the log, so everything to now has been read."""
    if path is None:
        return Watched(0, round(time.time() * 1000))
    try:
        return Watched(*json.loads(path.read_text()))
    except FileNotFoundError:
        return NEVER
