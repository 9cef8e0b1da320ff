"""The broker's wall clock never lags the machine's: a timestamp just created is not in the future."""

from __future__ import annotations

import sys
import time

import pytest

from kohort.base.clock import SystemClock

SECOND_NS = 1_000_000_000


@pytest.mark.parametrize("rest_ns", [0, 1, 499_999, 999_999])
def test_milliseconds_start_with_machine_clock(rest_ns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made_ns, elapsed_ns = 1_800_000_000 * SECOND_NS - 5_000_000 + rest_ns, 0
    monkeypatch.delitem(sys.modules, "freezegun.api", raising=False)  # which keeps the machine's own functions
    monkeypatch.setattr(time, "time_ns", lambda: made_ns)
    monkeypatch.setattr(time, "monotonic_ns", lambda: 777_777_777 + elapsed_ns)
    clock = SystemClock()
    assert clock.now_ms() == 0
    for elapsed_ns in (0, 1, 4_999_999 - rest_ns, 5_000_000 - rest_ns, 5_000_001):
        assert clock.now_ms() + clock.epoch_ms == (made_ns + elapsed_ns) // 1_000_000
