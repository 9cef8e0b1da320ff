"""The brokers' clock, under the test's control."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kohort.base.visible import visible
from kohort.control.clock.jump import PATIENCE_S, jump
from kohort.control.numbers import Seconds, as_seconds, length_ms, number
from kohort.control.suggesting import suggest_names
from kohort.testing.remote import warn_caller

if TYPE_CHECKING:
    from kohort.control.laboratory import Laboratory

TURNS = 3  # turns of the event loop after a jump: one to write, one to read, and a spare one


@suggest_names
class Clock:
    """Clock that follows the machine's until it is changed. It only affects the brokers' timers."""

    def __init__(self, laboratory: Laboratory) -> None:
        self._laboratory = laboratory

    @property
    def now_ms(self) -> int:
        """Milliseconds of the cluster's clock since its creation."""
        return self._laboratory.clock.now_ms()

    def pause(self) -> None:
        """Stop the clock: no session expires, no rebalance times out. Requests are still handled."""
        self._laboratory.clock.pause()

    def run(self, scale: float | None = None) -> None:
        """Resume the clock, optionally `scale` times as fast as the machine's."""
        self._laboratory.clock.run(scale)

    async def advance(
        self,
        seconds: Seconds = 0,
        *,
        minutes: float = 0,
        hours: float = 0,
        expire_live_members: bool = False,
        patience: Seconds = PATIENCE_S,
    ) -> None:
        """Move the clock forward and run all timers that expire on the way, in order.

        The jump is the sum of `seconds`, which may be a timedelta, `minutes` and `hours`.

        A member with an open connection is treated as if it had sent its heartbeats, unless a fault silences it, and
        does not expire. Where a group waits for such a member to rejoin, to sync or to revoke partitions, the jump
        halts until it has, at most `patience` real seconds each time, and then warns which members it did not wait for.
        `expire_live_members=True` disables both: live members expire, and the jump never halts.
        """
        length = as_seconds(seconds, "a jump") + 60 * number(minutes, "minutes") + 3_600 * number(hours, "hours")
        jump_ms = length_ms(length, "a jump")
        left_behind = await jump(
            self._laboratory,
            jump_ms,
            expire_live_members=expire_live_members,
            patience_s=length_ms(patience, "patience") / 1000,
        )
        for _ in range(TURNS):
            await asyncio.sleep(0)
        for line in left_behind:
            warn_caller(visible(line))

    def __repr__(self) -> str:
        clock = self._laboratory.clock
        runs = "stands still" if clock.paused else f"runs {clock.scale:g} times as fast as the machine's"
        return f"<clock at {clock.now_ms() / 1000:.3f} s, it {runs}>"
