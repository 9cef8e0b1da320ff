"""Why a classic group rebalanced, told from two generations and the commits between: the first line that fits.

Where events exist they are believed instead, except for the refinement that a leader's rejoin with more partitions
was about topic metadata.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kohort.pipeline.history.commits import CommitHistory

if TYPE_CHECKING:
    from kohort.pipeline.history.rebalances import Rebalance

LEFT_WITHIN_MS = 2000


@dataclass(slots=True)
class Verdict:
    cause: str
    confidence: str
    member: str | None = None


def cause_without_events(r: Rebalance, commits: CommitHistory) -> Verdict:
    before, after = r.before.members, r.after.members
    gone, fresh = sorted(set(before) - set(after)), sorted(set(after) - set(before))
    if not before:
        return Verdict("join_new", "certain", fresh[0] if fresh else None)
    swapped = {before[m].instance_id for m in gone if before[m].instance_id} & {
        after[m].instance_id for m in fresh if after[m].instance_id
    }
    if swapped and len(swapped) == len(gone) == len(fresh):
        return Verdict("join_static", "likely", fresh[0])
    if "protocol" in r.changes:
        return Verdict(
            "static_protocol_changed" if swapped else "metadata_changed", "certain", fresh[0] if fresh else None
        )
    if gone and not _restarted(r, gone, fresh):
        return _why_gone(r, gone, commits)
    if fresh and not gone:
        return Verdict("join_new", "certain", fresh[0])
    if fresh:
        return Verdict("join_new", "likely", fresh[0])
    if r.kind == "followup":
        return Verdict("cooperative_followup", "certain")
    if "subscriptions" in r.changes:
        changed = [m for m in before.keys() & after.keys() if before[m].topics != after[m].topics]
        return Verdict("metadata_changed", "certain", sorted(changed)[0])
    if "partitions" in r.changes:
        return Verdict("topic_metadata_changed", "certain", r.after.leader)
    return Verdict("rejoin_leader", "possible", r.after.leader)


def _restarted(r: Rebalance, gone: list[str], fresh: list[str]) -> bool:
    clients = {r.after.members[m].logical for m in fresh}
    return bool(fresh) and all(r.before.members[m].logical in clients for m in gone)


def _why_gone(r: Rebalance, gone: list[str], commits: CommitHistory) -> Verdict:
    """Left, expired, left at its poll timeout or missed the barrier: by when whose partitions fell silent."""
    member = r.before.members[gone[0]]
    mine = r.before.parts_of(member.member_id)
    others = set(r.before.owners) - mine
    last = commits.last_of(mine, r.barrier_ms)
    last_of_others = commits.last_of(others, r.barrier_ms)
    timeout = r.before.rebalance_timeout_ms or 0
    hi = r.prepare_hi_ms or 0
    if timeout and hi >= timeout:
        silent = r.barrier_ms - max(last or 0, last_of_others or 0)
        if last_of_others is not None and silent >= 0.9 * timeout:
            return Verdict("barrier_timeout", "likely", member.member_id)
        own = member.rebalance_timeout_ms or timeout
        if last is not None and last_of_others is not None and last_of_others - last >= 0.7 * own:
            return Verdict("leave_poll_timeout", "likely", member.member_id)
    session = member.session_timeout_ms or 0
    if last is None:
        return Verdict("leave_explicit", "possible", member.member_id)
    if last_of_others is not None and last_of_others - last >= 0.7 * session > 0:
        return Verdict("session_expired", "likely", member.member_id)
    return Verdict("leave_explicit", "likely", member.member_id)
