"""Goes on looking at a cluster that does not answer, and says since when it does not."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from kohort.watch.client import BrokerError
from kohort.watch.snapshot import Snapshot


class Looks(Protocol):
    """A cluster that can be looked at."""

    async def look(self, at: float) -> Snapshot:
        """What there is now. Raises BrokerError."""
        ...


class Looking:
    """Looks again and again."""

    def __init__(self, cluster: Looks, now: Callable[[], float] = time.time) -> None:
        self._cluster = cluster
        self._now = now
        self.away_since: float | None = None
        """When the cluster did not answer for the first time; None: it answers."""
        self.back_after_s: float | None = None
        """How long it was away, if this look is the first that it has answered since."""
        self._problem = ""

    async def again(self, before: Snapshot) -> Snapshot:
        """What there is now; or what there was before, with the problem and since when there is one."""
        at = self._now()
        self.back_after_s = None
        try:
            found = await self._cluster.look(at)
        except BrokerError as problem:
            if self.away_since is None:
                self.away_since = at
                clock = time.strftime("%H:%M:%S", time.localtime(at))
                self._problem = f"{problem}; since {clock}, trying again; what is shown is from before"
            return replace(before, problems=(self._problem,))
        if self.away_since is not None:
            self.back_after_s, self.away_since = at - self.away_since, None
        return found
