"""R08: subscriptions change repeatedly while the members stay.

Kafka rewrites the record of a regular expression whenever any topic is created; only a changed list of topics counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import CERTAIN, INFO, WARNING, Finding, busiest, listed, times

ID = "R08"
OFTEN_AN_HOUR = 3
AT_LEAST = 2
_FOUND_BY_CLIENTS = ", and raise metadata.max.age.ms so that several new topics are discovered at once"


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    moments = [
        r.begin_ms
        for r in analysis.settled
        if not r.is_epoch and "subscriptions" in r.changes and "members" not in r.changes
    ]
    topics: set[str] = set()
    for r in analysis.settled:
        if r.begin_ms in moments:
            for member in r.after.members.values():
                old_member = r.before.members.get(member.member_id)
                if old_member is not None:
                    topics |= set(member.topics or ()) ^ set(old_member.topics or ())
    pattern = None
    if analysis.consumer is not None:
        topics_by_regex: dict[str, tuple[str, ...]] = {}
        for ts_ms, regex, matched_topics in analysis.consumer.regex_writes:
            if regex in topics_by_regex and topics_by_regex[regex] != matched_topics:
                moments.append(ts_ms)
                topics |= set(matched_topics) ^ set(topics_by_regex[regex])
                pattern = regex
            topics_by_regex[regex] = matched_topics
        for epoch in analysis.consumer.epochs:
            if epoch.cause == "metadata_changed":
                moments.append(epoch.start_ms)
                topics |= epoch.resubscribed
    if len(moments) < AT_LEAST:
        return
    often = busiest(moments, 3_600_000) >= OFTEN_AN_HOUR
    yield Finding(
        ID,
        "Subscriptions change while members stay",
        WARNING if often else INFO,
        CERTAIN,
        f"the subscribed topics changed {times(len(moments))} without a change of members ({listed(sorted(topics))})"
        + (f", by the pattern {pattern}" if pattern else "")
        + "; each change causes a rebalance",
        f"Narrow the pattern if it matches new topics{'' if analysis.consumer else _FOUND_BY_CLIENTS}. If the application "
        "changes its subscription, change it for all members at once.",
        min(moments),
        max(moments),
        [],
        {"times": len(moments), "moments_ms": sorted(moments), "topics": sorted(topics), "pattern": pattern},
    )
