"""Rows about the records of share groups: what became of them, in whose hands, and which were given up."""

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
    """One row for a share group, none for another."""
    if (share := analysis.share) is None:
        return []
    (first_ms, last_ms), ended = analysis.span_ms, share.deliveries.ended
    held = sorted(each.held_ms for each in ended if each.how == ACCEPTED and each.held_ms is not None)
    row: ShareGroupRow = {
        "first_ms": first_ms,
        "last_ms": last_ms,
        "seen_from_ms": share.seen_from_ms or (first_ms if share.seen_from_ms == 0 else None),
        "seen_share": _seen_share(share, first_ms, last_ms),
        "has_deliveries": share.has_deliveries or share.events_from_ms is not None,
        "has_states": bool(share.states),
        "members": len({stay.member_id for stay in share.stays} | {each.member_id for each in ended}),
        "accepted": _records(share, ACCEPTED),
        "rejected": _records(share, REJECTED) if share.has_deliveries else None,
        "returned": _returned(share),
        "given_up": sum(each.records for each in share.given_up) if _is_told(share) else None,
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
        return sum(each.records for each in share.deliveries.ended if each.how == how)
    return sum(each.records for of in share.states.values() for each in of.accepted) if share.states else None


def _returned(share: ShareHistory) -> int | None:
    if share.has_deliveries:
        return sum(each.records for each in share.deliveries.ended if each.how in FAILED)
    return sum(records for of in share.states.values() for _, records in of.returns) if share.states else None


def _in_vain_s(ended: list[Delivery]) -> float:
    return sum(each.records * (each.held_ms or 0) for each in ended if each.how in FAILED) / 1000


def share_member_rows(analysis: GroupAnalysis) -> list[ShareMemberRow]:
    """A row for each stay, and for each member that is known by its deliveries alone."""
    if (share := analysis.share) is None:
        return []
    held = {each.member_id: each for each in holders(share)}
    rows = [_member_row(share, stay, held.pop(stay.member_id, None)) for stay in share.stays]
    return rows + [_member_row(share, None, each) for each in held.values()]


def _member_row(share: ShareHistory, stay: ShareStay | None, holder: Holder | None) -> ShareMemberRow:
    """A member that comes back under its id has its records in the row of its first stay."""
    known = holder or Holder(stay.member_id if stay is not None else "", stay.name if stay is not None else "")
    counts, held, told = known.records, known.accepted_after_ms, share.has_deliveries or None
    begun_ms = stay.start_ms if stay is not None else known.first_ms
    return {
        "member_id": known.member_id,
        "client": known.name,
        "joined_ms": stay.start_ms if stay is not None else None,
        "gone_ms": stay.end_ms if stay is not None else None,
        "ended": stay.ended if stay is not None and stay.end_ms is not None else None,
        "records": told and counts.total() + sum(each.records for each in known.held),
        "accepted": told and counts[ACCEPTED],
        "released": told and counts[RELEASED],
        "rejected": told and counts[REJECTED],
        "expired": told and counts[EXPIRED],
        "closed": told and counts[CLOSED],
        "given_up": told and counts[GIVEN_UP],
        "expiries": told and len({each.since_ms for each in known.expired}),
        "lock_ms": known.lock_ms,
        "held_p50_ms": percentile(held, 50),
        "held_p99_ms": percentile(held, 99),
        "held_max_ms": held[-1] if held else None,
        "in_vain_s": told and _in_vain_s(known.ended),
        "day": day_of(begun_ms),
    }


def share_given_up_rows(analysis: GroupAnalysis) -> list[ShareGivenUpRow]:
    return [
        {
            "topic": each.topic_partition[0],
            "part": each.topic_partition[1],
            "first_offset": each.first,
            "last_offset": each.last,
            "deliveries": each.count,
            "begun_ms": each.first_ms,
            "archived_ms": each.end_ms,
            "released": each.released,
            "expired": each.expired,
            "closed": each.closed,
            "clients": list(each.clients),
            "source": "events" if each.at_limit else "states",
            "day": day_of(each.end_ms),
        }
        for each in ([] if analysis.share is None else analysis.share.given_up)
    ]
