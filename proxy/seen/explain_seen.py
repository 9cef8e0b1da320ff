"""Explanation of an observed group: what it waits for, and what each client should do.

A broker knows when its timers end. The proxy does not, so no explanation has a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kohort.control.explain.explanation import Advice, Explanation, Wait
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
    """Wait of a group that a timer in the cluster ends."""

    def __str__(self) -> str:
        whom = f"{', '.join(self.for_whom)} {self.what}" if self.for_whom else self.what
        return f"{whom}: {self.then}"


def explain_seen(group_id: str, sight: AnySight | None, now_us: int) -> Explanation:
    """Return the explanation of a group; without `sight`, of one without observed traffic."""
    if sight is None:
        return Explanation(f"group {group_id}: no traffic observed through the proxy", (), (), ())
    count = len(sight.members)
    members = f"{count} member{'s'[count == 1 :]}"
    members_text = members if sight.is_complete else f"{members} observed, there may be others"
    if sight.not_described:
        members_text += f"; the cluster cannot describe it: {sight.not_described}"
    if isinstance(sight, ClassicSight):
        return _explain_classic(sight, members_text, now_us)
    return _explain_epochs(sight, members_text, now_us)


def _explain_classic(sight: ClassicSight, members_text: str, now_us: int) -> Explanation:
    group = sight.group
    state = group.state.value if sight.is_state_known else "state unknown"
    generation = f"generation {group.generation_id}" if sight.has_generation else "generation unknown"
    clients = tuple(_client(sight, member, now_us) for member in sight.members.values())
    return Explanation(
        f"group {sight.group_id}: {state}, {generation}, {members_text}", _classic_waits(sight, now_us), clients, ()
    )


def _classic_waits(sight: ClassicSight, now_us: int) -> tuple[Wait, ...]:
    group = sight.group
    if group.state is State.PREPARING_REBALANCE:
        missing = tuple(_name(member) for member in _speaking(sight) if member.join_ticket is None)
        since_s = sight.rebalances_since_s(now_us)
        action = f"to join (JoinGroup), since {since_s:.1f} s"
        longest_ms = max((member.rebalance_timeout_ms for member in sight.members.values()), default=0)
        limit = f"; members allow {longest_ms / 1_000:g} s for it" if longest_ms > 0 else ""
        consequence = f"unobserved timers of the cluster decide when it continues without them{limit}"
        waits = _waits_for(missing, action, consequence) + _strangers(sight, "joined", consequence, now_us)
        return waits or (UntimedWait((), f"an unobserved event, since {since_s:.1f} s", None, consequence),)
    if group.state is State.COMPLETING_REBALANCE:
        unsynced = tuple(_name(member) for member in _speaking(sight) if member.member_id in sight.unsynced)
        leader = sight.members.get(group.leader_id or "")
        leads = (
            f", above all for the leader {_name(leader)}" if leader is not None and leader.sync_ticket is None else ""
        )
        consequence = "the other members wait for their assignments"
        action = f"to sync (SyncGroup){leads}"
        waits = _waits_for(unsynced, action, consequence) + _strangers(sight, "synced", consequence, now_us)
        return waits or (UntimedWait((), action, None, consequence),)
    return ()


def _waits_for(names: tuple[str, ...], action: str, consequence: str) -> tuple[Wait, ...]:
    return (UntimedWait(names, action, None, consequence),) if names else ()


def _speaking(sight: ClassicSight) -> list[Member]:
    return [member for member in sight.members.values() if member.member_id not in sight.strangers]


def _strangers(sight: ClassicSight, action_done: str, consequence: str, now_us: int) -> tuple[Wait, ...]:
    """Return the wait for members that send nothing through the proxy; `done` is what they may have done already."""
    names = tuple(_name(member) for member in sight.members.values() if member.member_id in sight.strangers)
    action = f"unless they have {action_done} without the proxy ({_described(sight, now_us)})"
    return _waits_for(names, action, consequence)


def _described(sight: AnySight, now_us: int) -> str:
    if not sight.described_us:
        return "named to the leader"
    return f"described {(now_us - sight.described_us) / 1_000_000:.1f} s ago"


def _client(sight: ClassicSight, member: Member, now_us: int) -> Advice:
    if member.member_id in sight.strangers:
        return Advice(_name(member), f"does not connect through the proxy; {_described(sight, now_us)}", None, None)
    if member.join_ticket is not None:
        should = "has joined, and waits for the other members"
    elif sight.group.state is State.PREPARING_REBALANCE:
        should = "should join again (JoinGroup)"
    elif member.sync_ticket is not None:
        should = "has synced, and waits for its assignment"
    elif member.member_id in sight.unsynced and sight.group.state is State.COMPLETING_REBALANCE:
        should = "should sync (SyncGroup)"
    else:
        should = "should send heartbeats"
    return Advice(
        _name(member),
        f"{should}; {_last_activity(sight.silent_ms(member, now_us))}",
        None,
        sight.connected.get(member.member_id),
    )


def _last_activity(silent_ms: int) -> str:
    return f"last request {silent_ms / 1_000:.1f} s ago"


def _name(member: Member) -> str:
    return member.group_instance_id or member.client_id or member.member_id


def _explain_epochs(sight: EpochSight, members_text: str, now_us: int) -> Explanation:
    epoch = f"at least epoch {sight.epoch}" if sight.epoch else "epoch unknown"
    waits: list[Wait] = []
    giving_up = tuple(_epoch_name(member) for member in sight.members.values() if member.revoking)
    if giving_up:
        waits.append(
            UntimedWait(
                giving_up,
                "to revoke partitions",
                None,
                "other members get them then; the cluster's timer is not observable",
            )
        )
    behind = tuple(
        _epoch_name(member)
        for member in sight.members.values()
        if member.epoch != sight.epoch and not member.is_away and not member.revoking
    )
    if behind:
        waits.append(UntimedWait(behind, f"to reach epoch {sight.epoch}", None, "its next heartbeats update it"))
    if sight.state == "Reconciling" and not waits:
        consequence = "the next heartbeats show whether assignments are pending"
        waits.append(UntimedWait((), "an unobserved event", None, f"{consequence}; {NOT_SHOWN}"))
    clients = tuple(_epoch_client(sight, member, now_us) for member in sight.members.values())
    return Explanation(f"group {sight.group_id}: {sight.state}, {epoch}, {members_text}", tuple(waits), clients, ())


def _epoch_client(sight: EpochSight, member: EpochMember, now_us: int) -> Advice:
    if member.is_stranger:
        return Advice(
            _epoch_name(member), f"does not connect through the proxy; {_described(sight, now_us)}", None, None
        )
    should = "should revoke partitions and confirm it" if member.revoking else "should send heartbeats"
    if member.is_away:
        should = "has left temporarily, and may return"
    silent_ms = now_us // 1_000 - member.stats.last_active_ms
    return Advice(_epoch_name(member), f"{should}; {_last_activity(silent_ms)}", None, member.is_connected)


def _epoch_name(member: EpochMember) -> str:
    return member.instance_id or member.client.client_id or member.member_id
