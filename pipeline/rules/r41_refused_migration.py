"""R41: the coordinator rejects the conversion to the consumer protocol or back. Needs events, or the broker's log."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import CERTAIN, WARNING, Finding, seconds, several, times

ID = "R41"
BEFORE_MS = 5 * 60_000  # members that were there this long before the first rejection may be the ones that are rejected
_ADVICE = (
    ("disabled", "Set group.consumer.migration.policy to bidirectional (or upgrade, downgrade) on all brokers, or stop all "
     "members first: an empty group is converted in any case."),
    ("userData", "Set partition.assignment.strategy of all members to range first, in a separate rollout. The group's "
     "assignments contain user data, which the consumer protocol can't keep: a custom assignor writes it, and so do "
     "librdkafka's cooperative-sticky and the sticky assignors of other libraries."),
    ("custom assignor", "Use a standard assignor (range, roundrobin) first, in a separate rollout. A custom assignor has no "
     "counterpart in the consumer protocol."),
    ("maximum size", "Raise group.consumer.max.size (downgrade: group.max.size), or run fewer members."),
    ("does not use the consumer embedded protocol", "Use another group id: this is not a group of consumers (but of Kafka Connect, for example), and can't "
     "be converted."),
    ("malformed", "Update the client whose subscription can't be parsed."),
)  # fmt: skip
_OTHERWISE = "Set group.protocol back to the value of the other members until the reason is resolved."


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    refused = [event for event in analysis.group.events if event.kind == "conversion_refused"]
    by_reason: dict[tuple[str, str], list[int]] = {}
    for event in refused:
        detail = event.detail or {}
        by_reason.setdefault((detail.get("to", "consumer"), detail.get("reason", "")), []).append(event.ts)
    for (to, reason), moments in by_reason.items():
        text = (
            f"the coordinator rejected {times(len(moments))} the conversion of the group to the {to} protocol: {reason}"
        )
        text += "; the members that requested it could not join" if to == "consumer" else ""
        text += _fewer_members(analysis, moments)
        yield Finding(
            ID,
            f"The migration to the {to} protocol is rejected",
            WARNING,
            CERTAIN,
            text,
            next((advice for words, advice in _ADVICE if words in reason), _OTHERWISE),
            moments[0],
            moments[-1],
            [],
            {"times": len(moments), "to": [to], "moments_ms": moments[:100]},
        )


def _fewer_members(analysis: GroupAnalysis, moments: list[int]) -> str:
    """Describe how long the group had fewer members after the first rejection than shortly before it."""
    earlier_sizes = [
        g.size
        for g in analysis.generations
        if g.stable_ms < moments[0] and moments[0] - BEFORE_MS <= (g.end_ms or moments[0])
    ]
    later = [g for g in analysis.generations if g.size and (g.end_ms or analysis.group.until_ms) > moments[0]]
    if not earlier_sizes or not later:
        return ""
    usual, fewest = max(earlier_sizes), min(g.size for g in later)
    if fewest >= usual:
        return ""
    with_fewer = (g for g in later if g.size < usual)
    lasted_ms = sum((g.end_ms or analysis.group.until_ms) - max(g.stable_ms, moments[0]) for g in with_fewer)
    return f"; for {seconds(lasted_ms)} after the first rejection the group had fewer than {several(usual, 'member')}, at times {fewest}"
