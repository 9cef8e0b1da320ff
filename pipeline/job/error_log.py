"""Errors that are printed once, however often they are repeated."""

from __future__ import annotations

from collections.abc import Callable


class ErrorLog:
    """Prints each error once until the operation succeeds again."""

    def __init__(self, say: Callable[[str], None], recovery: str = "reading again") -> None:
        self._say, self._recovery, self._printed = say, recovery, set[str]()

    def add(self, text: str) -> None:
        if text not in self._printed:
            self._printed.add(text)
            self._say(text)

    def recovered(self) -> None:
        """Print `recovery` if errors were printed. They are printed again if they return."""
        if self._printed:
            self._printed.clear()
            self._say(self._recovery)
