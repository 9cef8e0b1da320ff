"""Queries for descriptions of groups with a manual clock: rarely, together, and not after a refusal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from kohort.base.logs import log
from kohort.proxy.group_questions import GroupAnswer
from kohort.proxy.observed import descriptions
from kohort.proxy.observed.descriptions import (
    ERROR_RETRY_MS,
    FRESH_MS,
    MAX_GROUPS_PER_ROUND,
    MAX_IDS_BYTES,
    ROUND_MS,
    UNREACHABLE_RETRY_MS,
    Descriptions,
)
from tests.support.manual_clock import ManualClock
from tests.talk.stage import Loop, Timer

STEP_MS = 50


class Asking:
    """A cluster with prepared responses, and a listener."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.timers = Loop(self.clock)
        self.rounds: list[list[str]] = []
        self.answer = GroupAnswer("as it is")
        self.problem: OSError | None = None
        self.is_taken = True
        self.taking_ms = 0
        self.heard: list[tuple[str, Any]] = []
        self.descriptions = Descriptions(cast(Any, self), self.clock, self.asks, cast(Any, self), lambda: None)

    async def asks(self, wanted: Mapping[str, str]) -> dict[str, GroupAnswer]:
        self.rounds.append(list(wanted))
        if self.problem is not None:
            raise self.problem
        return dict.fromkeys(wanted, self.answer)

    async def after(self, length_ms: int) -> list[list[str]]:
        """Advance the clock. Return the rounds of queries in that time."""
        self.rounds.clear()
        await self._settle()
        for _ in range(length_ms // STEP_MS):
            self.clock.advance(STEP_MS)
            await self._settle()
        return list(self.rounds)

    async def _settle(self) -> None:
        self.timers.settle()
        for _ in range(2 * MAX_GROUPS_PER_ROUND):  # a task yields once for each group
            await asyncio.sleep(0)

    # As an event loop

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        return self.timers.call_later(delay_s, callback)

    def create_task(self, coroutine: Any) -> asyncio.Task[Any]:
        return asyncio.get_running_loop().create_task(coroutine)

    # As a listener

    def version_of(self, group_id: str) -> int:
        return 7

    def described(self, group_id: str, kind: str, said: Any, version: int, now_us: int) -> bool:
        assert (kind, version) == ("classic", 7)
        self.clock.advance(self.taking_ms)
        self.heard.append((group_id, said))
        return self.is_taken

    def not_described(self, group_id: str, refusal: str) -> None:
        self.heard.append((group_id, refusal))


async def test_group_is_described_every_second() -> None:
    asking = Asking()
    asking.descriptions.request("g", "classic")
    assert await asking.after(0) == [["g"]]
    assert asking.heard == [("g", "as it is")]
    asking.descriptions.refresh("g", "classic")
    assert await asking.after(FRESH_MS) == [], "reading a fresh description sends no query"
    asking.descriptions.refresh("g", "classic")
    assert await asking.after(0) == [["g"]]
    asking.descriptions.request("g", "classic")
    assert await asking.after(FRESH_MS // 2) == []
    assert await asking.after(FRESH_MS // 2) == [["g"]], "needed descriptions are requested after the second"


async def test_stale_response_is_requested_again() -> None:
    asking = Asking()
    asking.is_taken = False
    asking.descriptions.request("g", "classic")
    assert await asking.after(3 * FRESH_MS) == [["g"]] * 4
    asking.is_taken = True
    assert await asking.after(3 * FRESH_MS) == [["g"]]


async def test_slow_group_is_polled_less_often() -> None:
    asking = Asking()
    asking.taking_ms = 20
    asking.descriptions.request("g", "classic")
    await asking.after(0)
    asking.descriptions.request("g", "classic")
    assert await asking.after(2 * FRESH_MS - STEP_MS) == []
    assert await asking.after(STEP_MS) == [["g"]]


async def test_many_groups_are_batched() -> None:
    asking = Asking()
    for number in range(2 * MAX_GROUPS_PER_ROUND + 1):
        asking.descriptions.request(f"g{number}", "classic")
    assert [len(item) for item in await asking.after(0)] == [MAX_GROUPS_PER_ROUND]
    assert [len(item) for item in await asking.after(2 * ROUND_MS)] == [MAX_GROUPS_PER_ROUND, 1]


@pytest.mark.parametrize(("is_unreachable", "length_ms"), [(True, UNREACHABLE_RETRY_MS), (False, ERROR_RETRY_MS)])
async def test_error_is_logged_once(monkeypatch: Any, is_unreachable: bool, length_ms: int) -> None:
    lines: list[str] = []
    monkeypatch.setattr(log, "warning", lambda text, **_: lines.append(text))
    asking = Asking()
    asking.descriptions.request("answered", "classic")
    await asking.after(ROUND_MS)
    asking.heard.clear()
    asking.answer = GroupAnswer(None, "because", is_unreachable)
    for name in ("g", "h"):
        asking.descriptions.request(name, "classic")
    assert await asking.after(0) == [["g", "h"]]
    assert asking.heard == [("g", "because"), ("h", "because")]
    for _ in range(3):
        asking.descriptions.refresh("g", "classic")
        assert await asking.after(FRESH_MS) == []
    asking.descriptions.request("g", "classic")
    assert await asking.after(length_ms - 4 * FRESH_MS) == []
    assert await asking.after(FRESH_MS) == [["g"]]
    assert lines == ["cannot describe group g: because; only traffic through the proxy is known"]


async def test_unreachable_cluster_fails_all_groups() -> None:
    asking = Asking()
    asking.problem = TimeoutError()
    asking.descriptions.request("g", "classic")
    await asking.after(0)
    assert asking.heard == [("g", "no answer")]
    asking.descriptions.request("g", "classic")
    assert await asking.after(ERROR_RETRY_MS - ROUND_MS) == [], "perhaps it hangs up on who does not log in"
    assert await asking.after(ROUND_MS) == [["g"]]


async def test_processing_bug_does_not_end_polling(monkeypatch: Any) -> None:
    lines: list[str] = []
    monkeypatch.setattr(log, "error", lambda text, **_: lines.append(text))
    asking = Asking()
    monkeypatch.setattr(asking, "described", lambda *_: 1 / 0)
    asking.descriptions.request("g", "classic")
    asking.descriptions.request("h", "classic")
    await asking.after(0)
    assert lines == ["cannot read the description of a group because of a bug in kohort"] * 2


async def test_at_most_so_many_are_remembered(monkeypatch: Any) -> None:
    monkeypatch.setattr(descriptions, "MAX_GROUPS", 3)
    asking = Asking()
    for number in range(5):
        asking.descriptions.request(f"g{number}", "classic")
    assert await asking.after(0) == [["g0", "g1", "g2"]]
    asking.descriptions.close()
    asking.descriptions.refresh("g9", "classic")
    assert len(asking.rounds) == 1


async def test_ids_are_bounded_by_bytes() -> None:
    asking = Asking()
    for number in range(300):
        asking.descriptions.request(f"{number:05}".ljust(32_000, "g"), "classic")
    assert len(asking.descriptions._requested) == MAX_IDS_BYTES // 32_000 + 1
    await asking.after(10_000)
    assert sum(map(len, asking.descriptions._not_before_ms)) <= MAX_IDS_BYTES
    assert asking.descriptions._requested_bytes == 0
