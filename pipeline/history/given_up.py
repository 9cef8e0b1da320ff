"""Records that a share group gave up on, classified by the history of their deliveries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kohort.pipeline.history.share_history import GivenUp, ShareHistory

MANY = 10  # minimum number of records of an outage, whatever was processed meanwhile
LASTED_MS = 5_000
STILL_ACCEPTED = 0.1  # accepted records per archived record below which accepting has effectively stopped
TOGETHER_MS = 1_000  # maximum time between records that were archived together


@dataclass(frozen=True, slots=True)
class Outage:
    """A period in which hardly anything was accepted and many records were archived."""

    start_ms: int
    end_ms: int
    given_up: tuple[GivenUp, ...]
    accepted: int

    @property
    def records(self) -> int:
        return sum(record.records for record in self.given_up)


def outages(share: ShareHistory) -> list[Outage]:
    results = []
    for together in _together(share.given_up):
        start, end = min(record.first_ms for record in together), together[-1].end_ms
        if end - start < LASTED_MS or any(map(outlived_alone, together)):
            continue
        outage = Outage(start, end, tuple(together), share.accepted_between(start, end))
        if outage.records >= MANY and outage.accepted < STILL_ACCEPTED * outage.records:
            results.append(outage)
    return results


def _together(given_up: list[GivenUp]) -> Iterator[list[GivenUp]]:
    waiting: list[GivenUp] = []
    for record in given_up:
        if waiting and record.first_ms > waiting[-1].end_ms + TOGETHER_MS:
            yield waiting
            waiting = []
        waiting.append(record)
    if waiting:
        yield waiting


def outlived_alone(record: GivenUp) -> bool:
    """Return whether a single member held the records, each time past the lock timeout.

    The records are not at fault then.
    """
    return len(record.clients) == 1 and record.expired == record.count


def poison(share: ShareHistory) -> list[GivenUp]:
    """Return the records that neither an outage nor a single member slower than its lock explains."""
    explained = {id(record) for outage in outages(share) for record in outage.given_up}
    return [record for record in share.given_up if id(record) not in explained and not outlived_alone(record)]
