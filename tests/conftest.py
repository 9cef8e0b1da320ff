"""Chooses the new seeds of a test run, and names them at its end."""

from __future__ import annotations

import os

import pytest

from tests.seeds import choose_new_seeds, new_seeds


def pytest_configure() -> None:
    choose_new_seeds()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if "KOHORT_SEED" not in os.environ and new_seeds():
        told = ", ".join(map(str, new_seeds()))
        terminalreporter.write_line(f"new seeds of the simulations: {told}; KOHORT_SEED=… plays one of them again")
