"""Runs of the tests without an optional package, as with `KOHORT_ABSENT=kohort.broker.fast`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from types import ModuleType


def is_absent(package: str) -> bool:
    """Return whether this run does without the package."""
    return os.environ.get("KOHORT_ABSENT") == package


class _Absent:
    """Import finder that comes before the others and hides a package."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        """Return None, or raise if the module belongs to the hidden package."""
        if is_absent(name):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def take_away() -> None:
    """Hide the package from now on. Programs that the tests start can still import it."""
    if "KOHORT_ABSENT" in os.environ:
        sys.meta_path.insert(0, _Absent)
