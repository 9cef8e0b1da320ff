"""R49: a member of a share group works longer than its locks last: others get what it holds. Needs events.

A member that held records once and did nothing more died or hung: that is what locks are for. One that goes on and
loses its locks again and again works in vain.
"""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.share_deliveries import EXPIRED, Delivery
from kohort.pipeline.history.share_history import GivenUp
from kohort.pipeline.history.share_holders import Holder, holders, percentile
from kohort.pipeline.rules.finding import CERTAIN, CRITICAL, WARNING, Finding, seconds, several, times

ID = "R49"
OFTEN = 3
MOSTLY = 0.5
"""A member that loses so much of what it gets does nothing but harm."""
SOME_MORE = 1.5
"""A lock should last this much longer than the work that it is for."""
_WHOLE_MS = 1000


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    if analysis.share is None:
        return
    for holder in holders(analysis.share):
        last_sign_ms = holder.last_sign_ms
        lost = [each for each in holder.expired if each.end_ms is not None and each.end_ms < last_sign_ms]
        moments = sorted({each.since_ms for each in lost if each.since_ms is not None})
        if len(moments) >= OFTEN:
            yield _finding(holder, lost, len(moments), _given_up_by(holder, analysis.share.given_up))


def _given_up_by(holder: Holder, given_up: list[GivenUp]) -> int:
    """Records that were given up, and that this member alone had held, past their locks."""
    return sum(each.records for each in given_up if each.clients == (holder.name,) and each.expired == each.count)


def _finding(holder: Holder, lost: list[Delivery], often: int, given_up: int) -> Finding:
    counts, records = holder.records, sum(each.records for each in lost)
    share = counts[EXPIRED] / sum(counts.values())
    works_ms, lock_ms = percentile(holder.pauses_ms, 95), holder.lock_ms
    in_vain_s = sum(each.records * (each.held_ms or 0) for each in lost) / 1000
    return Finding(
        ID,
        "A member holds records for longer than their locks",
        CRITICAL if share >= MOSTLY or given_up else WARNING,
        CERTAIN,
        f"{times(often)} the locks of {holder.name} expired while it worked, on {several(records, 'record')} in all "
        f"({100 * share:.0f} % of what it got): others could have them then, and what it acknowledged later was refused"
        + (f"; a lock lasts {seconds(lock_ms)}" if lock_ms is not None else "")
        + (f", it asked for more every {seconds(works_ms)} or faster" if works_ms is not None else "")
        + (f"; {several(given_up, 'record')} came to nobody else and reached the delivery limit" if given_up else ""),
        f"Let {holder.name} take fewer records at a time (max.poll.records, share.acquire.mode=record_limit), or renew "
        "what it still works on (acknowledgement RENEW; share.renew.acknowledge.enable). Else let locks last longer: "
        f"share.record.lock.duration.ms of the group{_proposed(works_ms, lock_ms)}, group.share.record.lock.duration.ms for "
        "all groups, within group.share.min and max.record.lock.duration.ms (15 s and 60 s unless set).",
        min(each.since_ms or each.end_ms or 0 for each in lost),
        max(each.end_ms or 0 for each in lost),
        [holder.name],
        {
            "locks_expired": often,
            "records": records,
            "share": share,
            "lock_ms": lock_ms,
            "works_ms": works_ms,
            "in_vain_s": in_vain_s,
            "given_up": given_up,
            "members": [holder.member_id],
        },
    )


def _proposed(works_ms: int | None, lock_ms: int | None) -> str:
    """A length that would have been enough, where it is known how long the member works."""
    if works_ms is None or (lock_ms is not None and works_ms <= lock_ms):
        return ""
    enough = -(-round(SOME_MORE * works_ms) // _WHOLE_MS) * _WHOLE_MS
    return f" to about {enough}"
