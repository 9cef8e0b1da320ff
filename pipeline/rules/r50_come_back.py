"""R50: much of what a share group gets comes back, to be delivered again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.share_deliveries import ACCEPTED, CLOSED, EXPIRED, REJECTED, RELEASED
from kohort.pipeline.history.share_history import ShareHistory
from kohort.pipeline.history.share_holders import holders
from kohort.pipeline.rules.finding import CERTAIN, POSSIBLE, WARNING, Finding, listed, several

ID = "R50"
SHARE, FEWEST = 0.2, 20
"""This share of all deliveries, and this many records."""
MUCH_OF_IT = 0.5
"""A member that causes so much of it is named."""


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    if (share := analysis.share) is None:
        return
    counts = _by_events(share) if share.has_deliveries else _by_states(share)
    back, every = counts[RELEASED] + counts[EXPIRED] + counts[CLOSED], counts.total()
    if back < FEWEST or back < SHARE * every:
        return
    clients = _who(share)
    start, end = analysis.span_ms
    yield Finding(
        ID,
        "Many records come back",
        WARNING,
        CERTAIN,
        f"of {several(every, 'delivery', 'deliveries')} of a record {back} ({100 * back / every:.0f} %) ended with the record "
        f"back in the group, to be delivered again{_ends(counts, share.has_deliveries)}"
        + (f"; most of it came from {listed(clients)}" if clients else "")
        + (
            f"; {several(share.unread, 'other partition')} of the group {'was' if share.unread == 1 else 'were'} not read"
            if share.unread
            else ""
        ),
        "Find out why handlers give up: a release is for what a later try can do. Wait before releasing, reject what no try "
        "can do, and renew what takes long (share.renew.acknowledge.enable); where locks expire, share.record.lock.duration.ms "
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
    """Records that are still held count, too: it may be that nobody tells of their ends."""
    counts: Counter[str] = Counter()
    for each in (*share.deliveries.ended, *share.deliveries.held):
        counts[each.how or ""] += each.records
    return counts


def _by_states(share: ShareHistory) -> Counter[str]:
    """What comes back is counted as released: the log doesn't tell that from an expired lock."""
    counts: Counter[str] = Counter()
    for states in share.states.values():
        counts[ACCEPTED] += sum(each.records for each in states.accepted)
        counts[REJECTED] += sum(each.records for each in states.archived)
        counts[RELEASED] += sum(records for _, records in states.returns)
    return counts


def _ends(counts: Counter[str], told: bool) -> str:
    if not told:
        return "; whether members released them or their locks expired only an event log tells"
    named = ((RELEASED, "released"), (EXPIRED, "by an expired lock"), (CLOSED, "with a session that ended"))
    return " (" + ", ".join(f"{counts[how]} {words}" for how, words in named if counts[how]) + ")"


def _who(share: ShareHistory) -> list[str]:
    """The members from which most of it came, if those are fewer than all."""
    back = Counter[str]()
    for each in holders(share):
        records = each.records
        back[each.name] += records[RELEASED] + records[EXPIRED] + records[CLOSED]
    worst = [name for name, records in back.items() if records >= MUCH_OF_IT * back.total() and len(back) > 1]
    return sorted(worst)
