"""Rows about share groups: totals, members, and records that were given up."""

from __future__ import annotations

from kohort.pipeline.gold.share_gold_rows import ShareGivenUpRow, ShareGroupRow, ShareMemberRow
from kohort.pipeline.history.days import day_of
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.share_deliveries import (
    ACCEPTED,
    CLOSED,
    EXPIRED,
    FAILED,
    GIVEN_UP,
    REJECTED,
    RELEASED,
    Delivery,
)
from kohort.pipeline.history.share_history import ShareHistory
from kohort.pipeline.history.share_holders import Holder, holders, percentile
from kohort.pipeline.history.share_members import ShareStay


def share_group_rows(analysis: GroupAnalysis) -> list[ShareGroupRow]:
    """Return one row for a share group, none for another group type."""
    if (share := analysis.share) is None:
        return []
    (first_ms, last_ms), ended = analysis.span_ms, share.deliveries.ended
    held = sorted(entry.held_ms for entry in ended if entry.how == ACCEPTED and entry.held_ms is not None)
    row: ShareGroupRow = {
        "first_ms": first_ms,
        "last_ms": last_ms,
        "seen_from_ms": share.seen_from_ms or (first_ms if share.seen_from_ms == 0 else None),
        "seen_share": _seen_share(share, first_ms, last_ms),
        "has_deliveries": share.has_deliveries or share.events_from_ms is not None,
        "has_states": bool(share.states),
        "members": len({stay.member_id for stay in share.stays} | {entry.member_id for entry in ended}),
        "accepted": _records(share, ACCEPTED),
        "rejected": _records(share, REJECTED) if share.has_deliveries else None,
        "returned": _returned(share),
        "given_up": sum(entry.records for entry in share.given_up) if _is_told(share) else None,
        "held_p50_ms": percentile(held, 50),
        "held_p99_ms": percentile(held, 99),
        "held_max_ms": held[-1] if held else None,
        "in_vain_s": _in_vain_s(ended) if share.has_deliveries else None,
        "day": day_of(first_ms),
    }
    return [row]


def _is_told(share: ShareHistory) -> bool:
    return share.has_deliveries or bool(share.states)


def _seen_share(share: ShareHistory, first_ms: int, last_ms: int) -> float:
    if share.seen_from_ms is None:
        return 0.0
    return min(1.0, max(0, last_ms - max(share.seen_from_ms, first_ms)) / max(1, last_ms - first_ms))


def _records(share: ShareHistory, how: str) -> int | None:
    if share.has_deliveries:
        return sum(entry.records for entry in share.deliveries.ended if entry.how == how)
    return sum(entry.records for of in share.states.values() for entry in of.accepted) if share.states else None


def _returned(share: ShareHistory) -> int | None:
    if share.has_deliveries:
        return sum(delivery.records for delivery in share.deliveries.ended if delivery.how in FAILED)
    return sum(records for of in share.states.values() for _, records in of.returns) if share.states else None


def _in_vain_s(ended: list[Delivery]) -> float:
    return sum(delivery.records * (delivery.held_ms or 0) for delivery in ended if delivery.how in FAILED) / 1000


def share_member_rows(analysis: GroupAnalysis) -> list[ShareMemberRow]:
    """Return a row for each stay, and for each member known only by its deliveries."""
    if (share := analysis.share) is None:
        return []
    held = {holder.member_id: holder for holder in holders(share)}
    rows = [_member_row(share, stay, held.pop(stay.member_id, None)) for stay in share.stays]
    return rows + [_member_row(share, None, holder) for holder in held.values()]


def _member_row(share: ShareHistory, stay: ShareStay | None, holder: Holder | None) -> ShareMemberRow:
    """Return one row. The row of the first stay contains the records of a member that rejoins with its id."""
    member = holder or Holder(stay.member_id if stay is not None else "", stay.name if stay is not None else "")
    counts, held, has_deliveries = member.records, member.accepted_after_ms, share.has_deliveries or None
    begun_ms = stay.start_ms if stay is not None else member.first_ms
    return {
        "member_id": member.member_id,
        "client": member.name,
        "joined_ms": stay.start_ms if stay is not None else None,
        "gone_ms": stay.end_ms if stay is not None else None,
        "ended": stay.ended if stay is not None and stay.end_ms is not None else None,
        "records": has_deliveries and counts.total() + sum(delivery.records for delivery in member.held),
        "accepted": has_deliveries and counts[ACCEPTED],
        "released": has_deliveries and counts[RELEASED],
        "rejected": has_deliveries and counts[REJECTED],
        "expired": has_deliveries and counts[EXPIRED],
        "closed": has_deliveries and counts[CLOSED],
        "given_up": has_deliveries and counts[GIVEN_UP],
        "expiries": has_deliveries and len({delivery.since_ms for delivery in member.expired}),
        "lock_ms": member.lock_ms,
        "held_p50_ms": percentile(held, 50),
        "held_p99_ms": percentile(held, 99),
        "held_max_ms": held[-1] if held else None,
        "in_vain_s": has_deliveries and _in_vain_s(member.ended),
        "day": day_of(begun_ms),
    }


def share_given_up_rows(analysis: GroupAnalysis) -> list[ShareGivenUpRow]:
    return [
        {
            "topic": records.topic_partition[0],
            "part": records.topic_partition[1],
            "first_offset": records.first,
            "last_offset": records.last,
            "deliveries": records.count,
            "begun_ms": records.first_ms,
            "archived_ms": records.end_ms,
            "released": records.released,
            "expired": records.expired,
            "closed": records.closed,
            "clients": list(records.clients),
            "source": "events" if records.at_limit else "states",
            "day": day_of(records.end_ms),
        }
        for records in ([] if analysis.share is None else analysis.share.given_up)
    ]
