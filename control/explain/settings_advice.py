"""Problems with the settings of a group's members, as far as the coordinator knows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.events.group_event import GroupEvent
from kohort.coordinator.events.member_stats import MemberStats, percentile

Names = dict[str, str]

ENOUGH_HEARTBEATS = 3  # minimum number that reveals the interval
HABIT = 2  # number of restarts from which advice is given
# Causes of a removal when a process ends. A member that is removed for being late is still the same process.
ENDED = ("leave_explicit", "session_expired")


def badly_set(group: ClassicGroup, names: Names, events: Iterable[GroupEvent] = ()) -> tuple[str, ...]:
    """Return a sentence for each problem.

    Args:
        names: The display names of members by id.
        events: The recorded events of the group.
    """
    return (
        *_assignors(group, names),
        *_differing(group, names, "session.timeout.ms", lambda m: m.session_timeout_ms, "each has its own"),
        *_differing(group, names, "rebalance timeout", lambda m: m.rebalance_timeout_ms, "the longest counts for all"),
        *_short_rebalance(group, names),
        *_rare_heartbeats(group, names),
        *new_ids_at_restarts(
            (
                (names[member.member_id], member.client_id, member.group_instance_id)
                for member in group.members.values()
            ),
            events,
        ),
    )


def _assignors(group: ClassicGroup, names: Names) -> Iterator[str]:
    """Report assignors that are not supported by all members: those cannot be chosen (classic-groups §2.7)."""
    listed: dict[str, list[str]] = {}
    for member_id, member in group.members.items():
        for name in dict.fromkeys(name for name, _ in member.protocols):
            listed.setdefault(name, []).append(names[member_id])
    size = len(group.members)
    common = [name for name, members in listed.items() if len(members) == size]
    for name, members in listed.items():
        if len(members) < size:
            owners = f"only {members[0]} lists" if len(members) == 1 else f"only {', '.join(members)} list"
            choice = f"; all members list {', '.join(common)}" if common else ""
            yield f"{owners} the assignor {name}, which is therefore never chosen{choice}"


def _differing(
    group: ClassicGroup, names: Names, setting: str, of: Callable[[Member], int], consequence: str
) -> Iterator[str]:
    values: dict[int, list[str]] = {}
    for member_id, member in group.members.items():
        values.setdefault(of(member), []).append(names[member_id])
    if len(values) > 1:
        groups = ", ".join(f"{value / 1_000:g} s ({', '.join(members)})" for value, members in sorted(values.items()))
        yield f"the members' {setting} differs: {groups}; {consequence}"


def _short_rebalance(group: ClassicGroup, names: Names) -> Iterator[str]:
    for member_id, member in group.members.items():
        if member.rebalance_timeout_ms < member.session_timeout_ms:
            yield (
                f"{names[member_id]}'s rebalance timeout ({member.rebalance_timeout_ms / 1_000:g} s; in Java "
                f"max.poll.interval.ms) is shorter than its session ({member.session_timeout_ms / 1_000:g} s)"
            )


def _rare_heartbeats(group: ClassicGroup, names: Names) -> Iterator[str]:
    for member_id, member in group.members.items():
        for sentence in rare_heartbeats(names[member_id], member.stats, member.session_timeout_ms):
            yield f"{sentence}; lower heartbeat.interval.ms"


def rare_heartbeats(name: str, stats: MemberStats | None, session_ms: int) -> Iterator[str]:
    """Report a heartbeat interval that is too long. It is known only while there is a listener for group events."""
    gaps = {} if stats is None else stats.gaps
    count = sum(gaps.values())
    if count >= ENOUGH_HEARTBEATS and (usual_ms := percentile(gaps, count, 0.5)) * 3 > session_ms:
        yield (
            f"{name} sends a heartbeat every {usual_ms / 1_000:g} s, more than a third of its session "
            f"({session_ms / 1_000:g} s): two lost heartbeats end its membership"
        )


def new_ids_at_restarts(members: Iterable[tuple[str, str, str | None]], events: Iterable[GroupEvent]) -> Iterator[str]:
    """Report dynamic members that get a new member id at each restart (KIP-345), if their client id is unique.

    Args:
        members: The display name, client id and instance id of each member.
        events: The recorded events of the group.
    """
    ended = Counter(
        event.client_id
        for event in events
        if event.kind == "member_removed" and event.cause in ENDED and event.instance_id is None
    )
    for name, client_id, instance_id in members:
        times = ended[client_id]
        if instance_id is None and name == client_id and times >= HABIT:
            yield (
                f"{client_id} has come back {times} times under a new member id, and each time everything was "
                "rebalanced; with a group.instance.id a restart within its session moves nothing"
            )
