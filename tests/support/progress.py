"""Progress of a test run in several workers: a line from time to time instead of thousands of dots.

Tests of a type take about the same time (`scheduling.SECONDS`). The share of elapsed time is therefore more accurate
than the share of finished tests, because the slowest tests start first.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.scheduling import SECONDS, kind_of, without_group

INTERVAL_S = 10.0


class Progress:
    """A pytest plugin that counts finished tests."""

    def __init__(
        self, write: Callable[[str], object], clock: Callable[[], float] = time.monotonic, *, quiet: bool = False
    ) -> None:
        """Create the plugin.

        Args:
            quiet: Print nothing, because pytest itself reports each test.
        """
        self._write, self._clock = (lambda _: None) if quiet else write, clock
        self._began = self._printed_at = clock()
        self._kinds: dict[str, str] = {}
        self._seconds, self._done, self._seconds_done, self._rerun = 0.0, 0, 0.0, 0

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Count the tests when each worker has collected them."""
        if not self._kinds:
            self._kinds = {nodeid: kind_of(nodeid) for nodeid in ids}
            self._seconds = sum(SECONDS.get(kind, 0.0) for kind in self._kinds.values())

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        seconds = SECONDS.get(self._kinds.get(report.nodeid, ""), 0.0)
        report.nodeid = without_group(report.nodeid)  # for the summary: a name that pytest finds
        if report.outcome == "rerun":  # type: ignore[comparison-overlap]  # pytest-rerunfailures' own
            self._rerun += 1
        if report.when == "teardown":
            self._done += 1
            self._seconds_done += seconds
        elif report.failed:
            self._write(f"\nFAILED {report.nodeid}")
        if self._clock() - self._printed_at >= INTERVAL_S:
            self._printed_at = self._clock()
            self._write(self.line())

    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """Suppress the output for passed tests."""
        if report.passed and report.when == "call":
            return "passed", "", "PASSED"
        return None

    def line(self) -> str:
        """Return elapsed time, its share, the number of tests, and the remaining time."""
        passed_s = self._clock() - self._began
        share = self._seconds_done / self._seconds if self._seconds else 0.0
        text = f"\n{_minutes(passed_s)}  {share:4.0%}  {self._done:,} of {len(self._kinds):,} tests"
        if share > 0.1:
            text += f", about {_minutes(passed_s / share - passed_s)} more"
        return text + (f", {self._rerun} rerun" if self._rerun else "")


def _minutes(seconds: float) -> str:
    return "{}:{:02}".format(*divmod(round(seconds), 60))
