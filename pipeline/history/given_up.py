"""Records of a share group that were given up, told apart by what the story of their deliveries allows to say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kohort.pipeline.history.share_history import GivenUp, ShareHistory

MANY = 10
"""Fewer records are no outage, whatever else was processed meanwhile."""
LASTED_MS = 5_000
STILL_ACCEPTED = 0.1
"""For each record that was given up meanwhile: less is as good as nothing."""
TOGETHER_MS = 1_000
"""Records given up at one time: no longer than this between them."""


@dataclass(frozen=True, slots=True)
class Outage:
    """A stretch in which hardly anything was accepted and many records were given up."""

    start_ms: int
    end_ms: int
    given_up: tuple[GivenUp, ...]
    accepted: int

    @property
    def records(self) -> int:
        return sum(each.records for each in self.given_up)


def outages(share: ShareHistory) -> list[Outage]:
    """All stretches of that kind."""
    found = []
    for together in _together(share.given_up):
        start, end = min(each.first_ms for each in together), together[-1].end_ms
        if end - start < LASTED_MS or any(map(outlived_alone, together)):
            continue
        outage = Outage(start, end, tuple(together), share.accepted_between(start, end))
        if outage.records >= MANY and outage.accepted < STILL_ACCEPTED * outage.records:
            found.append(outage)
    return found


def _together(given_up: list[GivenUp]) -> Iterator[list[GivenUp]]:
    waiting: list[GivenUp] = []
    for each in given_up:
        if waiting and each.first_ms > waiting[-1].end_ms + TOGETHER_MS:
            yield waiting
            waiting = []
        waiting.append(each)
    if waiting:
        yield waiting


def outlived_alone(each: GivenUp) -> bool:
    """Whether one member alone held the records, each time for longer than the lock: that says nothing of them."""
    return len(each.clients) == 1 and each.expired == each.count


def poison(share: ShareHistory) -> list[GivenUp]:
    """What neither an outage nor one member that is slower than its lock explains."""
    explained = {id(each) for outage in outages(share) for each in outage.given_up}
    return [each for each in share.given_up if id(each) not in explained and not outlived_alone(each)]
