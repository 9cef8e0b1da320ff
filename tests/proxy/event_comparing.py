"""What a proxy says of groups, beside what the broker itself says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import fields
from typing import NamedTuple

from kohort.broker.cluster.group_events import Recorded
from kohort.coordinator.events.group_event import GroupEvent
from kohort.proxy.seen.event_desk import UNKNOWN_CAUSE
from tests.talk.conversations import FILES

PLAYED = [name for name, each in FILES.items() if not each.has("restarts")]
"""Not those whose broker restarts: it has other events then, and the connections of before have ended."""

MEASURED = {
    "ts", "mono_us", "co_partition", "co_epoch", "log_offset", "rebalance_id", "detail", "duration_us", "state_from",
}  # fmt: skip
"""Columns that depend on when something was seen, or count what is not."""
COMPARED = [field.name for field in fields(GroupEvent) if field.name not in MEASURED]

BOTH_PROTOCOLS = "members of both protocols, of whom the proxy shows those of the newer one"
UNHEARD = "the cluster has acted by its timers, or on a coordinator's own account, before anybody spoke again"
DIFFERS = {
    "classic/leadership-moves-while-a-join-waits": UNHEARD,
    "classic/mixed-running-classic-group-is-upgraded": BOTH_PROTOCOLS,
    "consumer/max-size-full-group": UNHEARD,
    "consumer/rebalance-target-moves-twice": UNHEARD,
    "consumer/static-instance-id-is-taken": "UNKNOWN_MEMBER_ID is meant for another instance id",
    "consumer/static-steps-out-and-stays-away": UNHEARD,
    "consumer/subscription-changes": "a name that is given twice is no other subscription",
}
"""Conversations of which the proxy says something else, and why."""


class Difference(NamedTuple):
    """An event that the broker has not reported so."""

    seen: GroupEvent
    columns: tuple[str, ...]
    """In which it differs; none: there is no such event."""


class Beside(NamedTuple):
    """Events of the proxy, each taken for the broker's that is most like it."""

    differences: list[Difference]
    agreed: Counter[str]
    """Kinds, and how many the broker and the proxy both say."""
    left_out: Counter[str]
    """Those that only the broker says."""


def beside(seen_events: Iterable[Recorded], said_events: Iterable[Recorded]) -> Beside:
    """Compares what the proxy says with what the broker says."""
    said = [said_event.event for said_event in said_events if said_event.event.group_id is not None]
    differences, agreed = [], Counter[str]()
    for seen in (seen_event.event for seen_event in seen_events):
        alike = [line for line in said if (line.kind, line.group_id) == (seen.kind, seen.group_id)]
        alike = [item for item in alike if seen.member_id in (None, item.member_id)]
        best = min(alike, key=lambda item: len(differing(seen, item)), default=None)
        if best is None or differing(seen, best):
            differences.append(Difference(seen, () if best is None else differing(seen, best)))
        else:
            agreed[seen.kind] += 1
        said = [line for line in said if line is not best]
    return Beside(differences, agreed, Counter(line.kind for line in said))


def differing(seen: GroupEvent, said: GroupEvent) -> tuple[str, ...]:
    """Columns in which the proxy says something, and something else. That a cause is not known is nothing."""
    return tuple(
        name
        for name in COMPARED
        if (value := getattr(seen, name)) is not None
        and value != getattr(said, name)
        and not (name == "cause" and value == UNKNOWN_CAUSE)
    )


def is_of_both_protocols(name: str) -> bool:
    """Whether classic members may be in consumer groups."""
    return "migration" in name or "classic-member" in name


def held() -> list[str]:
    """The recordings that are compared column by column."""
    return [
        item
        for item in PLAYED
        if not item.startswith(("rules/", "streams/")) and item not in DIFFERS and not is_of_both_protocols(item)
    ]
