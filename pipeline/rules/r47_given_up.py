"""R47: records were delivered as often as the limit allows, and then archived without being processed.

An event log contains the limit and the end of each delivery. The share coordinator's log contains the delivery count,
but not whether a member released a record, lost its lock or rejected it in the end.
"""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.given_up import poison
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.share_history import USUAL_LIMIT, GivenUp
from kohort.pipeline.rules.finding import (
    CERTAIN,
    CRITICAL,
    LIKELY,
    POSSIBLE,
    Finding,
    listed,
    seconds,
    several,
    times,
    weakest,
)

ID = "R47"


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    if analysis.share is None or not (archived := poison(analysis.share)):
        return
    records, first = sum(batch.records for batch in archived), archived[0]
    clients = list(dict.fromkeys(client for batch in archived for client in batch.clients))
    counts = sorted({batch.count for batch in archived})
    start, end = min(batch.first_ms for batch in archived), archived[-1].end_ms
    accepted = analysis.share.accepted_between(start, end)
    one = records == 1
    yield Finding(
        ID,
        "Records that no member could process"
        if any(batch.at_limit for batch in archived)
        else "Records that were archived and never accepted",
        CRITICAL,
        CERTAIN,
        f"{several(records, 'record')} ({listed([batch.name for batch in archived], 3)}) {'was' if one else 'were'} delivered "
        f"{_counted(counts)} and then archived, without having been accepted: {'it' if one else 'they'} will not be delivered again; "
        f"{_how(archived)}",
        f"Read the record at {first.name} (a plain consumer with --partition and --offset can still read it), and check what "
        f"{'its handlers' if not clients else listed(clients)} logged. Fix the handler, or reject a record that can't be processed at "
        "once and store it elsewhere. share.delivery.count.limit of the group (group.share.delivery.count.limit for all) allows "
        "more deliveries, which helps only if a later one can succeed. Archived records are delivered again after a reset of "
        "the offsets of an empty group (kafka-share-groups --reset-offsets).",
        start,
        end,
        clients,
        {
            "topic": first.topic_partition[0],
            "part": first.topic_partition[1],
            "offset": first.first,
            "records": records,
            "deliveries": counts,
            "released": _sum(batch.released for batch in archived),
            "locks_expired": _sum(batch.expired for batch in archived),
            "accepted_meanwhile": accepted,
        },
        cause_confidence=weakest(_cause(batch, accepted) for batch in archived),
    )


def _counted(counts: list[int]) -> str:
    return times(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]} times"


def _cause(batch: GivenUp, accepted: int) -> str:
    """Return the confidence that the records themselves are the reason for reaching the limit."""
    if batch.at_limit:  # other members failed with them, too, or this one continued with others
        return LIKELY if len(batch.clients) > 1 or accepted else POSSIBLE
    return LIKELY if batch.quick and batch.count == USUAL_LIMIT else POSSIBLE


def _how(archived: list[GivenUp]) -> str:
    if all(batch.at_limit for batch in archived):
        ends = (
            ("released", _sum(batch.released for batch in archived)),
            ("lost to an expired lock", _sum(batch.expired for batch in archived)),
            ("lost with a session", _sum(batch.closed for batch in archived)),
        )
        counted_ends = ", ".join(f"{end} {times(count)}" for end, count in ends if count)
        return f"the members that held {'it' if len(archived) == 1 else 'them'} ended that: {counted_ends or 'it is unknown how'}"
    longest = max(batch.end_ms - batch.first_ms for batch in archived)
    if all(batch.quick for batch in archived):
        return (
            f"the time between two deliveries was shorter than any lock (all deliveries took {seconds(longest)}), so members "
            "released them; only an event log shows which members, and whether the last delivery ended in a rejection"
        )
    return (
        "only an event log shows which members held them, and whether these released them, lost their locks, or rejected "
        "them in the end"
    )


def _sum(counts: Iterator[int | None]) -> int | None:
    """Add the known counts, or return None without any."""
    numbers = [count for count in counts if count is not None]
    return sum(numbers) if numbers else None
