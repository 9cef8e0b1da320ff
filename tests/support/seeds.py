"""Seeds of simulations, and the number of their steps.

`effort.py` sets the defaults. `KOHORT_SEED=7` repeats one seed. `KOHORT_SEEDS=50` runs the seeds 0 to 49.
`KOHORT_NEW_SEEDS=3` adds three new seeds, which are derived from the time and listed at the end of the test run.
`KOHORT_STEPS=100000` runs longer simulations.
"""

from __future__ import annotations

import os
from time import time

from tests.support.effort import EFFORT

STEPS = int(os.environ.get("KOHORT_STEPS", EFFORT.steps))

_KNOWN = 5
_FROM = "KOHORT_NEW_SEEDS_FROM"


def choose_new_seeds() -> None:
    """Choose the first new seed. The worker processes of a test run inherit it."""
    os.environ.setdefault(_FROM, str(int(time()) * 10))


def new_seeds() -> list[int]:
    """Return the new seeds of this run."""
    first = int(os.environ.get(_FROM, "0"))
    return list(range(first, first + int(os.environ.get("KOHORT_NEW_SEEDS", EFFORT.new_seeds))))


def new_seeds_line() -> str:
    """Return the last line of a test run, or an empty string if no new seeds were used."""
    if "KOHORT_SEED" in os.environ or not new_seeds():
        return ""
    return f"new seeds of the simulations: {', '.join(map(str, new_seeds()))}; KOHORT_SEED=… plays one of them again"


def seeds(fixed: int = EFFORT.seeds) -> list[int]:
    """Return the seeds to run."""
    if "KOHORT_SEED" in os.environ:
        return [int(os.environ["KOHORT_SEED"])]
    return [*range(int(os.environ.get("KOHORT_SEEDS", fixed))), *new_seeds()]


def is_known(seed: int) -> bool:
    """Return whether the run of this seed has been inspected. In a few others little happens by chance."""
    return seed < _KNOWN


SEEDS = seeds()
SEEDS_ON_DISK = seeds(EFFORT.seeds_on_disk)  # simulations with a disk are slower
