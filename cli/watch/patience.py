"""Repeated snapshots of a cluster that may be unreachable for a while."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Protocol

from kohort.cli.watch.client import BrokerError
from kohort.cli.watch.snapshot import Snapshot


class Looks(Protocol):
    """Cluster with snapshots."""

    async def look(self, at: float) -> Snapshot:
        """Return a snapshot. Raise BrokerError if the cluster can't be reached."""
        ...


class Looking:
    """Repeated attempts."""

    def __init__(self, cluster: Looks) -> None:
        self._cluster = cluster
        self.away_since: float | None = None  # time of the first failure; None while the cluster responds
        self.back_after_s: float | None = None  # length of the outage that this snapshot ended
        self._problem = ""

    async def look_again(self, previous: Snapshot) -> Snapshot:
        """Return a new snapshot, or the previous one with the current problem and its start time."""
        at = time.time()
        self.back_after_s = None
        try:
            snapshot = await self._cluster.look(at)
        except BrokerError as problem:
            if self.away_since is None:
                self.away_since = at
                clock = time.strftime("%H:%M:%S", time.localtime(at))
                self._problem = f"{problem}; since {clock}, retrying; showing the previous state"
            return replace(previous, problems=(self._problem,))
        if self.away_since is not None:
            self.back_after_s, self.away_since = at - self.away_since, None
        return snapshot
