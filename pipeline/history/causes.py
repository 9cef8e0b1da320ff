"""Causes of a classic group's rebalances, from two generations and the commits between them: the first rule that fits.

Events, where they exist, take precedence. One refinement stays: a leader's rejoin with more partitions was caused by
topic metadata.
"""

from __future__ import annotations

from kohort.pipeline.history.commit_history import CommitHistory
from kohort.pipeline.history.departures import Verdict, departure
from kohort.pipeline.history.rebalance import Laggard, RebalanceFacts


def cause_without_events(r: RebalanceFacts, laggard: Laggard | None, commits: CommitHistory) -> Verdict:
    members_before, members_after = r.before.members, r.after.members
    removed, fresh = sorted(set(members_before) - set(members_after)), sorted(set(members_after) - set(members_before))
    if not members_before:
        return Verdict("join_new", "certain", fresh[0] if fresh else None)
    swapped = {members_before[m].instance_id for m in removed if members_before[m].instance_id} & {
        members_after[m].instance_id for m in fresh if members_after[m].instance_id
    }
    if swapped and len(swapped) == len(removed) == len(fresh):
        return Verdict("join_static", "likely", fresh[0])
    if "protocol" in r.changes:
        return Verdict(
            "static_protocol_changed" if swapped else "metadata_changed", "certain", fresh[0] if fresh else None
        )
    if removed and not _restarted(r, removed, fresh):
        return departure(r, laggard, removed[0], commits)
    if fresh and not removed:
        return Verdict("join_new", "certain", fresh[0])
    if fresh:
        return Verdict("join_new", "likely", fresh[0])
    if r.kind == "followup":
        return Verdict("cooperative_followup", "certain")
    if "subscriptions" in r.changes:
        changed = [
            m
            for m in members_before.keys() & members_after.keys()
            if members_before[m].topics != members_after[m].topics
        ]
        return Verdict("metadata_changed", "certain", sorted(changed)[0])
    if "partitions" in r.changes:
        return Verdict("topic_metadata_changed", "certain", r.after.leader)
    return Verdict("rejoin_leader", "possible", r.after.leader)


def _restarted(r: RebalanceFacts, removed: list[str], fresh: list[str]) -> bool:
    clients = {r.after.members[m].logical for m in fresh}
    return bool(fresh) and all(r.before.members[m].logical in clients for m in removed)
