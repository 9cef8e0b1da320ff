"""Why a classic group rebalanced, from two generations and the commits between: the first rule that fits.

Where events exist they are believed instead. One refinement stays: a leader's rejoin with more partitions was about
topic metadata.
"""

from __future__ import annotations

from kohort.pipeline.history.commit_history import CommitHistory
from kohort.pipeline.history.departures import Verdict, departure
from kohort.pipeline.history.rebalance import Laggard, RebalanceFacts


def cause_without_events(r: RebalanceFacts, laggard: Laggard | None, commits: CommitHistory) -> Verdict:
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
        return departure(r, laggard, gone[0], commits)
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


def _restarted(r: RebalanceFacts, gone: list[str], fresh: list[str]) -> bool:
    clients = {r.after.members[m].logical for m in fresh}
    return bool(fresh) and all(r.before.members[m].logical in clients for m in gone)
