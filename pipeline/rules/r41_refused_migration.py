"""R41: the coordinator rejects the conversion to the consumer protocol or back. Needs events, or the broker's log."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import CERTAIN, WARNING, Finding, times

ID = "R41"
_ADVICE = (
    ("disabled", "Set group.consumer.migration.policy to bidirectional (or upgrade, downgrade) on all brokers, or stop all "
     "members first: an empty group is converted in any case."),
    ("custom assignor", "Use a standard assignor (range, roundrobin, sticky, cooperative-sticky) first, in a separate "
     "rollout. A custom assignor has no counterpart in the consumer protocol."),
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
