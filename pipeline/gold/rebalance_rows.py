"""Rows about rebalances and generations."""

from __future__ import annotations

from kohort.pipeline.gold.gold_rows import GenerationRow, PartitionMoveRow, RebalanceMemberRow, RebalanceRow
from kohort.pipeline.history.days import day_of
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import Generation
from kohort.pipeline.history.movement import same_client
from kohort.pipeline.history.rebalance import Rebalance


def rebalance_rows(analysis: GroupAnalysis) -> list[RebalanceRow]:
    storm_of = {r.number: storm.storm_id for storm in analysis.storms for r in storm.rebalances}
    return [_rebalance(r, storm_of.get(r.number)) for r in analysis.rebalances]


def generation_rows(analysis: GroupAnalysis) -> list[GenerationRow]:
    return [_generation(analysis, generation) for generation in analysis.generations]


def rebalance_member_rows(analysis: GroupAnalysis) -> list[RebalanceMemberRow]:
    return [row for r in analysis.rebalances for row in _members(r)]


def partition_move_rows(analysis: GroupAnalysis) -> list[PartitionMoveRow]:
    return [row for r in analysis.rebalances for row in _moves(r)]


def _exact(bounds: tuple[float, float]) -> float | None:
    return bounds[0] if abs(bounds[1] - bounds[0]) < 1e-9 else None


def _rebalance(r: Rebalance, storm_id: str | None) -> RebalanceRow:
    complete_us = 1000 * (r.stable_ms - r.barrier_ms)
    m, laggard, opening = r.movement, r.why.laggard, r.opening
    prepare_us = opening.prepare_us if opening else None
    return {
        "rebalance_no": r.number,
        "rebalance_id": opening.rebalance_id if opening else None,
        "gen_from": r.before.number,
        "gen_to": r.after.number,
        "lost_generations": r.lost,
        "start_ms": r.start_ms,
        "start_source": opening.source if opening else "bound",
        "barrier_ms": r.barrier_ms,
        "stable_ms": r.stable_ms,
        "prepare_us": prepare_us,
        "prepare_lo_ms": r.why.prepare_lo_ms,
        "prepare_hi_ms": r.why.prepare_hi_ms,
        "prepare_est_ms": r.why.prepare_est_ms,
        "complete_us": complete_us,
        "total_us": None if prepare_us is None else prepare_us + complete_us,
        "outcome": r.outcome,
        "kind": r.kind,
        "cause": r.why.cause,
        "cause_confidence": r.why.confidence,
        "client_reason": r.why.client_reason,
        "trigger_member": r.why.trigger_member,
        "trigger_client": r.why.trigger_client,
        "laggard_member": laggard.member_id if laggard else None,
        "laggard_client": laggard.client if laggard else None,
        "laggard_how": laggard.how if laggard else None,
        "laggard_delay_us": laggard.delay_us if laggard else None,
        "members_before": r.before.size,
        "members_after": r.after.size,
        "joined": r.joined,
        "left": r.left,
        "evicted": r.evicted,
        "protocol": r.after.protocol,
        "is_eager": r.eager,
        "partitions": len(r.after.owners),
        "moved": m.moved if m else None,
        "excess_moves": m.excess if m else None,
        "stickiness": m.stickiness if m else None,
        "unavailable_member_s": _exact(r.cost.unavailable_member_s),
        "unavailable_member_s_lo": r.cost.unavailable_member_s[0],
        "unavailable_member_s_hi": r.cost.unavailable_member_s[1],
        "unavailable_partition_s": _exact(r.cost.unavailable_partition_s),
        "unavailable_partition_s_lo": r.cost.unavailable_partition_s[0],
        "unavailable_partition_s_hi": r.cost.unavailable_partition_s[1],
        "delayed_records": r.cost.delayed_records,
        "storm_id": storm_id,
        "history_complete": r.complete,
        "day": day_of(r.begin_ms),
    }


