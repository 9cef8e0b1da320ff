"""Looks every other second which groups are in a rebalance, beside the streams: the log shows it when it is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kohort.client.security import OPEN, Security
from kohort.pipeline.job.periodic import looking
from kohort.pipeline.live.last_generations import LastGenerations
from kohort.pipeline.live.open_rebalances import OpenRebalances
from kohort.pipeline.live.webhook import Message
from kohort.pipeline.sources.source_groups import SourceGroups

LOOK_EVERY_S = 2.0


class GroupWatch:
    """One look after the other. What it can't see it says once."""

    def __init__(
        self,
        source: SourceGroups,
        rebalances: OpenRebalances,
        tell: Callable[[Message], None],
        say: Callable[[str], None],
    ) -> None:
        self._source, self._rebalances, self._tell, self._say = source, rebalances, tell, say
        self._said: set[str] = set()

    def look(self, now_ms: int) -> None:
        """A cluster that is away is no news here: the streams say so."""
        try:
            seen = self._source.look()
        except OSError:
            return
        except (LookupError, TypeError, ValueError) as problem:
            self._once(f"open rebalances can't be told: the cluster answers what no Kafka does ({problem!r})")
            return
        if seen.closed:
            self._once(f"open rebalances can't be told: {seen.closed}")
        for alert in self._rebalances.look(now_ms, seen.groups, seen.silent):
            self._tell(Message(alert.group_id, alert.ts_ms, alert.kind, alert.severity, alert.text))

    def _once(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._say(text)


@contextmanager
def watching_groups(
    address: str, silver: Path, tell: Callable[[Message], None], say: Callable[[str], None], security: Security = OPEN
) -> Iterator[OpenRebalances]:
    """Tells of rebalances that stay open, and when they are over, until the block ends."""
    rebalances, source = OpenRebalances(LastGenerations(silver)), SourceGroups(address, security)
    watch = GroupWatch(source, rebalances, tell, say)
    try:
        with looking(lambda: watch.look(round(time.time() * 1000)), LOOK_EVERY_S):
            yield rebalances
    finally:
        source.close()
