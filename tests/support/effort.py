"""Amount of work in a test run: one table, in which `KOHORT_EFFORT` selects the row.

`fast` is for every change, `ci` for a merge, `deep` for a release. Variables for a single number (`KOHORT_SEEDS`,
`KOHORT_NEW_SEEDS`, `KOHORT_STEPS`: `seeds.py`) override the row.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from hypothesis import HealthCheck, settings

ItemT = TypeVar("ItemT")


class Effort(NamedTuple):
    """A row of the table. A property is a test whose examples hypothesis generates."""

    examples: int  # of a property with the share 1
    seeds: int  # fixed seeds of a simulation
    seeds_on_disk: int  # fixed seeds of a simulation with a disk, which is slower
    new_seeds: int  # new seeds in addition to the fixed ones
    steps: int  # of a simulation
    walks: int  # random walks of one type: consumers of a group, logins, rules
    kills: int  # of a broker under load
    frames: int  # damaged frames that are decoded without a broker
    cuts: int  # parts of a recording, which is cut at each of their borders
    one_in: int  # of many similar conversations, versions or recorded groups, one in this number is tested


EFFORTS = {
    "fast": Effort(
        examples=20, seeds=3, seeds_on_disk=2, new_seeds=1, steps=1_500, walks=10, kills=5, frames=4_000, cuts=4,
        one_in=3,
    ),
    "ci": Effort(
        examples=100, seeds=5, seeds_on_disk=3, new_seeds=2, steps=2_000, walks=30, kills=20, frames=10_000, cuts=6,
        one_in=1,
    ),
    "deep": Effort(
        examples=400, seeds=12, seeds_on_disk=6, new_seeds=6, steps=3_000, walks=120, kills=40, frames=50_000, cuts=12,
        one_in=1,
    ),
}  # fmt: skip


CHOSEN = os.environ.get("KOHORT_EFFORT") or "fast"
if CHOSEN not in EFFORTS:
    raise ValueError(f"KOHORT_EFFORT={CHOSEN}: there are {', '.join(EFFORTS)}")

EFFORT = EFFORTS[CHOSEN]


def examples(share: float, *, without: Iterable[HealthCheck] = (), steps: int = 50) -> settings:
    """Return settings for a property with another share of the examples.

    Args:
        share: More than 1 for cheap properties, less for slow ones and for those repeated for each version of each API.
        without: Health checks to disable.
        steps: Maximum number of steps of a state machine.
    """
    most = max(2, round(EFFORT.examples * share))
    return settings(max_examples=most, suppress_health_check=list(without), stateful_step_count=steps)


def in_turn(items: Sequence[ItemT], number: int) -> list[ItemT]:
    """Select the items for one of many similar tests: in a fast run a part of them, rotated by `number`."""
    return list(items[number % EFFORT.one_in :: EFFORT.one_in])


def some_versions(first: int, last: int) -> Sequence[int]:
    """Select versions of an API: in a fast run the first, the last, and a part of those between."""
    return sorted({*range(first, last, EFFORT.one_in), last})


for _name, _effort in EFFORTS.items():
    settings.register_profile(_name, max_examples=_effort.examples, deadline=None)
settings.load_profile(CHOSEN)  # a property whose decorators name no settings has these
