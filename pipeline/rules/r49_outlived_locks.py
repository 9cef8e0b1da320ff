"""R49: a member of a share group works longer than its locks last, so others receive its records. Needs events.

A member that held records once and did nothing more crashed or hung, which is the purpose of locks. A member that
continues and loses its locks repeatedly works in vain.
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
MOSTLY = 0.5  # a member that loses this fraction of its records does more harm than good
SOME_MORE = 1.5  # factor by which a lock should be longer than the work
_WHOLE_MS = 1000


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    if analysis.share is None:
        return
    for holder in holders(analysis.share):
        last_sign_ms = holder.last_sign_ms
        lost = [
            delivery for delivery in holder.expired if delivery.end_ms is not None and delivery.end_ms < last_sign_ms
        ]
        moments = sorted({delivery.since_ms for delivery in lost if delivery.since_ms is not None})
        if len(moments) >= OFTEN:
            yield _finding(holder, lost, len(moments), _given_up_by(holder, analysis.share.given_up))


def _given_up_by(holder: Holder, given_up: list[GivenUp]) -> int:
    """Return the number of archived records that only this member had held, each time beyond its lock."""
    return sum(batch.records for batch in given_up if batch.clients == (holder.name,) and batch.expired == batch.count)


def _finding(holder: Holder, lost: list[Delivery], often: int, given_up: int) -> Finding:
    counts, records = holder.records, sum(delivery.records for delivery in lost)
    share = counts[EXPIRED] / sum(counts.values())
    works_ms, lock_ms = percentile(holder.pauses_ms, 95), holder.lock_ms
    in_vain_s = sum(delivery.records * (delivery.held_ms or 0) for delivery in lost) / 1000
    return Finding(
        ID,
        "A member holds records for longer than their locks",
        CRITICAL if share >= MOSTLY or given_up else WARNING,
        CERTAIN,
        f"{times(often)} the locks of {holder.name} expired while it worked, on {several(records, 'record')} in total "
        f"({100 * share:.0f} % of its deliveries): others could acquire them then, and its later acknowledgements were rejected"
        + (f"; a lock lasts {seconds(lock_ms)}" if lock_ms is not None else "")
        + (f", it fetched more every {seconds(works_ms)} or faster" if works_ms is not None else "")
        + (
            f"; {several(given_up, 'record')} were delivered to no other member and reached the delivery limit"
            if given_up
            else ""
        ),
        f"Reduce the records that {holder.name} fetches (max.poll.records, share.acquire.mode=record_limit), or renew "
        "records in progress (acknowledgement RENEW; share.renew.acknowledge.enable). Otherwise raise the lock duration: "
        f"share.record.lock.duration.ms of the group{_proposed(works_ms, lock_ms)}, group.share.record.lock.duration.ms for "
        "all groups, within group.share.min and max.record.lock.duration.ms (15 s and 60 s unless set).",
        min(delivery.since_ms or delivery.end_ms or 0 for delivery in lost),
        max(delivery.end_ms or 0 for delivery in lost),
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
    """Return a sufficient lock duration, if the duration of the work is known."""
    if works_ms is None or (lock_ms is not None and works_ms <= lock_ms):
        return ""
    enough = -(-round(SOME_MORE * works_ms) // _WHOLE_MS) * _WHOLE_MS
    return f" to about {enough}"
