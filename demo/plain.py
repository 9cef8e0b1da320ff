"""Plain view of the play, for pipes and logs."""

from __future__ import annotations

import time

from kohort.demo.acts import Outcome


class PlainView:
    """View that prints each event as it happens."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def begins(self, number: int, title: str, about: str) -> None:
        self._print(f"Act {number}: {title} ({about})")

    def ends(self, outcome: Outcome) -> None:
        self._print(f"  => {outcome.headline}")
        if outcome.problem:
            self._print(f"  => but: {outcome.problem}")

    def broker_says(self, text: str) -> None:
        self._print(f"    {text}")

    def __enter__(self) -> PlainView:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def _print(self, text: str) -> None:
        print(f"{time.monotonic() - self._began:5.1f}  {text}", flush=True)
