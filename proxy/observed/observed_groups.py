"""Observation of groups on the proxy's event loop: the listener at the tap, the recorder of events, and timers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, cast

from kohort.base.clock import Clock
from kohort.broker.cluster.group_events import EventFeed
from kohort.control.history.recorder import Recorder
from kohort.proxy.loop_timers import LoopTimers
from kohort.proxy.observed.descriptions import Descriptions
from kohort.proxy.observed.group_listener import SETTLED_US, GroupListener
from kohort.proxy.observed.log_ends import LogEnds
from kohort.proxy.observed.observed_group import Traffic

if TYPE_CHECKING:
    from kohort.control.waiting import Waiters
    from kohort.proxy.observed.descriptions import DescribeGroups
    from kohort.proxy.observed.log_ends import FetchEndOffsets
    from kohort.proxy.tap import Tap

SETTLE_DELAY_S: Final = SETTLED_US / 1_000_000
CHECK_INTERVAL_S: Final = 5.0  # interval of counters and of forgetting silent groups


class ObservedGroups:
    """All groups with members that connect through one proxy. Created on first use."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        tap: Tap,
        waiters: Waiters,
        ends: FetchEndOffsets,
        answers: DescribeGroups,
    ) -> None:
        """Start to listen.

        Args:
            ends: Requests end offsets from the cluster.
            answers: Requests descriptions of groups from the cluster.
        """
        self.clock = clock
        self.waiters = waiters
        self.group_events = EventFeed(token_hex(4))
        self.purgatory = LoopTimers(loop, clock)
        self.recorder = Recorder(cast(Any, self))
        self.recorder.listen(lambda _: waiters.look())
        self.recorder.start()
        traffic = Traffic(self.group_events, clock.epoch_ms, clock.now_us())
        self.listener = GroupListener(traffic, self._changed, self._request_description)
        self.descriptions = Descriptions(loop, clock, answers, self.listener, self._changed)
        self.log_ends = LogEnds(loop, clock, ends, waiters.look)
        self._loop = loop
        self._tap = tap
        self._settle_timer: asyncio.TimerHandle | None = None
        self._check_timer = loop.call_later(CHECK_INTERVAL_S, self._check)
        tap.listen(self.listener)

    def close(self) -> None:
        """Stop listening and report the counted events."""
        self._tap.leave(self.listener)
        self._check_timer.cancel()
        if self._settle_timer is not None:
            self._settle_timer.cancel()
        self.log_ends.close()
        self.descriptions.close()
        self.listener.settle(self.clock.now_us())
        self.listener.flush()

    @contextmanager
    def written(self, directory: Path, later: Any, jobs: Any) -> Iterator[None]:
        """Write events to a directory until the end of the context. Raise EventLogError if that is impossible."""
        from kohort.broker.cluster.event_log import EventLog

        events = EventLog(cast(Any, self), directory, later, jobs)
        events.open()
        try:
            yield
        finally:
            self.listener.flush()
            events.close()

    def _changed(self) -> None:
        if self._settle_timer is None and self.listener.is_unsettled:
            self._settle_timer = self._loop.call_later(SETTLE_DELAY_S, self._settle)
        self.waiters.look()

    def _request_description(self, group_id: str, group_type: str) -> None:
        self.descriptions.request(group_id, group_type)

    def _settle(self) -> None:
        self._settle_timer = None
        self.listener.settle(self.clock.now_us())

    def _check(self) -> None:
        self._check_timer = self._loop.call_later(CHECK_INTERVAL_S, self._check)
        self.listener.settle(self.clock.now_us())
        for group in self.listener.undescribed_groups:
            self._request_description(group.group_id, group.group_type)
