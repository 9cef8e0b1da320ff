"""Durations that a test gives: numbers of seconds or timedeltas, and one sentence for anything else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kohort.control.control_errors import ControlError
from kohort.control.oracle.safety import Budget
from kohort.testing import Cluster

SHORT = timedelta(milliseconds=10)
INVALID = ["1", None, float("nan"), True, [1]]


def test_clock_advances_by_timedelta() -> None:
    with Cluster() as kafka:
        kafka.clock.pause()
        start_ms = kafka.clock.now_ms
        kafka.clock.advance(timedelta(minutes=1), minutes=2, patience=timedelta(0))
        assert kafka.clock.now_ms - start_ms == 180_000


async def test_async_clock_advances_by_timedelta() -> None:
    async with Cluster() as kafka:
        kafka.clock.pause()
        start_ms = kafka.clock.now_ms
        await kafka.clock.advance(seconds=timedelta(seconds=1.5))
        assert kafka.clock.now_ms - start_ms == 1_500


@pytest.mark.parametrize("length", [*INVALID, -1, timedelta(seconds=-1), timedelta(days=32)])
def test_clock_refuses_invalid_length(length: Any) -> None:
    with Cluster() as kafka, pytest.raises(ControlError, match="a jump"):
        kafka.clock.advance(length)


@pytest.mark.parametrize("name", ["minutes", "hours"])
@pytest.mark.parametrize("value", [*INVALID, SHORT])
def test_clock_refuses_invalid_unit(name: str, value: Any) -> None:
    with Cluster() as kafka, pytest.raises(ControlError, match=f"{name} must be a number"):
        kafka.clock.advance(**{name: value})


WAITS = {
    "wait_stable": lambda kafka, timeout: kafka.group("g").wait_stable(members=1, timeout=timeout),
    "wait_state": lambda kafka, timeout: kafka.group("g").wait_state("Stable", timeout),
    "wait_for": lambda kafka, timeout: kafka.group("g").wait_for(lambda: False, timeout),
    "wait_caught_up": lambda kafka, timeout: kafka.group("g").wait_caught_up(timeout),
    "wait_for_offset": lambda kafka, timeout: kafka.group("g").wait_for_offset("orders", 1, timeout=timeout),
    "wait_migrated": lambda kafka, timeout: kafka.group("g").wait_migrated("consumer", timeout=timeout),
    "share wait_accepted": lambda kafka, timeout: kafka.share_group("s").wait_accepted(1, timeout=timeout),
    "share wait_caught_up": lambda kafka, timeout: kafka.share_group("s").wait_caught_up(timeout),
    "streams wait_caught_up": lambda kafka, timeout: kafka.streams_group("t").wait_caught_up(timeout),
    "rule": lambda kafka, timeout: kafka.faults.on("Heartbeat").count().wait(timeout=timeout),
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_timeout_may_be_a_timedelta(wait: Any) -> None:
    with Cluster() as kafka:
        kafka.topics.create("orders")
        with pytest.raises(TimeoutError, match=r"^after 0\.01 s "):
            wait(kafka, SHORT)
        with pytest.raises(ControlError, match="a timeout must be a number of seconds or a timedelta, got '1'"):
            wait(kafka, "1")


def test_delays_may_be_timedeltas() -> None:
    with Cluster() as kafka:
        kafka.topics.create("orders")
        rule = kafka.faults.on("Heartbeat").delay(timedelta(seconds=2), jitter=timedelta(seconds=1))
        assert "delay it by 2000 to 3000 ms" in str(rule)
        assert "delay the response by 10 ms" in str(kafka.faults.on("Heartbeat").delay_response(SHORT))
        kafka.appends.of("group", group="g").delay(SHORT)
        kafka.group("g").commit({("orders", 0): 0}, timeout=timedelta(seconds=9))
        kafka.group("g").delete(timedelta(seconds=9))


def test_setting_may_be_a_timedelta() -> None:
    with Cluster(settings={"group.max.session.timeout.ms": timedelta(minutes=1)}) as kafka:
        assert kafka.groups == []


@pytest.mark.parametrize("value", [SHORT, "1", -1, True])
def test_budget_refuses_invalid_duration(value: Any) -> None:
    with pytest.raises(ControlError, match="unowned_ms must be an integer"):
        Budget(unowned_ms=value)
