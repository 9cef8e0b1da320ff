"""R48: for a while a share group accepts hardly any records and archives the rest: the records are not the reason."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.given_up import outages
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import CERTAIN, CRITICAL, LIKELY, POSSIBLE, Finding, listed, moment, seconds, several

ID = "R48"


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    if analysis.share is None or not (failures := outages(analysis.share)):
        return
    records, longest = sum(outage.records for outage in failures), max(failures, key=lambda outage: outage.records)
    clients = list(dict.fromkeys(client for given_up in longest.given_up for client in given_up.clients))
    counts = sorted({given_up.count for outage in failures for given_up in outage.given_up})
    unread = analysis.share.unread  # others of its partitions may have been read and accepted meanwhile
    yield Finding(
        ID,
        "All records were archived unprocessed for a while",
        CRITICAL,
        POSSIBLE if unread else CERTAIN,
        f"from {moment(longest.start_ms)} UTC on, for {seconds(longest.end_ms - longest.start_ms)}, the group accepted "
        f"{several(longest.accepted, 'record')} and {longest.records} were archived after {counts[-1]} deliveries each: "
        f"{several(records, 'record')} in total will not be delivered again"
        + (f" ({listed(clients)})" if clients else "; only an event log shows which members held them")
        + (f"; the delivery states of {several(unread, 'other partition')} were not read" if unread else ""),
        "Find the resource that all handlers need (a database, a service) and could not reach then. While it is unavailable, "
        "hold or renew records and fetch no more (share.renew.acknowledge.enable), or wait before releasing: released at once, a "
        "record uses up share.delivery.count.limit (group.share.delivery.count.limit for all groups) within seconds. Reset "
        "the group's offsets to before it (kafka-share-groups --reset-offsets) to get the records again: accepted records "
        "are delivered again, too.",
        failures[0].start_ms,
        failures[-1].end_ms,
        clients,
        {
            "records": records,
            "accepted_meanwhile": sum(outage.accepted for outage in failures),
            "deliveries": counts,
            "longest_ms": longest.end_ms - longest.start_ms,
            "times": len(failures),
        },
        cause_confidence=LIKELY if len(clients) > 1 else POSSIBLE,
    )
