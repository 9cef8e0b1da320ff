"""Warnings about gates that a test left held."""

from __future__ import annotations

from warnings import warn

from kohort.base.visible import visible


def report(lines: list[str]) -> None:
    """Warn about each line; pytest shows the warnings with the test whose `with` block has ended."""
    for line in lines:
        warn(visible(line), stacklevel=3)
