"""What each member of a share group did with the records that it got."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from kohort.pipeline.history.share_deliveries import ACCEPTED, EXPIRED, Delivery
from kohort.pipeline.history.share_history import ShareHistory

AT_ONCE_MS = 1
"""Deliveries that begin together are of one poll."""


@dataclass(slots=True)
class Holder:
    """A member. records: by how they ended. ended, held: its deliveries."""

    member_id: str
    name: str
    ended: list[Delivery] = field(default_factory=list)
    held: list[Delivery] = field(default_factory=list)

    @property
    def records(self) -> Counter[str]:
        """Records that were in its hands, by how that ended."""
        counts: Counter[str] = Counter()
        for each in self.ended:
            counts[each.how or ""] += each.records
        return counts

    @property
    def expired(self) -> list[Delivery]:
        return [each for each in self.ended if each.how == EXPIRED]

    @property
    def first_ms(self) -> int:
        return min(_first_ms(each) for each in (*self.ended, *self.held))

    @property
    def last_sign_ms(self) -> int:
        """When it last asked for records or gave some back: its lock expires without it."""
        own = [each.end_ms or 0 for each in self.ended if each.how in ("accepted", "released", "rejected")]
        return max([*own, *(each.since_ms or 0 for each in (*self.ended, *self.held))])

    @property
    def lock_ms(self) -> int | None:
        """How long its locks lasted that nobody renewed; None: none expired."""
        lengths = [each.held_ms for each in self.expired if each.held_ms is not None and not each.renewals]
        return min(lengths, default=None)

    @property
    def accepted_after_ms(self) -> list[int]:
        """How long it held what it accepted, shortest first; one figure for each delivery."""
        return sorted(each.held_ms for each in self.ended if each.how == ACCEPTED and each.held_ms is not None)

    @property
    def pauses_ms(self) -> list[int]:
        """From each time it got records to the next time, shortest first: about as long as it works on them."""
        begins = sorted({each.since_ms for each in (*self.ended, *self.held) if each.since_ms is not None})
        return sorted(b - a for a, b in pairwise(begins) if b - a > AT_ONCE_MS)


def holders(share: ShareHistory) -> list[Holder]:
    """All members that ever had records, by their ids."""
    found: dict[str, Holder] = {}
    for each in share.deliveries.ended:
        found.setdefault(each.member_id, Holder(each.member_id, share.name(each.member_id))).ended.append(each)
    for each in share.deliveries.held:
        found.setdefault(each.member_id, Holder(each.member_id, share.name(each.member_id))).held.append(each)
    return [found[member_id] for member_id in sorted(found)]


def _first_ms(each: Delivery) -> int:
    first = each.end_ms if each.since_ms is None else each.since_ms
    assert first is not None, "its beginning or its end was seen"
    return first


def percentile(values: list[int], percent: int) -> int | None:
    """Nearest rank, of values in order; None: there are none."""
    return values[max(0, -(-len(values) * percent // 100) - 1)] if values else None
