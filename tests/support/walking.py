"""Random walks of a group: steps from a seed, a check after each, and an end at which all members are stable."""

from __future__ import annotations

from typing import Protocol

STEPS = 120


class Walk(Protocol):
    """One walk from a seed."""

    said: list[str]  # a line for each step

    def step(self) -> None:
        """Perform one random step."""
        ...

    def check(self) -> None:
        """Check the invariants between steps."""
        ...

    def ends(self) -> None:
        """End all failures and wait until all members are stable."""
        ...


def walk_to_its_end(walk: Walk, name: str) -> None:
    """Run a walk. After a violation, print its last steps.

    Args:
        name: How to repeat the walk.
    """
    try:
        for _ in range(STEPS):
            walk.step()
            walk.check()
        walk.ends()
    except Exception as problem:
        problem.add_note(f"{name}; " + "; ".join(walk.said[-30:]))
        raise
