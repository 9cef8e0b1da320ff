"""How much a run of the tests plays: one table, and `KOHORT_EFFORT` chooses the row.

`fast` is for every change, `ci` for what lands, `deep` for a release. Variables that name one thing only
(`KOHORT_SEEDS`, `KOHORT_NEW_SEEDS`, `KOHORT_STEPS`: `seeds.py`) go before the row.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from hypothesis import HealthCheck, settings

ItemT = TypeVar("ItemT")


class Effort(NamedTuple):
    """One row of the table. A property is a test that hypothesis makes up examples for."""

    examples: int
    """Examples of a property with the share 1."""
    seeds: int
    """Fixed seeds of a simulated world."""
    seeds_on_disk: int
    """Fixed seeds of a world with a disk, which is slower."""
    new_seeds: int
    """Seeds beside them that nobody has played before."""
    steps: int
    """Steps of a simulated world."""
    walks: int
    """Random walks of one kind: consumers of a group, logins, rules."""
    kills: int
    """How often a broker under load is killed."""
    frames: int
    """Damaged frames that are read without a broker."""
    cuts: int
    """In how many parts a recording is cut: at each of their borders."""
    one_in: int
    """What is done to each of many alike (conversations, versions, recorded groups) is done to one in so many."""


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
    """Settings of a property that gets another share of the examples than 1.

    share: more than 1 for what is cheap, less for what is slow or is asked once for each version of each API.
    without: health checks that are left out.
    steps: of a state machine, at most.
    """
    most = max(2, round(EFFORT.examples * share))
    return settings(max_examples=most, suppress_health_check=list(without), stateful_step_count=steps)


def in_turn(items: Sequence[ItemT], number: int) -> list[ItemT]:
    """The items that this one of many alike gets: in a fast run one in some, and others than its neighbours."""
    return list(items[number % EFFORT.one_in :: EFFORT.one_in])


def some_versions(first: int, last: int) -> Sequence[int]:
    """Versions of an API: in a fast run the first, the last, and one in some of those between."""
    return sorted({*range(first, last, EFFORT.one_in), last})


for _name, _effort in EFFORTS.items():
    settings.register_profile(_name, max_examples=_effort.examples, deadline=None)
settings.load_profile(CHOSEN)  # a property whose decorators name no settings has these
