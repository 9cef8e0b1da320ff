"""Use of records by each member of a share group."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from kohort.pipeline.history.share_deliveries import ACCEPTED, EXPIRED, Delivery
from kohort.pipeline.history.share_history import ShareHistory

AT_ONCE_MS = 1  # deliveries that begin within this time belong to one poll


@dataclass(slots=True)
class Holder:
    """Deliveries to one member: those that have ended, and those still held."""

    member_id: str
    name: str
    ended: list[Delivery] = field(default_factory=list)
    held: list[Delivery] = field(default_factory=list)

    @property
    def records(self) -> Counter[str]:
        """Number of records acquired, by outcome."""
        counts: Counter[str] = Counter()
        for delivery in self.ended:
            counts[delivery.how or ""] += delivery.records
        return counts

    @property
    def expired(self) -> list[Delivery]:
        return [delivery for delivery in self.ended if delivery.how == EXPIRED]

    @property
    def first_ms(self) -> int:
        return min(_first_ms(delivery) for delivery in (*self.ended, *self.held))

    @property
    def last_sign_ms(self) -> int:
        """Last time at which it fetched or acknowledged records; lock expiries don't count."""
        own = [delivery.end_ms or 0 for delivery in self.ended if delivery.how in ("accepted", "released", "rejected")]
        return max([*own, *(delivery.since_ms or 0 for delivery in (*self.ended, *self.held))])

    @property
    def lock_ms(self) -> int | None:
        """Duration of its locks that were not renewed, or None if none expired."""
        lengths = [
            delivery.held_ms for delivery in self.expired if delivery.held_ms is not None and not delivery.renewals
        ]
        return min(lengths, default=None)

    @property
    def accepted_after_ms(self) -> list[int]:
        """Time until each accepted delivery was acknowledged, in ascending order."""
        return sorted(
            delivery.held_ms for delivery in self.ended if delivery.how == ACCEPTED and delivery.held_ms is not None
        )

    @property
    def pauses_ms(self) -> list[int]:
        """Times between fetches, in ascending order: about the processing time."""
        begins = sorted({delivery.since_ms for delivery in (*self.ended, *self.held) if delivery.since_ms is not None})
        return sorted(b - a for a, b in pairwise(begins) if b - a > AT_ONCE_MS)


def holders(share: ShareHistory) -> list[Holder]:
    holders_by_id: dict[str, Holder] = {}
    for delivery in share.deliveries.ended:
        holders_by_id.setdefault(
            delivery.member_id, Holder(delivery.member_id, share.name(delivery.member_id))
        ).ended.append(delivery)
    for delivery in share.deliveries.held:
        holders_by_id.setdefault(
            delivery.member_id, Holder(delivery.member_id, share.name(delivery.member_id))
        ).held.append(delivery)
    return [holders_by_id[member_id] for member_id in sorted(holders_by_id)]


def _first_ms(delivery: Delivery) -> int:
    first = delivery.end_ms if delivery.since_ms is None else delivery.since_ms
    assert first is not None, "a delivery has a start or an end"
    return first


def percentile(values: list[int], percent: int) -> int | None:
    """Return the nearest-rank percentile of sorted values, or None without values."""
    return values[max(0, -(-len(values) * percent // 100) - 1)] if values else None
