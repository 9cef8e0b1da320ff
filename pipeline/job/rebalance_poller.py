"""Polling of groups in a rebalance, every other second; the log shows a rebalance only after it has completed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kohort.client.security import OPEN, Security
from kohort.pipeline.job.error_log import ErrorLog
from kohort.pipeline.job.periodic import looking
from kohort.pipeline.live.open_rebalances import Ask, OpenRebalances
from kohort.pipeline.live.webhook import Message
from kohort.pipeline.sources.source_groups import SourceGroups

LOOK_EVERY_S = 2.0


class GroupWatch:
    """Poller of open rebalances that reports each error once."""

    def __init__(
        self,
        source: SourceGroups,
        rebalances: OpenRebalances,
        tell: Callable[[Message], None],
        say: Callable[[str], None],
    ) -> None:
        self._source, self._rebalances, self._tell, self._errors = source, rebalances, tell, ErrorLog(say)

    def look(self, now_ms: int) -> None:
        """Poll once; the streams report an unreachable cluster."""
        try:
            cluster_state = self._source.look()
        except OSError:
            return
        except (LookupError, TypeError, ValueError) as error:
            self._errors.add(f"cannot detect open rebalances: invalid response from the cluster ({error!r})")
            return
        if cluster_state.closed:
            self._errors.add(f"cannot detect open rebalances: {cluster_state.closed}")
        for alert in self._rebalances.look(now_ms, cluster_state.groups, cluster_state.silent):
            self._tell(Message.of(alert))


@contextmanager
def watching_groups(
    address: str, ask: Ask, tell: Callable[[Message], None], say: Callable[[str], None], security: Security = OPEN
) -> Iterator[OpenRebalances]:
    """Report rebalances that stay open, and their end, until the block ends.

    Args:
        ask: Returns what the log shows about groups with an open rebalance.
    """
    rebalances, source = OpenRebalances(ask), SourceGroups(address, security)
    watch = GroupWatch(source, rebalances, tell, say)
    try:
        with looking(lambda: watch.look(round(time.time() * 1000)), LOOK_EVERY_S):
            yield rebalances
    finally:
        source.close()
