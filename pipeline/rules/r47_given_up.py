"""R47: records that were delivered as often as the limit allows, and then archived: nobody will process them.

An event log says that the limit was reached, and how each delivery ended. The share coordinator's log says how often
records were delivered, not whether a member released them, held them past its lock or rejected them in the end.
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
    if analysis.share is None or not (found := poison(analysis.share)):
        return
    records, first = sum(each.records for each in found), found[0]
    clients = list(dict.fromkeys(client for each in found for client in each.clients))
    counts = sorted({each.count for each in found})
    start, end = min(each.first_ms for each in found), found[-1].end_ms
    accepted = analysis.share.accepted_between(start, end)
    one = records == 1
    yield Finding(
        ID,
        "Records that nobody could process"
        if any(each.at_limit for each in found)
        else "Records that were archived and never accepted",
        CRITICAL,
        CERTAIN,
        f"{several(records, 'record')} ({listed([each.name for each in found], 3)}) {'was' if one else 'were'} delivered "
        f"{_counted(counts)} and then archived, without having been accepted: {'it' if one else 'they'} will not come again; "
        f"{_how(found)}",
        f"Read the record at {first.name} (a plain consumer with --partition and --offset still gets it), and see what "
        f"{'its handlers' if not clients else listed(clients)} logged. Correct the handler, or reject what can't be processed at "
        "once and put it aside. share.delivery.count.limit of the group (group.share.delivery.count.limit for all) allows "
        "more tries, which helps only where a later try can do better. What is archived comes again if an empty group's "
        "offsets are reset (kafka-share-groups --reset-offsets).",
        start,
        end,
        clients,
        {
            "topic": first.topic_partition[0],
            "part": first.topic_partition[1],
            "offset": first.first,
            "records": records,
            "deliveries": counts,
            "released": _sum(each.released for each in found),
            "locks_expired": _sum(each.expired for each in found),
            "accepted_meanwhile": accepted,
        },
        cause_confidence=weakest(_cause(each, accepted) for each in found),
    )


def _counted(counts: list[int]) -> str:
    return times(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]} times"


def _cause(each: GivenUp, accepted: int) -> str:
    """How sure it is that the limit was reached because of the records themselves."""
    if each.at_limit:  # other members failed with them, too, or this one went on with others
        return LIKELY if len(each.clients) > 1 or accepted else POSSIBLE
    return LIKELY if each.quick and each.count == USUAL_LIMIT else POSSIBLE


def _how(found: list[GivenUp]) -> str:
    if all(each.at_limit for each in found):
        ends = (
            ("released", _sum(each.released for each in found)),
            ("lost to an expired lock", _sum(each.expired for each in found)),
            ("lost with a session", _sum(each.closed for each in found)),
        )
        told = ", ".join(f"{what} {times(count)}" for what, count in ends if count)
        return f"the members that held {'it' if len(found) == 1 else 'them'} ended that: {told or 'how is not known'}"
    longest = max(each.end_ms - each.first_ms for each in found)
    if all(each.quick for each in found):
        return (
            f"between two deliveries less passed than any lock lasts (all of it took {seconds(longest)}), so that members gave "
            "them back; by whom, and whether the last delivery ended in a rejection, only an event log tells"
        )
    return (
        "whether members released them, held them past their locks, or rejected them in the end, and who they were, only an "
        "event log tells"
    )


def _sum(counts: Iterator[int | None]) -> int | None:
    """None: nobody knows of any."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
