"""Errors that are printed once, however often they are repeated."""

from __future__ import annotations

from collections.abc import Callable


class ErrorLog:
    """Prints each error once until the cluster responds again."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say, self._printed = say, set[str]()

    def add(self, text: str) -> None:
        if text not in self._printed:
            self._printed.add(text)
            self._say(text)

    def recovered(self) -> None:
        """Print that reading continues if errors were printed. They are printed again if they return."""
        if self._printed:
            self._printed.clear()
            self._say("reading again")