def _generation(analysis: GroupAnalysis, g: Generation) -> GenerationRow:
    end = g.end_ms or analysis.group.until_ms
    commits, advanced = analysis.commits.between(g.stable_ms, end)
    return {
        "generation": g.number,
        "kind": g.kind,
        "start_ms": g.barrier_ms if g.barrier_ms is not None else g.stable_ms,
        "stable_ms": g.stable_ms,
        "end_ms": g.end_ms,
        "stable_for_s": (end - g.stable_ms) / 1000,
        "members": g.size,
        "leader": g.leader,
        "protocol": g.protocol,
        "topics": sorted({topic for topic, _ in g.owners}),
        "partitions": len(g.owners),
        "commits": commits,
        "offsets_advanced": advanced,
        "day": day_of(g.stable_ms),
    }


def _members(r: Rebalance) -> list[RebalanceMemberRow]:
    rows: list[RebalanceMemberRow] = []
    shares_before, shares_after = r.before.shares(), r.after.shares()
    for member_id in sorted(r.before.members.keys() | r.after.members.keys()):
        member = r.after.members.get(member_id) or r.before.members[member_id]
        old_share, new_share = shares_before.get(member_id, set()), shares_after.get(member_id, set())
        if member_id in r.evicted:
            role = "evicted"
        elif member_id not in r.after.members:
            role = "left"
        else:
            role = "stayed" if member_id in r.before.members else "joined"
        rejoin, sync = r.rejoin_us.get(member_id), r.sync_us.get(member_id)
        unavailable = None
        if rejoin is not None and sync is not None and r.start_ms is not None and role == "stayed":
            unavailable = 1000 * (r.barrier_ms - r.start_ms) - rejoin + sync
        laggard = r.why.laggard is not None and r.why.laggard.member_id == member_id
        if rejoin is None and laggard and r.why.laggard is not None and r.why.laggard.measured:
            rejoin = r.why.laggard.delay_us
        rows.append(
            {
                "rebalance_no": r.number,
                "member_id": member_id,
                "logical_client": member.logical,
                "client_id": member.client_id,
                "client": member.name,
                "role": role,
                "rejoin_delay_us": rejoin,
                "sync_delay_us": sync,
                "unavailable_us": unavailable,
                "parts_before": len(old_share),
                "parts_after": len(new_share),
                "parts_gained": len(new_share - old_share),
                "parts_lost": len(old_share - new_share),
                "is_laggard": laggard,
                "client_reason": r.why.client_reason if member_id == r.why.trigger_member else None,
                "day": day_of(r.begin_ms),
            }
        )
    return rows


def _moves(r: Rebalance) -> list[PartitionMoveRow]:
    if not r.after.size:
        return []
    pairs = same_client(r.before, r.after)
    rows: list[PartitionMoveRow] = []
    for topic, part in sorted(r.before.owners.keys() | r.after.owners.keys()):
        topic_partition = (topic, part)
        old, new = r.before.owners.get(topic_partition), r.after.owners.get(topic_partition)
        around = r.cost.around.get(topic_partition)
        down = r.downtime.get(topic_partition)
        rows.append(
            {
                "rebalance_no": r.number,
                "topic": topic,
                "part": part,
                "from_member": old,
                "to_member": new,
                "from_client": r.before.members[old].name if old in r.before.members else None,
                "to_client": r.after.members[new].name if new in r.after.members else None,
                "moved": old is not None and new is not None and pairs.get(old) != new,
                "forced": old is not None and old not in pairs,
                "last_commit_before_ms": around.last_before_ms if around else None,
                "first_commit_after_ms": around.first_after_ms if around else None,
                "commit_gap_ms": around.gap_ms if around else None,
                "excess_gap_ms": around.excess_ms if around else None,
                "downtime_us": 1000 * (down[1] - down[0]) if down else None,
                "rewind": around.reread if around else 0,
                "day": day_of(r.begin_ms),
            }
        )
    return rows
