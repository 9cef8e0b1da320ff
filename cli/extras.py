"""Packages that only an extra of kohort installs, and the message that names the extra."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from kohort.cli.output import say


@contextmanager
def needs_extra(feature: str, extra: str, *, exit_code: int = 2) -> Iterator[None]:
    """End the command with one sentence if a package of the extra cannot be imported within the context."""
    try:
        yield
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] == "kohort":
            raise
        say(
            f"kohort: {feature} needs {missing.name}, which is not installed; run pip install 'kohort[{extra}]'",
            err=True,
        )
        sys.exit(exit_code)
