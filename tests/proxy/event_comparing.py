"""Compares the proxy's events of groups with those of the broker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import fields
from typing import NamedTuple

from kohort.broker.cluster.group_events import Recorded
from kohort.coordinator.events.group_event import GroupEvent
from kohort.proxy.observed.observed_events import UNKNOWN_CAUSE
from tests.talk.conversations import FILES

# without conversations whose broker restarts: that has other events, and closes connections
PLAYED = [name for name, each in FILES.items() if not each.has("restarts")]

# columns that depend on the time of observation, or count unobserved things
MEASURED = {
    "ts", "mono_us", "co_partition", "co_epoch", "log_offset", "rebalance_id", "detail", "duration_us", "state_from",
}  # fmt: skip
COMPARED = [field.name for field in fields(GroupEvent) if field.name not in MEASURED]

BOTH_PROTOCOLS = "members of both protocols, of whom the proxy shows those of the newer one"
UNHEARD = "the cluster has acted by its timers, or on a coordinator's own account, before the next request"
DIFFERS = {
    "classic/leadership-moves-while-a-join-waits": UNHEARD,
    "classic/mixed-running-classic-group-is-upgraded": BOTH_PROTOCOLS,
    "consumer/rebalance-target-moves-twice": UNHEARD,
    "consumer/static-instance-id-is-taken": "UNKNOWN_MEMBER_ID is meant for another instance id",
    "consumer/static-steps-out-and-stays-away": UNHEARD,
    "consumer/subscription-changes": "a name that is listed twice does not change the subscription",
}  # conversations in which the proxy's events differ, with the reason


class Difference(NamedTuple):
    """An event that the broker has not reported so."""

    seen: GroupEvent
    columns: tuple[str, ...]  # differing columns; empty if the event does not exist


class Beside(NamedTuple):
    """Events of the proxy, each taken for the broker's that is most like it."""

    differences: list[Difference]
    agreed: Counter[str]  # number of events that both have, by type
    left_out: Counter[str]  # events that only the broker has


def beside(seen_events: Iterable[Recorded], said_events: Iterable[Recorded]) -> Beside:
    """Compare the proxy's events with the broker's."""
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
    """Return the columns in which the proxy has another value. An unknown cause is not a difference."""
    return tuple(
        name
        for name in COMPARED
        if (value := getattr(seen, name)) is not None
        and value != getattr(said, name)
        and not (name == "cause" and value == UNKNOWN_CAUSE)
    )


def is_of_both_protocols(name: str) -> bool:
    """Return whether the conversation may have classic members in consumer groups."""
    return "migration" in name or "classic-member" in name


def held() -> list[str]:
    """Return the conversations that are compared column by column."""
    return [
        item
        for item in PLAYED
        if not item.startswith(("rules/", "streams/")) and item not in DIFFERS and not is_of_both_protocols(item)
    ]
