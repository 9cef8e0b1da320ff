"""Seeds of the simulated worlds, and how long each is played.

How many there are says `effort.py`. `KOHORT_SEED=7` plays one seed again. `KOHORT_SEEDS=50` plays the seeds 0 to 49.
`KOHORT_NEW_SEEDS=3` plays three seeds beside the fixed ones that nobody has played before: they come from the time, and
the last lines of the test run name them. `KOHORT_STEPS=100000` plays longer.
"""

from __future__ import annotations

import os
from time import time

from tests.support.effort import EFFORT

STEPS = int(os.environ.get("KOHORT_STEPS", EFFORT.steps))

_KNOWN = 5
_FROM = "KOHORT_NEW_SEEDS_FROM"


def choose_new_seeds() -> None:
    """Chooses the first of the new seeds. The worker processes of a test run inherit it."""
    os.environ.setdefault(_FROM, str(int(time()) * 10))


def new_seeds() -> list[int]:
    """Seeds that nobody has played before."""
    first = int(os.environ.get(_FROM, "0"))
    return list(range(first, first + int(os.environ.get("KOHORT_NEW_SEEDS", EFFORT.new_seeds))))


def new_seeds_line() -> str:
    """The last line of a test run; empty when no new seeds were played."""
    if "KOHORT_SEED" in os.environ or not new_seeds():
        return ""
    return f"new seeds of the simulations: {', '.join(map(str, new_seeds()))}; KOHORT_SEED=… plays one of them again"


def seeds(fixed: int = EFFORT.seeds) -> list[int]:
    """The seeds to play."""
    if "KOHORT_SEED" in os.environ:
        return [int(os.environ["KOHORT_SEED"])]
    return [*range(int(os.environ.get("KOHORT_SEEDS", fixed))), *new_seeds()]


def is_known(seed: int) -> bool:
    """Whether somebody has looked at what happens in the world of this seed. In few others little happens by chance."""
    return seed < _KNOWN


SEEDS = seeds()
SEEDS_ON_DISK = seeds(EFFORT.seeds_on_disk)
"""Worlds with a disk are slower."""
