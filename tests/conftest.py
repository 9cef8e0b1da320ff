"""What all tests share: the new seeds of a run, which are named at its end, and what the broker logs."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from io import StringIO

import pytest

from kohort.broker.logs import log
from tests.support.seeds import choose_new_seeds, new_seeds


def pytest_configure() -> None:
    choose_new_seeds()
    # kafka-python's threads log tracebacks, for which Python 3.11 parses lines of code: beside a test that parses code,
    # too, one of them fails with a SystemError (python/cpython#106905).
    logging.getLogger("kafka").setLevel(logging.CRITICAL)


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


@pytest.fixture(autouse=True)
def _nobody_is_left_behind() -> Iterator[None]:
    """Fails the test that leaves a client of kafka-python open: its thread would trouble the tests that follow."""
    before = set(threading.enumerate())
    yield
    left = [thread.name for thread in set(threading.enumerate()) - before if thread.name.startswith("kafka-io-")]
    assert not left, f"these clients of kafka-python were not closed: {', '.join(left)}"
