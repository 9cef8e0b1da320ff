"""Unsuitable settings of a group and its members, as far as brokers know them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kohort.groups.group_members import GroupMember
from kohort.groups.group_view import GroupView
from kohort.groups.type_words import CLASSIC

ENOUGH_HEARTBEATS = 3  # minimum number that reveals the interval
HABIT = 2  # number of restarts, or of expired locks of a member, from which advice is given


def unsuitable_settings(view: GroupView) -> Iterator[str]:
    """Yield a sentence for each problem."""
    if not view.knows_timers:
        return
    yield from _short_session(view)
    yield from _assignors_of_some(view)
    if not view.about_type.has_epochs:
        yield from _differing(view, "session.timeout.ms", lambda m: m.session_timeout_ms, "each has its own")
        yield from _differing(view, "rebalance timeout", lambda m: m.rebalance_timeout_ms, "the longest counts for all")
    for member in view.members:
        yield from _short_rebalance(view, member)
    for member in view.members:
        yield from _rare_heartbeats(view, member)
    yield from _ignored_votes(view)
    yield from _new_ids_at_restarts(view)
    yield from _standby_tasks(view)
    yield from _short_locks(view)


def _short_session(view: GroupView) -> Iterator[str]:
    session_ms, interval_ms = view.session_timeout_ms, view.heartbeat_interval_ms
    is_used = not view.members or any(member.speaks != CLASSIC for member in view.members)
    if session_ms is not None and interval_ms is not None and is_used and interval_ms * 3 > session_ms:
        yield (
            f"the group's session timeout ({view.type}.session.timeout.ms, {session_ms / 1_000:g} s) is shorter than "
            f"three heartbeat intervals ({view.type}.heartbeat.interval.ms, {interval_ms / 1_000:g} s): two lost "
            "heartbeats end a session"
        )


def _assignors_of_some(view: GroupView) -> Iterator[str]:
    """Report assignors that are not supported by all members: those cannot be chosen (classic-groups §2.7)."""
    listed: dict[str, list[str]] = {}
    for member in view.members:
        for name in member.listed_assignors:
            listed.setdefault(name, []).append(view.names[member.member_id])
    common = [name for name, members in listed.items() if len(members) == len(view.members)]
    for name, members in listed.items():
        if len(members) < len(view.members):
            owners = f"only {members[0]} lists" if len(members) == 1 else f"only {', '.join(members)} list"
            choice = f"; all members list {', '.join(common)}" if common else ""
            yield f"{owners} the assignor {name}, which is therefore never chosen{choice}"


def _differing(view: GroupView, setting: str, of: Callable[[GroupMember], int], consequence: str) -> Iterator[str]:
    values: dict[int, list[str]] = {}
    for member in view.members:
        values.setdefault(of(member), []).append(view.names[member.member_id])
    if len(values) > 1:
        groups = ", ".join(f"{value / 1_000:g} s ({', '.join(members)})" for value, members in sorted(values.items()))
        yield f"the members' {setting} differs: {groups}; {consequence}"


def _short_rebalance(view: GroupView, member: GroupMember) -> Iterator[str]:
    name, timeout_ms, session_ms = view.names[member.member_id], member.rebalance_timeout_ms, member.session_timeout_ms
    if not view.about_type.has_epochs and timeout_ms < session_ms:
        yield (
            f"{name}'s rebalance timeout ({timeout_ms / 1_000:g} s; in Java max.poll.interval.ms) is shorter than its "
            f"session ({session_ms / 1_000:g} s)"
        )
    interval_ms = view.heartbeat_interval_ms
    if view.about_type.revokes and member.speaks != CLASSIC and interval_ms is not None and timeout_ms < interval_ms:
        yield (
            f"{name}'s rebalance timeout ({timeout_ms / 1_000:g} s; max.poll.interval.ms) is shorter than the "
            f"heartbeat interval ({interval_ms / 1_000:g} s): it is removed before it can confirm a revocation"
        )


def _rare_heartbeats(view: GroupView, member: GroupMember) -> Iterator[str]:
    """Report a heartbeat interval that is too long. It is known only while heartbeats are counted."""
    gaps, session_ms = member.heartbeat_gaps, member.session_timeout_ms
    count = sum(gaps.values())
    if count >= ENOUGH_HEARTBEATS and (usual_ms := _median(gaps, count)) * 3 > session_ms:
        advice = "lower heartbeat.interval.ms"
        if member.speaks != CLASSIC:
            advice = f"the broker requests one every {(view.heartbeat_interval_ms or 0) / 1_000:g} s"
        yield (
            f"{view.names[member.member_id]} sends a heartbeat every {usual_ms / 1_000:g} s, more than a third of its "
            f"session ({session_ms / 1_000:g} s): two lost heartbeats end its membership; {advice}"
        )


def _median(counts: Mapping[int, int], total: int) -> int:
    below = 0
    for value in sorted(counts):
        below += counts[value]
        if below * 2 >= total:
            return value
    raise ValueError("nothing was counted")


def _ignored_votes(view: GroupView) -> Iterator[str]:
    """Report assignors that members vote for in vain: the one with most votes is used (consumer-groups §10 rule 2)."""
    ignored: dict[str, list[str]] = {}
    for member in view.members:
        if member.assignor and member.assignor != view.protocol:
            ignored.setdefault(member.assignor, []).append(view.names[member.member_id])
    for assignor, voters in ignored.items():
        yield (
            f"{', '.join(voters)} want{'s'[len(voters) > 1 :]} the assignor {assignor} (group.remote.assignor), but "
            f"the group uses {view.protocol}: the assignor with most votes is used"
        )


def _new_ids_at_restarts(view: GroupView) -> Iterator[str]:
    """Report dynamic members that get a new member id at each restart (KIP-345), if their client id is unique."""
    for member in view.members if view.about_type.has_static_members else ():
        name, times = view.names[member.member_id], view.restarts.get(member.client_id, 0)
        if member.instance_id is None and name == member.client_id and times >= HABIT:
            yield (
                f"{name} has come back {times} times under a new member id, and each time everything was "
                "rebalanced; with a group.instance.id a restart within its session moves nothing"
            )


def _standby_tasks(view: GroupView) -> Iterator[str]:
    streams, processes = view.streams, len({member.process_id for member in view.members})
    if streams is not None and view.members and streams.is_stateful and streams.standby_replicas >= processes:
        yield (
            f"streams.num.standby.replicas is {streams.standby_replicas}, and there "
            f"{'is' if processes == 1 else 'are'} only {processes} process{'es' * (processes != 1)}: standby tasks "
            "need other processes"
        )


def _short_locks(view: GroupView) -> Iterator[str]:
    share = view.share
    for member_id, times in () if share is None else share.expired_locks.items():
        if share is not None and member_id in view.names and times >= HABIT:
            yield (
                f"{view.names[member_id]} has let its locks expire {times} times, and its records were delivered to "
                f"other members: locks last {share.record_lock_ms / 1_000:g} s (share.record.lock.duration.ms); "
                "acquire fewer records at a time, renew the locks, or increase their duration"
            )
