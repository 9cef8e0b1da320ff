"""What all tests share: the new seeds of a run, which are named at its end, and what the broker logs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import StringIO

import pytest

from kohort.broker.logs import log
from tests.support.seeds import choose_new_seeds, new_seeds


def pytest_configure() -> None:
    choose_new_seeds()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if "KOHORT_SEED" not in os.environ and new_seeds():
        told = ", ".join(map(str, new_seeds()))
        terminalreporter.write_line(f"new seeds of the simulations: {told}; KOHORT_SEED=… plays one of them again")


@pytest.fixture
def lines() -> Iterator[StringIO]:
    """What the broker logs."""
    stream = StringIO()
    log.configure(level="info", stream=stream)
    yield stream
    log.configure()
