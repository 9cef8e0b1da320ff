"""Random walks of a group: steps from a seed, a look after each, and an end at which everybody has come to rest."""

from __future__ import annotations

from typing import Protocol

STEPS = 120


class Walk(Protocol):
    """One walk, from a seed."""

    said: list[str]
    """What has happened, a text each."""

    def step(self) -> None:
        """Something happens."""
        ...

    def check(self) -> None:
        """Whether all is as promised, in between."""
        ...

    def ends(self) -> None:
        """Nothing fails any more: everybody comes to rest."""
        ...


def walk_to_its_end(walk: Walk, name: str) -> None:
    """Says what happened last, where a promise is broken. `name`: how to walk it again."""
    try:
        for _ in range(STEPS):
            walk.step()
            walk.check()
        walk.ends()
    except Exception as problem:
        problem.add_note(f"{name}; " + "; ".join(walk.said[-30:]))
        raise
