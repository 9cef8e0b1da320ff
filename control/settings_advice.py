"""What is wrong with the settings of a group's members, as far as the coordinator knows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.events.group_event import GroupEvent
from kohort.coordinator.events.member_stats import MemberStats, percentile

Names = dict[str, str]

ENOUGH_HEARTBEATS = 3
"""Fewer say nothing about the interval."""
HABIT = 2
"""So many restarts are more than an accident."""
GONE = ("leave_explicit", "session_expired")
"""How a process that ends leaves its group; who is removed for being late is the same process still."""


def badly_set(group: ClassicGroup, names: Names, events: Iterable[GroupEvent] = ()) -> tuple[str, ...]:
    """A sentence for each thing; `names`: what members are called; `events`: what has happened to the group."""
    return (
        *_assignors(group, names),
        *_differing(group, names, "session.timeout.ms", lambda m: m.session_timeout_ms, "each has its own"),
        *_differing(group, names, "rebalance timeout", lambda m: m.rebalance_timeout_ms, "the longest counts for all"),
        *_short_rebalance(group, names),
        *_rare_heartbeats(group, names),
        *new_ids_at_restarts(
            ((names[each.member_id], each.client_id, each.group_instance_id) for each in group.members.values()), events
        ),
    )


def _assignors(group: ClassicGroup, names: Names) -> Iterator[str]:
    """A protocol can be chosen only if all members list it (classic-groups §2.7)."""
    listed: dict[str, list[str]] = {}
    for member_id, member in group.members.items():
        for name in dict.fromkeys(name for name, _ in member.protocols):
            listed.setdefault(name, []).append(names[member_id])
    everybody = len(group.members)
    common = [name for name, members in listed.items() if len(members) == everybody]
    for name, members in listed.items():
        if len(members) < everybody:
            who = f"only {members[0]} lists" if len(members) == 1 else f"only {', '.join(members)} list"
            left = f"; what all list is {', '.join(common)}" if common else ""
            yield f"{who} the assignor {name}, which so is never chosen{left}"


def _differing(group: ClassicGroup, names: Names, what: str, of: Callable[[Member], int], then: str) -> Iterator[str]:
    values: dict[int, list[str]] = {}
    for member_id, member in group.members.items():
        values.setdefault(of(member), []).append(names[member_id])
    if len(values) > 1:
        each = ", ".join(f"{value / 1_000:g} s ({', '.join(members)})" for value, members in sorted(values.items()))
        yield f"the members' {what} differs: {each}; {then}"


def _short_rebalance(group: ClassicGroup, names: Names) -> Iterator[str]:
    for member_id, member in group.members.items():
        if member.rebalance_timeout_ms < member.session_timeout_ms:
            yield (
                f"{names[member_id]}'s rebalance timeout ({member.rebalance_timeout_ms / 1_000:g} s; in Java "
                f"max.poll.interval.ms) is shorter than its session ({member.session_timeout_ms / 1_000:g} s)"
            )


def _rare_heartbeats(group: ClassicGroup, names: Names) -> Iterator[str]:
    for member_id, member in group.members.items():
        for found in rare_heartbeats(names[member_id], member.stats, member.session_timeout_ms):
            yield f"{found}; lower heartbeat.interval.ms"


def rare_heartbeats(name: str, stats: MemberStats | None, session_ms: int) -> Iterator[str]:
    """Known only while somebody listens to group events: nobody else counts heartbeats."""
    gaps = {} if stats is None else stats.gaps
    count = sum(gaps.values())
    if count >= ENOUGH_HEARTBEATS and (usual_ms := percentile(gaps, count, 0.5)) * 3 > session_ms:
        yield (
            f"{name} sends a heartbeat every {usual_ms / 1_000:g} s, more than a third of its session "
            f"({session_ms / 1_000:g} s): two lost ones end its membership"
        )


def new_ids_at_restarts(members: Iterable[tuple[str, str, str | None]], events: Iterable[GroupEvent]) -> Iterator[str]:
    """A dynamic member that comes back is a new one (KIP-345). Known of clients whose id no other in the group has.

    `members`: what each is called, its client id and its instance id.
    """
    ended = Counter(
        event.client_id
        for event in events
        if event.kind == "member_removed" and event.cause in GONE and event.instance_id is None
    )
    for name, client_id, instance_id in members:
        times = ended[client_id]
        if instance_id is None and name == client_id and times >= HABIT:
            yield (
                f"{client_id} has come back {times} times under a new member id, and each time everything was "
                "rebalanced; with a group.instance.id a restart within its session moves nothing"
            )
