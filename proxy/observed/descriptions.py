"""Descriptions of groups with traffic outside of the proxy, requested from the cluster in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final

from kohort.base.clock import Clock
from kohort.base.logs import log
from kohort.proxy.group_questions import GroupAnswer, unreachable

if TYPE_CHECKING:
    from kohort.proxy.observed.group_listener import GroupListener

FRESH_MS: Final = 1_000  # minimum interval between requests for the same group

UNREACHABLE_RETRY_MS: Final = 5_000
"""Retry interval if no coordinator is reachable although one was before."""

ERROR_RETRY_MS: Final = 60_000
"""Retry interval after an error, because the proxy may be granted access meanwhile.

Also if the cluster has never responded, because it closes connections without a login.
"""

REST_FACTOR: Final = 100
"""Applying descriptions takes at most one part in this many of the time; large ones are requested less often."""

ROUND_MS: Final = 250  # minimum interval between rounds of requests

MAX_GROUPS_PER_ROUND: Final = 50  # groups per round; others wait for the next one

MAX_GROUPS: Final = 10_000  # groups whose next time of request is kept; all are dropped beyond that

MAX_IDS_BYTES: Final = 4 << 20  # limit for the characters of their ids

MAX_LOGGED_REASONS: Final = 100  # reasons that are logged; others are in explanations only

DescribeGroups = Callable[[Mapping[str, str]], Awaitable[Mapping[str, GroupAnswer]]]
"""Request descriptions, given group types by id. Groups without one are left out. May raise OSError."""


class Descriptions:
    """Schedule of requests for descriptions, whose responses go to the listener."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        describe: DescribeGroups,
        listener: GroupListener,
        changed: Callable[[], None],
    ) -> None:
        """Set up the schedule; `changed` is called after a description was applied."""
        self._loop = loop
        self._clock = clock
        self._describe = describe
        self._listener = listener
        self._changed = changed
        self._requested: dict[str, str] = {}
        self._requested_bytes = 0  # characters of the ids in it
        self._not_before_ms: dict[str, int] = {}
        self._not_before_bytes = 0
        self._next_round_ms = clock.now_ms()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = 0
        self._task: asyncio.Task[None] | None = None
        self._logged_reasons: set[str] = set()
        self._has_answered = False

    def request(self, group_id: str, group_type: str) -> None:
        """Request the description of a group whose observed traffic leaves its state open, as soon as allowed."""
        is_full = len(self._requested) >= MAX_GROUPS or self._requested_bytes >= MAX_IDS_BYTES
        if group_id not in self._requested and not is_full:
            self._requested[group_id] = group_type
            self._requested_bytes += len(group_id)
            self._plan(self._due_ms(group_id))

    def refresh(self, group_id: str, group_type: str) -> None:
        """Request a fresh description for later readers of a group, unless a recent one exists."""
        if self._due_ms(group_id) <= self._clock.now_ms() and len(self._requested) < MAX_GROUPS_PER_ROUND:
            self.request(group_id, group_type)

    def close(self) -> None:
        self._requested = {}
        for timer in (self._timer, self._task):
            if timer is not None:
                timer.cancel()

    # Schedule

    def _due_ms(self, group_id: str) -> int:
        return max(self._next_round_ms, self._not_before_ms.get(group_id, 0))

    def _plan(self, at_ms: int) -> None:
        """Schedule a round at `at_ms`, or after the current one."""
        if self._task is not None and not self._task.done():
            return
        if self._timer is not None:
            if self._timer_ms <= at_ms:
                return
            self._timer.cancel()
        self._timer_ms = at_ms
        self._timer = self._loop.call_later(max(at_ms - self._clock.now_ms(), 0) / 1_000, self._begin)

    def _plan_next(self) -> None:
        if self._requested:
            self._plan(min(map(self._due_ms, self._requested)))

    def _begin(self) -> None:
        self._timer, now_ms = None, self._clock.now_ms()
        due = [group_id for group_id in self._requested if self._due_ms(group_id) <= now_ms][:MAX_GROUPS_PER_ROUND]
        if not due:
            self._plan_next()
            return
        due_bytes = sum(map(len, due))
        self._requested_bytes -= due_bytes
        self._not_before_bytes += due_bytes  # an upper bound: ids may repeat
        if len(self._not_before_ms) > MAX_GROUPS or self._not_before_bytes > MAX_IDS_BYTES:
            self._not_before_ms, self._not_before_bytes = {}, due_bytes
        self._not_before_ms |= dict.fromkeys(due, now_ms + FRESH_MS)
        self._next_round_ms = now_ms + ROUND_MS
        self._task = self._loop.create_task(
            self._request_round({group_id: self._requested.pop(group_id) for group_id in due})
        )
        self._task.add_done_callback(lambda _: self._plan_next())

    # Requests

    async def _request_round(self, group_types: dict[str, str]) -> None:
        versions = {name: self._listener.version_of(name) for name in group_types}
        try:
            answers = await self._describe(group_types)
        except OSError as error:
            answers = dict.fromkeys(group_types, unreachable(error))
        for group_id, answer in answers.items():
            self._apply(group_id, group_types[group_id], answer, versions[group_id])
            await asyncio.sleep(0)  # clients come in between
        self._changed()

    def _apply(self, group_id: str, group_type: str, answer: GroupAnswer, version: int) -> None:
        self._has_answered |= not answer.is_unreachable
        if answer.described is None:
            retry_ms = UNREACHABLE_RETRY_MS if answer.is_unreachable and self._has_answered else ERROR_RETRY_MS
            self._not_before_ms[group_id] = self._clock.now_ms() + retry_ms
            self._listener.not_described(group_id, answer.refusal)
            self._log_reason(group_id, answer.refusal)
            return
        begin_us = self._clock.now_us()
        try:
            is_applied = self._listener.described(group_id, group_type, answer.described, version, begin_us)
        except Exception:
            log.error("cannot read the description of a group because of a bug in kohort")
            return
        now_us = self._clock.now_us()
        not_before_ms = (now_us + REST_FACTOR * (now_us - begin_us)) // 1_000
        self._not_before_ms[group_id] = max(not_before_ms, self._not_before_ms[group_id])
        if not is_applied:
            self.request(group_id, group_type)

    def _log_reason(self, group_id: str, refusal: str) -> None:
        """Log each reason once, with its first group; explanations have it for every group."""
        if refusal not in self._logged_reasons and len(self._logged_reasons) < MAX_LOGGED_REASONS:
            self._logged_reasons.add(refusal)
            log.warning(f"cannot describe group {group_id}: {refusal}; only traffic through the proxy is known")
