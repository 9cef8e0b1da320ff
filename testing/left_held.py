"""What a test has left behind, as pytest shows it."""

from __future__ import annotations

from warnings import warn

from kohort.protocol.visible import visible


def report(left: list[str]) -> None:
    """A warning for each line; pytest shows them with the test whose `with` block has ended."""
    for line in left:
        warn(visible(line), stacklevel=3)
