"""Polling of groups in a rebalance, every other second; the log shows a rebalance only after it has completed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from kohort.client.security import OPEN, Security
from kohort.pipeline.job.error_log import ErrorLog
from kohort.pipeline.job.periodic import looking
from kohort.pipeline.live.open_rebalances import Ask, OpenRebalances
from kohort.pipeline.live.webhook import Message
from kohort.pipeline.rules.finding import listed
from kohort.pipeline.sources.source_groups import SourceGroups

LOOK_EVERY_S = 2.0
CHECK_MS = 60_000  # interval at which permissions are checked

ResultT = TypeVar("ResultT")


class GroupWatch:
    """Poller of open rebalances that reports each error once."""

    def __init__(
        self,
        source: SourceGroups,
        rebalances: OpenRebalances,
        tell: Callable[[Message], None],
        say: Callable[[str], None],
        group_names: Callable[[], Sequence[str]] = lambda: (),
    ) -> None:
        """Create a poller.

        Args:
            group_names: Returns the groups that the log contains; a warning names those that cannot be described.
        """
        self._source, self._rebalances, self._tell, self._errors = source, rebalances, tell, ErrorLog(say)
        self._group_names, self._checked_ms = group_names, -CHECK_MS
        self._denied = ErrorLog(say, "open rebalances of all groups are detected again")

    def look(self, now_ms: int) -> None:
        """Poll once; the streams report an unreachable cluster."""
        cluster_state = self._query(self._source.look)
        if cluster_state is not None:
            if cluster_state.closed:
                self._errors.add(f"cannot detect open rebalances: {cluster_state.closed}")
            for alert in self._rebalances.look(now_ms, cluster_state.groups, cluster_state.silent):
                self._tell(Message.of(alert))
        self._query(lambda: self._check_permissions(now_ms))

    def _query(self, function: Callable[[], ResultT]) -> ResultT | None:
        """Return the function's result, or None if the cluster cannot be queried."""
        try:
            return function()
        except OSError:
            return None
        except (LookupError, TypeError, ValueError) as error:
            self._errors.add(f"cannot detect open rebalances: invalid response from the cluster ({error!r})")
            return None

    def _check_permissions(self, now_ms: int) -> None:
        names = self._group_names()
        if not names or now_ms - self._checked_ms < CHECK_MS:
            return
        self._checked_ms = now_ms
        if denied := self._source.find_denied(names):
            self._denied.add(f"cannot detect open rebalances of {listed(denied)}: that needs Describe on the group")
        else:
            self._denied.recovered()


@contextmanager
def watching_groups(
    address: str,
    ask: Ask,
    tell: Callable[[Message], None],
    say: Callable[[str], None],
    security: Security = OPEN,
    group_names: Callable[[], Sequence[str]] = lambda: (),
) -> Iterator[OpenRebalances]:
    """Report rebalances that stay open, and their end, until the block ends.

    Args:
        ask: Returns what the log shows about groups with an open rebalance.
        group_names: Returns the groups that the log contains.
    """
    rebalances, source = OpenRebalances(ask), SourceGroups(address, security)
    watch = GroupWatch(source, rebalances, tell, say, group_names)
    try:
        with looking(lambda: watch.look(round(time.time() * 1000)), LOOK_EVERY_S):
            yield rebalances
    finally:
        source.close()
