"""Members that made the others wait.

With member events this is measured. Without them it is estimated from commits: a client commits its progress before it
rejoins, so a member rejoined at about the time of its partitions' last commit before the end of the barrier.
"""

from __future__ import annotations

from kohort.pipeline.history.commit_history import CommitHistory
from kohort.pipeline.history.departures import LATE_MS, TIMES_USUAL, gave_up, lost_session, usual_gap_ms, whole_barrier
from kohort.pipeline.history.events_by_kind import GroupEvents, Removal
from kohort.pipeline.history.inputs import TopicPartition
from kohort.pipeline.history.rebalance import Laggard, RebalanceFacts

LONG_MS = 5000
TIMES_THE_SECOND = 2
SHARE_OF_POLL_TIMEOUT = 0.8
_AT_THE_END_MS = 1500  # a member removed this close to the end of the barrier is the one that ended it


def find_laggard(r: RebalanceFacts, commits: CommitHistory, events: GroupEvents) -> Laggard | None:
    """Return the single member that prolonged the wait, or None if no member or several did."""
    if not r.before.members or not r.after.size:
        return None
    if r.evicted:
        return _laggard(r, r.evicted[0], r.barrier_ms - r.seen_ms, "evicted", r.start_ms is not None)
    if r.start_ms is None:
        return _by_commits_alone(r, commits, events)
    wait = r.barrier_ms - r.start_ms
    delays = {m: us // 1000 for m, us in r.rejoin_us.items() if m in r.before.members}
    measured = len(delays) >= len(r.before.members.keys() & r.after.members.keys()) > 0
    if not measured:
        delays = _estimates(r, commits)
    removed = [
        removal
        for removal in events.removed_between(r.start_ms + 1, r.barrier_ms)
        if removal.member_id in r.before.members and removal.ts_ms >= r.barrier_ms - _AT_THE_END_MS
    ]
    if removed and wait >= 1000:
        last = max(removed, key=lambda removal: removal.ts_ms)
        other_delays = [delay for member, delay in delays.items() if member != last.member_id]
        if wait > TIMES_THE_SECOND * max(other_delays, default=0):
            how = "leave_poll_timeout" if _gave_up(r, last, commits) else last.cause
            return _laggard(r, last.member_id, wait, how, True, wait - max(other_delays, default=0))
    return (
        _static_absentee(r, r.start_ms, commits, events)
        or _argmax(r, delays, measured)
        or _silent_before(r, delays, commits)
    )


def _static_absentee(r: RebalanceFacts, start_ms: int, commits: CommitHistory, events: GroupEvents) -> Laggard | None:
    """Find the static member that did not rejoin before the barrier timed out.

    The coordinator keeps it in the new generation, and a line names it only if it was the leader. With events it is the
    only one that did not rejoin. Otherwise it is the only one without a commit both in the wait and when the others
    continue.
    """
    wait_ms, timeout_ms = r.barrier_ms - start_ms, r.before.rebalance_timeout_ms
    leader_id = events.absent_leader_between(start_ms, r.barrier_ms)
    if leader_id is not None and leader_id in r.before.members:
        return _laggard(r, leader_id, wait_ms, "static_absent", True, wait_ms)
    if not timeout_ms or not whole_barrier(wait_ms, timeout_ms):
        return None
    stayed = r.before.members.keys() & r.after.members.keys()
    static = {member_id for member_id in stayed if r.before.members[member_id].instance_id}
    if r.rejoin_us:
        absent = static - r.rejoin_us.keys()
        if len(absent) != 1 or not stayed - static <= r.rejoin_us.keys():
            return None
        return _laggard(r, absent.pop(), wait_ms, "static_absent", True, wait_ms)
    old_shares, new_shares = r.before.shares(), r.after.shares()
    silent = {
        member_id
        for member_id in stayed
        if _is_silent_through(r, (old_shares[member_id], new_shares[member_id]), start_ms, commits)
    }
    return _laggard(r, silent.pop(), wait_ms, "static_absent", False) if len(silent) == 1 and silent <= static else None


def _is_silent_through(
    r: RebalanceFacts,
    old_and_new: tuple[set[TopicPartition], set[TopicPartition]],
    start_ms: int,
    commits: CommitHistory,
) -> bool:
    """Return whether a member committed before the wait, and neither in it nor when it should have continued.

    Args:
        old_and_new: Its partitions before and after the rebalance.
    """
    old, new = old_and_new
    late_ms = round(TIMES_USUAL * usual_gap_ms(old | new, commits)) + LATE_MS
    last, first = commits.last_of(old, r.barrier_ms), commits.first_of(new, r.barrier_ms)
    return last is not None and last <= start_ms + LATE_MS and (first is None or first > r.stable_ms + late_ms)


def _silent_before(r: RebalanceFacts, delays: dict[str, int], commits: CommitHistory) -> Laggard | None:
    """Find the member that was busy when the rebalance began, and whose next commit came after the barrier.

    The others committed until they received the rebalance, and then waited.
    """
    assert r.start_ms is not None
    wait_ms = r.barrier_ms - r.start_ms
    if wait_ms <= LONG_MS or TIMES_THE_SECOND * max(delays.values(), default=wait_ms) > wait_ms:
        return None
    busy, prompt, shares = set[str](), set[str](), r.before.shares()
    for member_id in r.before.members.keys() & r.after.members.keys():
        mine = shares[member_id]
        last = commits.last_of(mine, r.barrier_ms)
        if last is None or last < r.before.stable_ms:
            continue  # nothing is known of it
        silent_ms = r.start_ms - last
        (busy if silent_ms > TIMES_USUAL * usual_gap_ms(mine, commits) else prompt).add(member_id)
    if len(busy) != 1 or not prompt:
        return None
    return _laggard(r, busy.pop(), wait_ms, "rejoined", False, wait_ms - max(delays.values()))


def _gave_up(r: RebalanceFacts, removal: Removal, commits: CommitHistory) -> bool:
    """Return whether a client left at its poll timeout.

    Java clients give that reason. Others give none, but had made no progress for about that long.
    """
    timeout = r.before.members[removal.member_id].rebalance_timeout_ms
    last = commits.last_of(r.before.parts_of(removal.member_id), r.barrier_ms)
    if removal.cause != "leave_explicit" or not timeout or last is None:
        return False
    return r.barrier_ms - last >= SHARE_OF_POLL_TIMEOUT * timeout


def _estimates(r: RebalanceFacts, commits: CommitHistory) -> dict[str, int]:
    assert r.start_ms is not None
    delays, shares = {}, r.before.shares()
    for member_id in r.before.members.keys() & r.after.members.keys():
        last = commits.last_of(shares[member_id], r.barrier_ms)
        if last is not None:
            delays[member_id] = max(0, last - r.start_ms)
    return delays


def _argmax(r: RebalanceFacts, delays: dict[str, int], measured: bool) -> Laggard | None:
    if not delays:
        return None
    slowest = max(delays, key=lambda m: delays[m])
    second = max((delay for member, delay in delays.items() if member != slowest), default=0)
    if delays[slowest] > LONG_MS and delays[slowest] > TIMES_THE_SECOND * second:
        return _laggard(r, slowest, delays[slowest], "rejoined", measured, delays[slowest] - second)
    return None


def _by_commits_alone(r: RebalanceFacts, commits: CommitHistory, events: GroupEvents) -> Laggard | None:
    """Find the laggard without a known start.

    It is the member whose commit ends the silence of all others, or that left after it.
    """
    shares = r.before.shares()
    last = {
        member_id: last_ms
        for member_id in r.before.members
        if (last_ms := commits.last_of(shares[member_id], r.barrier_ms)) is not None
    }
    if len(last) < 2:
        return None
    stayed = {m: ts for m, ts in last.items() if m in r.after.members}
    removed = [m for m in last if m not in r.after.members]
    latest = max(stayed, key=lambda m: stayed[m], default=None)
    if latest is None:
        return None
    # Only members that joined can have waited. A member that is gone was silent for its own reasons.
    latest_other = max((ts for m, ts in stayed.items() if m != latest), default=None)
    # The other members hadn't begun to commit: their silence shows no wait.
    if latest_other is not None and latest_other < r.before.stable_ms:
        return None
    if (
        latest_other is not None
        and stayed[latest] - latest_other > LONG_MS
        and r.barrier_ms - stayed[latest] <= _AT_THE_END_MS
    ):
        return _laggard(r, latest, stayed[latest] - latest_other, "rejoined", False, stayed[latest] - latest_other)
    if (absentee := _static_absentee(r, stayed[latest], commits, events)) is not None:
        return absentee
    silent = r.barrier_ms - stayed[latest]
    timeout = r.before.rebalance_timeout_ms or 0
    slow = min(removed, key=lambda m: last[m], default=None)
    if slow is None or last[slow] > stayed[latest]:
        return None
    if silent > LONG_MS and timeout and whole_barrier(silent, timeout):
        return _laggard(r, slow, silent, "evicted", False, silent)
    own = r.before.members[slow].rebalance_timeout_ms or 0
    session = r.before.members[slow].session_timeout_ms or 0
    if own > session and silent >= min(LONG_MS, own / TIMES_THE_SECOND) and gave_up(r, slow, commits):
        return _laggard(r, slow, silent, "leave_poll_timeout", False, silent)
    if silent > LONG_MS and silent < session and lost_session(r, slow, commits):
        return _laggard(r, slow, silent, "session_expired", False, silent)
    return None


def _laggard(
    r: RebalanceFacts, member_id: str, delay_ms: int, how: str, measured: bool, alone_ms: int | None = None
) -> Laggard:
    member = r.before.members.get(member_id) or r.after.members.get(member_id)
    client = member.name if member else member_id
    logical = member.logical if member else member_id
    return Laggard(
        member_id, client, logical, 1000 * delay_ms, how, delay_ms if alone_ms is None else alone_ms, measured
    )
