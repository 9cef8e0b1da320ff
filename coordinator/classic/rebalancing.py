"""A rebalance from its cause to the next generation: the join phase and its timers (classic-groups §4).

Functions that append the group's record return the token of that `Append`, because responses may have to wait for it.
"""

from collections.abc import Callable
from typing import Final

# This module, `sessions` and `pending_sync` import each other: a rebalance starts timers, which start a rebalance.
from kohort.coordinator.classic import pending_sync, sessions
from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.classic_member import NO_ASSIGNMENT
from kohort.coordinator.classic.persisting import append_group
from kohort.coordinator.classic.replies import answer_joins, answer_sync, sync_refused
from kohort.coordinator.classic.states import State
from kohort.coordinator.classic.voting import NoCommonProtocol
from kohort.coordinator.effects import Cause, GroupWarning
from kohort.protocol.consumer_protocol import ImpossibleLengthError
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation

_EMPTY: Final = State.EMPTY
_PREPARING_REBALANCE: Final = State.PREPARING_REBALANCE

ALL_JOINED: Final = Cause("all_joined")

# Kafka does not handle these errors at the end of a join phase: the group hangs in its new generation
# (classic-groups §2.4).
UNFORESEEN: Final = (NoCommonProtocol, ImpossibleLengthError)


class JoinPhase(DelayedOperation):
    """Timer of a join phase, which ends it when the longest rebalance timeout of the members has passed."""

    __slots__ = ("group",)

    def __init__(self, deadline_ms: int, group: ClassicGroup) -> None:
        super().__init__(deadline_ms)
        self.group = group

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self.group.join_phase = None
        unattended(self.group, lambda: complete_join(self.group, now_ms))


