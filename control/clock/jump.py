"""Jumps of the clock with live clients: halts where members would be late only because no real time has passed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kohort.control.clock.liveness import client_id_in
from kohort.coordinator.classic.states import State
from kohort.groups.type_words import CLASSIC, GROUP_TYPES

if TYPE_CHECKING:
    from kohort.control.laboratory import Laboratory
    from kohort.purgatory import DelayedOperation

# Maximum length of a halt, in real seconds. Clients learn about a rebalance with their next heartbeat, usually every 3
# seconds by their own clocks.
PATIENCE_S = 10.0


@dataclass(frozen=True)
class LateMember:
    """A live member that has not done in time what its group waits for."""

    group: str
    member: str
    todo: str  # What it has not done, in the sentence "ada has not rejoined group billing".

    def __str__(self) -> str:
        return f"{self.member}, which is alive and has not {self.todo} group {self.group}"


async def jump(
    laboratory: Laboratory, length_ms: int, *, expire_live_members: bool = False, patience_s: float = PATIENCE_S
) -> list[str]:
    """Move the brokers' clock like `Laboratory.advance`, halting for live members.

    A member's time to rejoin, to sync or to revoke partitions does not expire before the member has had real time for
    it: the clock halts meanwhile, at most `patience_s` real seconds each time. With `expire_live_members`, or without
    patience, it does not halt.

    Returns:
        A sentence for each member that did not respond during a halt.
    """
    left_behind: set[LateMember] = set()
    given_up: set[LateMember] = set()  # members for which the clock does not halt again before it moves
    waits = patience_s > 0 and not expire_live_members
    laboratory.waiters.check_open()

    def find_late(moment_ms: int) -> set[LateMember]:
        return _late_members(laboratory, moment_ms) - given_up

    with laboratory.clock.held():
        end_ms = laboratory.begin_jump(length_ms)
        is_extended = expire_live_members
        while (moment_ms := laboratory.next_moment_ms(end_ms)) is not None or not is_extended:
            if moment_ms is None:
                for _ in laboratory.extend_sessions(end_ms):
                    await asyncio.sleep(0)
                is_extended = True
                continue  # clients were served, so there may be another moment
            if waits and find_late(moment_ms):
                given_up |= await _halt(laboratory, partial(find_late, moment_ms), patience_s)
                continue  # their requests may have scheduled something earlier
            for _ in () if expire_live_members else laboratory.keep_alive(moment_ms):
                await asyncio.sleep(0)  # clients are served; a clock that is held does not move by itself
            if laboratory.next_moment_ms(moment_ms) == moment_ms and not (waits and find_late(moment_ms)):
                laboratory.step_to(moment_ms)
                left_behind |= given_up
                given_up.clear()
                await asyncio.sleep(0)
        laboratory.step_to(end_ms)
    laboratory.waiters.look()
    return [_sentence(member, patience_s) for member in sorted(left_behind, key=str)]


async def _halt(laboratory: Laboratory, find_late: Callable[[], set[LateMember]], patience_s: float) -> set[LateMember]:
    """Wait until no member would be late, and return those that still would be after `patience_s`."""
    try:
        await laboratory.waiters.until(lambda: not find_late(), patience_s, str)
    except TimeoutError:
        return find_late()
    return set()


def _sentence(member: LateMember, patience_s: float) -> str:
    return (
        f"the clock continued without {member} after waiting for {patience_s:g} s of real time. Its consumer must poll "
        "meanwhile, in another thread than the one that waits for the clock. `patience` sets how long a jump waits; 0 "
        "disables it"
    )


def _late_members(laboratory: Laboratory, moment_ms: int) -> set[LateMember]:
    """Find members that are alive, able to act, and would be removed if the clock moved to `moment_ms`."""
    members: set[LateMember] = set()
    for coordinator in laboratory.cluster.coordinators:
        for group in coordinator.groups.values():
            find_late = _late_in_phase if group.group_type == CLASSIC else _late_with_timers
            members.update(find_late(laboratory, group, moment_ms))
    return members


def _late_with_timers(laboratory: Laboratory, group: Any, moment_ms: int) -> Iterator[LateMember]:
    """Find members of a group with epochs, which have their own timers to revoke, to rejoin and to sync."""
    things = GROUP_TYPES[group.group_type].revokes
    todos = (
        ("revocation", f"revoked {things} in"),
        ("join_timer", "rejoined"),
        ("sync_timer", "synced in"),
    )
    for member in group.members.values() if things else ():
        for timer, todo in todos:
            if _is_due(getattr(member, timer, None), moment_ms) and laboratory.liveness.can_act(group, member):
                name = getattr(member.metadata, "instance_id", None) or member.metadata.client_id
                yield LateMember(group.group_id, name, todo)


def _late_in_phase(laboratory: Laboratory, group: Any, moment_ms: int) -> Iterator[LateMember]:
    """Find members of a classic group, for all of which a phase of its rebalance ends."""
    members = group.members.values()
    for member_id, session in (group.pending_joins or {}).items():
        if _is_due(session, moment_ms) and laboratory.liveness.can_join(group, member_id):
            yield LateMember(group.group_id, client_id_in(member_id), "joined")
    if group.state is State.PREPARING_REBALANCE and _is_due(group.join_phase, moment_ms):
        for member in members:
            if member.join_ticket is None and laboratory.liveness.can_act(group, member):
                yield LateMember(group.group_id, member.group_instance_id or member.client_id, "rejoined")
    elif group.pending_sync and _is_due(group.pending_sync_timer, moment_ms):
        for member in members:
            if member.member_id in group.pending_sync and laboratory.liveness.can_act(group, member):
                yield LateMember(group.group_id, member.group_instance_id or member.client_id, "synced in")


def _is_due(timer: DelayedOperation | None, moment_ms: int) -> bool:
    return timer is not None and not timer.completed and timer.deadline_ms <= moment_ms
