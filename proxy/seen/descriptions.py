"""What coordinators say of groups that are at work past what has passed: asked of the cluster in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final

from kohort.broker.clock import Clock
from kohort.broker.logs import log
from kohort.proxy.group_questions import GroupAnswer, away

if TYPE_CHECKING:
    from kohort.proxy.seen.group_listener import GroupListener

FRESH_MS: Final = 1_000
"""A group that was asked about so lately is not asked about again."""

AWAY_MS: Final = 5_000
"""When it is tried again where nobody was there to ask, and somebody has been before."""

REFUSED_MS: Final = 60_000
"""When it is tried again where the cluster has refused: somebody may have been given the right.

Likewise where it has never answered: it hangs up on who does not log in.
"""

REST: Final = 100
"""Taking over what is said of a group takes one part in so many of the time, no more: large ones wait longer."""

ROUND_MS: Final = 250
"""One round of questions begins no sooner after another."""

MOST_A_ROUND: Final = 50
"""Groups that are asked about together; others wait for the next round."""

MOST_GROUPS: Final = 10_000
"""Groups of which it is known when they may be asked about; with more, all are forgotten."""

MAX_IDS_BYTES: Final = 4 << 20
"""The same in characters of their ids."""

MOST_SAID: Final = 100
"""Reasons that are logged; others are in explanations only."""

AsksAboutGroups = Callable[[Mapping[str, str]], Awaitable[Mapping[str, GroupAnswer]]]
"""Asks the cluster, with the kinds of groups by their ids; those it says nothing of are left out. Raises OSError."""


class Descriptions:
    """Which groups are to be asked about, when, and who is told the answers."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        asks: AsksAboutGroups,
        listener: GroupListener,
        changed: Callable[[], None],
    ) -> None:
        """`changed`: called when more is known."""
        self._loop = loop
        self._clock = clock
        self._asks = asks
        self._listener = listener
        self._changed = changed
        self._wanted: dict[str, str] = {}
        self._wanted_bytes = 0  # characters of the ids in it
        self._not_before_ms: dict[str, int] = {}
        self._not_before_bytes = 0
        self._next_round_ms = clock.now_ms()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = 0
        self._task: asyncio.Task[None] | None = None
        self._said: set[str] = set()
        self._has_answered = False

    def need(self, group_id: str, kind: str) -> None:
        """Asks about a group, as soon as that may be, of which what has passed leaves open how it is."""
        is_full = len(self._wanted) >= MOST_GROUPS or self._wanted_bytes >= MAX_IDS_BYTES
        if group_id not in self._wanted and not is_full:
            self._wanted[group_id] = kind
            self._wanted_bytes += len(group_id)
            self._plan(self._due_ms(group_id))

    def look(self, group_id: str, kind: str) -> None:
        """Asks about a group that somebody looks at, for whoever looks next time, unless what is known is fresh."""
        if self._due_ms(group_id) <= self._clock.now_ms() and len(self._wanted) < MOST_A_ROUND:
            self.need(group_id, kind)

    def close(self) -> None:
        """Asks no more."""
        self._wanted = {}
        for each in (self._timer, self._task):
            if each is not None:
                each.cancel()

    # When

    def _due_ms(self, group_id: str) -> int:
        return max(self._next_round_ms, self._not_before_ms.get(group_id, 0))

    def _plan(self, at_ms: int) -> None:
        """A round begins then, or when the one that goes on has ended."""
        if self._task is not None and not self._task.done():
            return
        if self._timer is not None:
            if self._timer_ms <= at_ms:
                return
            self._timer.cancel()
        self._timer_ms = at_ms
        self._timer = self._loop.call_later(max(at_ms - self._clock.now_ms(), 0) / 1_000, self._begin)

    def _plan_next(self) -> None:
        if self._wanted:
            self._plan(min(map(self._due_ms, self._wanted)))

    def _begin(self) -> None:
        self._timer, now_ms = None, self._clock.now_ms()
        due = [each for each in self._wanted if self._due_ms(each) <= now_ms][:MOST_A_ROUND]
        if not due:
            self._plan_next()
            return
        due_bytes = sum(map(len, due))
        self._wanted_bytes -= due_bytes
        self._not_before_bytes += due_bytes  # an upper bound: ids may repeat
        if len(self._not_before_ms) > MOST_GROUPS or self._not_before_bytes > MAX_IDS_BYTES:
            self._not_before_ms, self._not_before_bytes = {}, due_bytes
        self._not_before_ms |= dict.fromkeys(due, now_ms + FRESH_MS)
        self._next_round_ms = now_ms + ROUND_MS
        self._task = self._loop.create_task(self._ask({each: self._wanted.pop(each) for each in due}))
        self._task.add_done_callback(lambda _: self._plan_next())

    # Asking

    async def _ask(self, wanted: dict[str, str]) -> None:
        versions = {each: self._listener.version_of(each) for each in wanted}
        try:
            answers = await self._asks(wanted)
        except OSError as problem:
            answers = dict.fromkeys(wanted, away(problem))
        for group_id, answer in answers.items():
            self._take(group_id, wanted[group_id], answer, versions[group_id])
            await asyncio.sleep(0)  # clients come in between
        self._changed()

    def _take(self, group_id: str, kind: str, answer: GroupAnswer, version: int) -> None:
        self._has_answered |= not answer.is_away
        if answer.described is None:
            patience_ms = AWAY_MS if answer.is_away and self._has_answered else REFUSED_MS
            self._not_before_ms[group_id] = self._clock.now_ms() + patience_ms
            self._listener.not_described(group_id, answer.refusal)
            self._say(group_id, answer.refusal)
            return
        begun_us = self._clock.now_us()
        try:
            is_taken = self._listener.described(group_id, kind, answer.described, version, begun_us)
        except Exception:
            log.error("reading a description of a group failed, which is kohort's fault")
            return
        now_us = self._clock.now_us()
        rested_ms = (now_us + REST * (now_us - begun_us)) // 1_000
        self._not_before_ms[group_id] = max(rested_ms, self._not_before_ms[group_id])
        if not is_taken:
            self.need(group_id, kind)

    def _say(self, group_id: str, refusal: str) -> None:
        """The first group of each refusal is named; explanations say it of every one."""
        if refusal not in self._said and len(self._said) < MOST_SAID:
            self._said.add(refusal)
            log.warning(f"the cluster does not describe group {group_id}: {refusal}; what passes is all that is known")
