"""R50: many records of a share group are returned and delivered again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.share_deliveries import ACCEPTED, CLOSED, EXPIRED, REJECTED, RELEASED
from kohort.pipeline.history.share_history import ShareHistory
from kohort.pipeline.history.share_holders import holders
from kohort.pipeline.rules.finding import CERTAIN, POSSIBLE, WARNING, Finding, listed, several

ID = "R50"
SHARE, FEWEST = 0.2, 20  # minimum fraction of all deliveries, and minimum number of records
MUCH_OF_IT = 0.5  # a member that causes this fraction is named


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    if (share := analysis.share) is None:
        return
    counts = _by_events(share) if share.has_deliveries else _by_states(share)
    back, every = counts[RELEASED] + counts[EXPIRED] + counts[CLOSED], counts.total()
    if back < FEWEST or back < SHARE * every:
        return
    clients = _causing_members(share)
    start, end = analysis.span_ms
    yield Finding(
        ID,
        "Many records are returned and delivered again",
        WARNING,
        CERTAIN,
        f"of {several(every, 'delivery', 'deliveries')} of a record {back} ({100 * back / every:.0f} %) ended with the return of the "
        f"record, to be delivered again{_ends(counts, share.has_deliveries)}"
        + (f"; most of them by {listed(clients)}" if clients else "")
        + (
            f"; {several(share.unread, 'other partition')} of the group {'was' if share.unread == 1 else 'were'} not read"
            if share.unread
            else ""
        ),
        "Find out why handlers fail: a release is for records that a later delivery can process. Wait before releasing, reject "
        "records that can't be processed, and renew slow ones (share.renew.acknowledge.enable); if locks expire, share.record.lock.duration.ms "
        "of the group or group.share.record.lock.duration.ms is too short. Each delivery counts towards "
        "share.delivery.count.limit.",
        start,
        end,
        clients,
        {
            "records": back,
            "of": every,
            "share": back / every,
            "released": counts[RELEASED] if share.has_deliveries else None,
            "locks_expired": counts[EXPIRED] if share.has_deliveries else None,
        },
        cause_confidence="" if share.has_deliveries else POSSIBLE,
    )


def _by_events(share: ShareHistory) -> Counter[str]:
    """Count deliveries by their end; held records count, too, because their end may be missing."""
    counts: Counter[str] = Counter()
    for delivery in (*share.deliveries.ended, *share.deliveries.held):
        counts[delivery.how or ""] += delivery.records
    return counts


def _by_states(share: ShareHistory) -> Counter[str]:
    """Count deliveries by state; returns count as released, because the log has no expired locks."""
    counts: Counter[str] = Counter()
    for states in share.states.values():
        counts[ACCEPTED] += sum(batch.records for batch in states.accepted)
        counts[REJECTED] += sum(batch.records for batch in states.archived)
        counts[RELEASED] += sum(records for _, records in states.returns)
    return counts


def _ends(counts: Counter[str], has_events: bool) -> str:
    if not has_events:
        return "; only an event log shows whether members released them or their locks expired"
    named = ((RELEASED, "released"), (EXPIRED, "by an expired lock"), (CLOSED, "with a session that ended"))
    return " (" + ", ".join(f"{counts[how]} {words}" for how, words in named if counts[how]) + ")"


def _causing_members(share: ShareHistory) -> list[str]:
    """Return the members that caused most of the returns, unless these are all members."""
    back = Counter[str]()
    for holder in holders(share):
        records = holder.records
        back[holder.name] += records[RELEASED] + records[EXPIRED] + records[CLOSED]
    worst = [name for name, records in back.items() if records >= MUCH_OF_IT * back.total() and len(back) > 1]
    return sorted(worst)
