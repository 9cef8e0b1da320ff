"""A group in words, as far as the wire shows it: whom it waits for, and what each client has last heard to do.

A broker knows when its timers end. Here nobody does, and no explanation says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kohort.control.explanation import Advice, Explanation, Wait
from kohort.coordinator.classic.states import State
from kohort.proxy.seen.classic_sight import ClassicSight
from kohort.proxy.seen.event_desk import NOT_SHOWN

if TYPE_CHECKING:
    from kohort.coordinator.classic.classic_member import Member
    from kohort.proxy.seen.epoch_member import EpochMember
    from kohort.proxy.seen.epoch_sight import EpochSight
    from kohort.proxy.seen.group_listener import AnySight


@dataclass(frozen=True)
class UntimedWait(Wait):
    """Something that the group waits for; what ends it is a timer of the cluster's."""

    def __str__(self) -> str:
        whom = f"{', '.join(self.for_whom)} {self.what}" if self.for_whom else self.what
        return f"{whom}: {self.then}"


def explain_seen(group_id: str, sight: AnySight | None, now_us: int) -> Explanation:
    """`sight`: None where nothing was heard of a group of that id."""
    if sight is None:
        return Explanation(f"group {group_id}: nothing was heard of it through the proxy", (), (), ())
    count = len(sight.members)
    members = f"{count} member{'s'[count == 1 :]}"
    known = members if sight.is_complete else f"{members} seen, perhaps there are others"
    if sight.not_described:
        known += f"; the cluster does not describe it: {sight.not_described}"
    if isinstance(sight, ClassicSight):
        return _explain_classic(sight, known, now_us)
    return _explain_epochs(sight, known, now_us)


def _explain_classic(sight: ClassicSight, known: str, now_us: int) -> Explanation:
    group = sight.group
    state = group.state.value if sight.is_state_known else "state not known"
    generation = f"generation {group.generation_id}" if sight.has_generation else "generation not known"
    clients = tuple(_client(sight, each, now_us) for each in sight.members.values())
    return Explanation(
        f"group {sight.group_id}: {state}, {generation}, {known}", _classic_waits(sight, now_us), clients, ()
    )


def _classic_waits(sight: ClassicSight, now_us: int) -> tuple[Wait, ...]:
    group = sight.group
    if group.state is State.PREPARING_REBALANCE:
        missing = tuple(_name(each) for each in _speaking(sight) if each.join_ticket is None)
        since_s = sight.rebalances_since_s(now_us)
        what = f"to join (JoinGroup), since {since_s:.1f} s"
        longest_ms = max((each.rebalance_timeout_ms for each in sight.members.values()), default=0)
        limit = f"; members allow {longest_ms / 1_000:g} s for it" if longest_ms > 0 else ""
        then = f"when the cluster goes on without them its timers decide, which are not seen{limit}"
        waits = _waits_for(missing, what, then) + _strangers(sight, "joined", then, now_us)
        return waits or (UntimedWait((), f"what is not seen, since {since_s:.1f} s", None, then),)
    if group.state is State.COMPLETING_REBALANCE:
        late = tuple(_name(each) for each in _speaking(sight) if each.member_id in sight.unsynced)
        leader = sight.members.get(group.leader_id or "")
        leads = (
            f", above all for the leader {_name(leader)}" if leader is not None and leader.sync_ticket is None else ""
        )
        then = "the others wait for their share until then"
        what = f"to sync (SyncGroup){leads}"
        waits = _waits_for(late, what, then) + _strangers(sight, "synced", then, now_us)
        return waits or (UntimedWait((), what, None, then),)
    return ()


def _waits_for(names: tuple[str, ...], what: str, then: str) -> tuple[Wait, ...]:
    return (UntimedWait(names, what, None, then),) if names else ()


def _speaking(sight: ClassicSight) -> list[Member]:
    return [each for each in sight.members.values() if each.member_id not in sight.strangers]


def _strangers(sight: ClassicSight, done: str, then: str, now_us: int) -> tuple[Wait, ...]:
    """Members that do not speak through the proxy. `done`: what they may have done already."""
    names = tuple(_name(each) for each in sight.members.values() if each.member_id in sight.strangers)
    what = f"unless they have {done}, which is not seen past the proxy ({_described(sight, now_us)})"
    return _waits_for(names, what, then)


def _described(sight: AnySight, now_us: int) -> str:
    if not sight.described_us:
        return "named to the leader"
    return f"described {(now_us - sight.described_us) / 1_000_000:.1f} s ago"


def _client(sight: ClassicSight, member: Member, now_us: int) -> Advice:
    if member.member_id in sight.strangers:
        return Advice(_name(member), f"is not heard here; {_described(sight, now_us)}", None, None)
    if member.join_ticket is not None:
        should = "has joined, and waits for the others"
    elif sight.group.state is State.PREPARING_REBALANCE:
        should = "should join again (JoinGroup)"
    elif member.sync_ticket is not None:
        should = "has synced, and waits for its share"
    elif member.member_id in sight.unsynced and sight.group.state is State.COMPLETING_REBALANCE:
        should = "should ask for its share (SyncGroup)"
    else:
        should = "should send heartbeats"
    return Advice(
        _name(member),
        f"{should}; {_heard(sight.silent_ms(member, now_us))}",
        None,
        sight.connected.get(member.member_id),
    )


def _heard(silent_ms: int) -> str:
    return f"heard {silent_ms / 1_000:.1f} s ago"


def _name(member: Member) -> str:
    return member.group_instance_id or member.client_id or member.member_id


def _explain_epochs(sight: EpochSight, known: str, now_us: int) -> Explanation:
    epoch = f"epoch {sight.epoch} at least" if sight.epoch else "epoch not known"
    waits: list[Wait] = []
    giving_up = tuple(_epoch_name(each) for each in sight.members.values() if each.revoking)
    if giving_up:
        waits.append(
            UntimedWait(
                giving_up, "to give up partitions", None, "others get them then; the cluster's timer is not seen"
            )
        )
    behind = tuple(
        _epoch_name(each)
        for each in sight.members.values()
        if each.epoch != sight.epoch and not each.is_away and not each.revoking
    )
    if behind:
        waits.append(UntimedWait(behind, f"to come to epoch {sight.epoch}", None, "its next heartbeats bring it there"))
    if sight.state == "Reconciling" and not waits:
        then = "the next heartbeats show whether anything is still to be given"
        waits.append(UntimedWait((), "what is not seen", None, f"{then}; {NOT_SHOWN}"))
    clients = tuple(_epoch_client(sight, each, now_us) for each in sight.members.values())
    return Explanation(f"group {sight.group_id}: {sight.state}, {epoch}, {known}", tuple(waits), clients, ())


def _epoch_client(sight: EpochSight, member: EpochMember, now_us: int) -> Advice:
    if member.is_stranger:
        return Advice(_epoch_name(member), f"is not heard here; {_described(sight, now_us)}", None, None)
    should = "should give up what it is to, and say so" if member.revoking else "should send heartbeats"
    if member.is_away:
        should = "has stepped out, and may come back"
    silent_ms = now_us // 1_000 - member.stats.last_active_ms
    return Advice(_epoch_name(member), f"{should}; {_heard(silent_ms)}", None, member.is_connected)


def _epoch_name(member: EpochMember) -> str:
    return member.instance_id or member.client.client_id or member.member_id