class InitialDelay(JoinPhase):
    """The first join phase of an empty group: its delay is extended while more members join (KIP-134)."""

    __slots__ = ("delay_ms", "remaining_ms")

    def __init__(self, group: ClassicGroup, now_ms: int, delay_ms: int, remaining_ms: int) -> None:
        super().__init__(now_ms + delay_ms, group)
        self.delay_ms = delay_ms
        self.remaining_ms = remaining_ms

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Start another round if a member was added in this one and time is left; otherwise end the phase."""
        group = self.group
        if not (group.new_member_added and self.remaining_ms):
            group.join_phase = None
            unattended(group, lambda: complete_join(group, now_ms, Cause("initial_delay")))
            return
        group.new_member_added = False
        group.join_phase = None
        delay_ms = min(group.coordinator.settings.group_initial_rebalance_delay_ms, self.remaining_ms)
        _wait(InitialDelay(group, now_ms, delay_ms, max(0, self.remaining_ms - self.delay_ms)))


def prepare_rebalance(group: ClassicGroup, cause: Cause, now_ms: int) -> int | None:
    """Start a rebalance: every member has to join again (classic-groups §4.1).

    Returns the token of the written record, if any. Raises the errors of `complete_join` if no member is missing.
    """
    if group.state is State.COMPLETING_REBALANCE:
        refuse_waiting_syncs(group, ErrorCode.rebalance_in_progress, now_ms)
    pending_sync.stop(group)
    if group.state is State.EMPTY:
        delay_ms = group.coordinator.settings.group_initial_rebalance_delay_ms
        remaining_ms = max(0, group.rebalance_timeout_ms - delay_ms)
        _start(group, cause, now_ms)
        _wait(InitialDelay(group, now_ms, delay_ms, remaining_ms))
        return None
    _start(group, cause, now_ms)
    if group.has_all_members_joined:
        return complete_join(group, now_ms)
    timeout_ms = group.rebalance_timeout_ms
    _wait(JoinPhase(now_ms + timeout_ms, group))
    group.coordinator.observer.barrier_raised(group, timeout_ms, now_ms)
    return None


def _start(group: ClassicGroup, cause: Cause, now_ms: int) -> None:
    group.move(State.PREPARING_REBALANCE, cause, now_ms)
    group.coordinator.observer.rebalance_started(group, cause)


def rebalance_or_complete(group: ClassicGroup, cause: Cause, now_ms: int) -> int | None:
    """Start a rebalance, or end the join phase if no member is missing after a member has joined or changed."""
    if group.can_rebalance:
        return prepare_rebalance(group, cause, now_ms)
    return maybe_complete_join(group, now_ms)


def maybe_complete_join(group: ClassicGroup, now_ms: int, cause: Cause = ALL_JOINED) -> int | None:
    """End the join phase if no member is missing; an initial phase continues until its timer (classic-groups §4.2).

    Args:
        cause: Why no member is missing any more.
    """
    if group.state is not _PREPARING_REBALANCE or group.previous_state is _EMPTY:
        return None
    return complete_join(group, now_ms, cause) if group.has_all_members_joined else None


def complete_without(group: ClassicGroup, cause: Cause, now_ms: int) -> None:
    """End the join phase if only the member that has just expired was missing.

    Unlike `maybe_complete_join` this also ends an initial phase (classic-groups §4.2).
    """
    if group.state is State.PREPARING_REBALANCE and group.has_all_members_joined:
        unattended(group, lambda: complete_join(group, now_ms, cause))


def complete_join(group: ClassicGroup, now_ms: int, cause: Cause = ALL_JOINED) -> int | None:
    """End the join phase (classic-groups §4.3). Return the token of the record of a group that is empty now.

    Args:
        cause: Why the phase ends, unless members are missing.

    Raises:
        NoCommonProtocol: The group stays in its state, one generation further, as for ImpossibleLengthError.
    """
    stop_waiting(group)
    observer, timeout_ms = group.coordinator.observer, group.rebalance_timeout_ms
    missing = [m for m in group.members.values() if m.join_ticket is None]
    dropped = [m for m in missing if m.group_instance_id is None]
    for member in dropped:
        group.remove(member.member_id)
        observer.member_removed(group, member, "barrier_timeout")
    if group.members and not group.waiting_joins:
        # Only absent static members remain: their sessions will end this. The deadline must be later than now, even if
        # the timeout is 0.
        _wait(JoinPhase(now_ms + max(1, group.rebalance_timeout_ms), group))
        return None
    _elect_joined_leader(group)
    group.start_generation()
    if missing:
        names = ", ".join(f"{m.member_id}@{m.client_host.lstrip('/')}" for m in missing)
        cause = Cause("barrier_timeout", reason=names)
    elif not group.members:
        cause = Cause("nobody_left")
    elif group.pending_joins and group.previous_state is not _EMPTY:  # the timer ended the phase
        cause = Cause("barrier_timeout", reason=", ".join(group.pending_joins))
    if not group.members:
        group.move(State.EMPTY, cause, now_ms)
        observer.join_completed(group, (), 0)
        # The rebalance ends when that is written. A new one may have started by then.
        return append_group(group, now_ms, observer.emptied(group))
    group.move(State.COMPLETING_REBALANCE, cause, now_ms)
    observer.join_completed(group, missing, timeout_ms)
    answer_joins(group)
    for member in group.members.values():
        sessions.extend(group, member, now_ms)
        member.is_new = False
    pending_sync.start(group, now_ms)
    return None


def refuse_waiting_syncs(group: ClassicGroup, error: ErrorCode, now_ms: int) -> None:
    for member in group.members.values():
        member.assignment = NO_ASSIGNMENT
        if answer_sync(group, member, sync_refused(error)):
            sessions.extend(group, member, now_ms)


def stuck(error: Exception) -> str:
    return f"the join phase failed ({error}); as in Kafka the group stays in PreparingRebalance and its joins wait"


def unattended(group: ClassicGroup, step: Callable[[], object]) -> None:
    """Run a step that no request has caused. Its failure can only be logged."""
    try:
        step()
    except UNFORESEEN as error:
        group.coordinator.effects.append(GroupWarning(group.group_id, stuck(error)))


def _elect_joined_leader(group: ClassicGroup) -> None:
    """Replace an absent leader, which is static, by the first member that has joined."""
    leader = group.members.get(group.leader_id or "")
    if leader is not None and leader.join_ticket is None:
        group.leader_id = next(m.member_id for m in group.members.values() if m.join_ticket is not None)


def _wait(phase: JoinPhase) -> None:
    stop_waiting(phase.group)
    phase.group.join_phase = phase
    phase.group.coordinator.purgatory.wait(phase)


def stop_waiting(group: ClassicGroup) -> None:
    if group.join_phase is not None:
        group.coordinator.purgatory.cancel(group.join_phase)
        group.join_phase = None
