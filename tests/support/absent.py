"""`KOHORT_ABSENT=kohort.broker.fast` runs the tests as if a package were not there."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from types import ModuleType


def is_absent(package: str) -> bool:
    """Whether this run does without it."""
    return os.environ.get("KOHORT_ABSENT") == package


class _Absent:
    """Stands before what finds modules."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        """Finds nothing; raises for what is absent."""
        if is_absent(name):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def take_away() -> None:
    """What is absent can't be imported from now on. Programs that the tests start have it."""
    if "KOHORT_ABSENT" in os.environ:
        sys.meta_path.insert(0, _Absent)
