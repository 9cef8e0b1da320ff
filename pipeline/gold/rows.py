"""A group's analysis as rows of the gold tables."""

from __future__ import annotations

import datetime
import statistics
from collections import Counter
from functools import lru_cache
from typing import Any

from kohort.pipeline.gold.minutes import commit_minutes, lag_minutes, throughput
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import Generation
from kohort.pipeline.history.member_sessions import is_flapping, lives
from kohort.pipeline.history.movement import same_client
from kohort.pipeline.history.rebalance import Rebalance

Row = dict[str, Any]

DAY_MS = 86_400_000


def day_of(ms: int) -> str:
    return _name_of_day(ms // DAY_MS)


@lru_cache(maxsize=1000)
def _name_of_day(number: int) -> str:
    return (datetime.date(1970, 1, 1) + datetime.timedelta(days=number)).isoformat()


def gold_rows(analysis: GroupAnalysis) -> dict[str, list[Row]]:
    """Rows by table, without the diagnoses. Each row knows its day; group and cluster are added when written."""
    storm_of = {r.number: storm.storm_id for storm in analysis.storms for r in storm.rebalances}
    tables = {
        "rebalances": [_rebalance(r, storm_of.get(r.number)) for r in analysis.rebalances],
        "generations": [_generation(analysis, g) for g in analysis.generations],
        "rebalance_members": [row for r in analysis.rebalances for row in _members(r)],
        "partition_moves": [row for r in analysis.rebalances for row in _moves(r)],
        "member_sessions": _sessions(analysis),
        "client_flaps": _flaps(analysis),
        "storms": _storms(analysis),
        "assignment_skew": _skews(analysis),
        "commit_stalls": _stalls(analysis),
        "commit_minutes": commit_minutes(analysis),
        "lag_minutes": lag_minutes(analysis),
        "throughput": throughput(analysis),
        "group_health": _health(analysis),
        "static_effect": _static(analysis),
        "dq_issues": _checks(analysis),
    }
    return {table: rows for table, rows in tables.items() if rows}


def _exact(bounds: tuple[float, float]) -> float | None:
    return bounds[0] if abs(bounds[1] - bounds[0]) < 1e-9 else None


def _rebalance(r: Rebalance, storm_id: str | None) -> Row:
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


def _generation(analysis: GroupAnalysis, g: Generation) -> Row:
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


def _members(r: Rebalance) -> list[Row]:
    rows = []
    for member_id in sorted(r.before.members.keys() | r.after.members.keys()):
        member = r.after.members.get(member_id) or r.before.members[member_id]
        before, after = r.before.parts_of(member_id), r.after.parts_of(member_id)
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
                "role": role,
                "rejoin_delay_us": rejoin,
                "sync_delay_us": sync,
                "unavailable_us": unavailable,
                "parts_before": len(before),
                "parts_after": len(after),
                "parts_gained": len(after - before),
                "parts_lost": len(before - after),
                "is_laggard": laggard,
                "client_reason": r.why.client_reason if member_id == r.why.trigger_member else None,
                "day": day_of(r.begin_ms),
            }
        )
    return rows


def _moves(r: Rebalance) -> list[Row]:
    if not r.after.size:
        return []
    pairs = same_client(r.before, r.after)
    rows = []
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


def _sessions(analysis: GroupAnalysis) -> list[Row]:
    return [
        {
            "member_id": s.member.member_id,
            "logical_client": s.member.logical,
            "client_id": s.member.client_id,
            "first_ms": s.first_ms,
            "last_ms": s.last_ms,
            "generations": s.generations,
            "end_kind": s.end_kind,
            "end_confidence": s.end_confidence,
            "predecessor_member": s.predecessor,
            "day": day_of(s.first_ms),
        }
        for s in analysis.sessions
    ]


def _flaps(analysis: GroupAnalysis) -> list[Row]:
    rows = []
    for client, of_client in lives(analysis.sessions).items():
        by_day: dict[str, list[Any]] = {}
        for session in of_client:
            by_day.setdefault(day_of(session.first_ms), []).append(session)
        for day, sessions in by_day.items():
            if len(sessions) < 2:
                continue
            rows.append(
                {
                    "logical_client": client,
                    "sessions": len(sessions),
                    "median_life_s": statistics.median(s.life_ms for s in sessions) / 1000,
                    "evictions": sum(s.end_kind in ("session_expired", "barrier", "epoch_timeout") for s in sessions),
                    "flapping": is_flapping(sessions),
                    "day": day,
                }
            )
    return rows


def _storms(analysis: GroupAnalysis) -> list[Row]:
    return [
        {
            "storm_id": storm.storm_id,
            "start_ms": storm.start_ms,
            "end_ms": storm.end_ms,
            "rebalances": len(storm.rebalances),
            "time_rebalancing_s": storm.busy_ms / 1000,
            "share": storm.share,
            "main_cause": storm.main_cause,
            "main_client": storm.main_client,
            "day": day_of(storm.start_ms),
        }
        for storm in analysis.storms
    ]


def skew_of(analysis: GroupAnalysis, generation: Generation) -> Row | None:
    """Partitions per member, and offsets advanced per member; None for a generation without assignments."""
    if not generation.owners or not generation.members:
        return None
    counts = Counter(dict.fromkeys(generation.members, 0))
    counts.update(generation.owners.values())
    sizes = list(counts.values())
    mean = statistics.fmean(sizes)
    end = generation.end_ms or analysis.group.until_ms
    weight = _advanced(analysis, generation, end)
    mean_weight = statistics.fmean(weight.values()) if weight else 0.0
    hot = max(weight, key=lambda m: weight[m]) if mean_weight > 0 else None
    return {
        "generation": generation.number,
        "min_parts": min(sizes),
        "max_parts": max(sizes),
        "mean_parts": mean,
        "skew": max(sizes) / mean if mean else None,
        "cv": statistics.pstdev(sizes) / mean if mean else None,
        "idle_members": sum(size == 0 for size in sizes),
        "weighted_skew": weight[hot] / mean_weight if hot is not None else None,
        "hot_member": generation.members[hot].name if hot is not None else None,
        "members": len(sizes),
        "lasted_s": max(0, end - generation.stable_ms) / 1000,
        "day": day_of(generation.stable_ms),
    }


def _advanced(analysis: GroupAnalysis, generation: Generation, end_ms: int) -> dict[str, float]:
    """Offsets that each member's partitions advanced while the generation lasted."""
    import numpy as np

    weight = dict.fromkeys(generation.members, 0.0)
    for topic_partition, owner in generation.owners.items():
        partition = analysis.commits.partitions.get(topic_partition)
        if partition is None or owner not in weight:
            continue
        low, high = np.searchsorted(partition.commits.ts_ms, (generation.stable_ms, end_ms), "right")
        if high - low >= 2:
            weight[owner] += max(0, int(partition.commits.committed[high - 1] - partition.commits.committed[low]))
    return weight


def _skews(analysis: GroupAnalysis) -> list[Row]:
    return [row for generation in analysis.generations if (row := skew_of(analysis, generation)) is not None]


def _stalls(analysis: GroupAnalysis) -> list[Row]:
    return [
        {
            "topic": stall.topic_partition[0] if stall.topic_partition else None,
            "part": stall.topic_partition[1] if stall.topic_partition else None,
            "start_ms": stall.start_ms,
            "end_ms": stall.end_ms,
            "kind": stall.kind,
            "owner": stall.owner,
            "during_rebalance": stall.during_rebalance,
            "burrow_status": stall.burrow,
            "lag": stall.lag,
            "offsets_back": stall.offsets or None,
            "day": day_of(stall.start_ms),
        }
        for stall in analysis.stalls
    ]


def days_of(analysis: GroupAnalysis) -> list[tuple[str, int, int]]:
    """(day, from, to) of each day that anything is known of the group."""
    start, end = analysis.span_ms
    if not end:
        return []
    first = start // DAY_MS
    return [
        (day_of(day * DAY_MS), max(start, day * DAY_MS), min(end + 1, (day + 1) * DAY_MS))
        for day in range(first, end // DAY_MS + 1)
    ]


def _health(analysis: GroupAnalysis) -> list[Row]:
    rows = []
    for day, start, end in days_of(analysis):
        inside = [r for r in analysis.rebalances if start <= r.begin_ms < end]
        counted = [r for r in inside if r.counts]
        totals = sorted(r.stable_ms - r.begin_ms for r in counted)
        busy_ms = sum(max(0, r.stable_ms - r.begin_ms) for r in inside if r.outcome != "open" and r.before.size)
        members = max((r.after.size for r in inside), default=0)
        ended = [s for s in analysis.sessions if start <= s.last_ms < end]
        evictions = sum(s.end_kind in ("barrier", "session_expired", "epoch_timeout") for s in ended)
        silent_ms = sum(s.length_ms for s in analysis.stalls if s.kind == "group_silent" and start <= s.start_ms < end)
        low = sum(r.cost.unavailable_partition_s[0] for r in inside)
        high = sum(r.cost.unavailable_partition_s[1] for r in inside)
        partitions = max((len(r.after.owners) for r in inside), default=0)
        length_s = max(1e-3, (end - start) / 1000)
        share_down = min(1.0, high / (partitions * length_s)) if partitions else 0.0
        storms = sum(start <= storm.start_ms < end for storm in analysis.storms)
        minus = (min(60.0, 600 * share_down), min(25.0, 5.0 * storms), min(15.0, 3 * evictions / max(1, members)))
        causes = Counter(r.why.cause for r in counted if r.kind != "initial")
        clients = Counter(r.why.trigger_client for r in counted if r.why.trigger_client and r.kind != "initial")
        rows.append(
            {
                "group_type": analysis.group_type,
                "rebalances": len(counted),
                "follow_ups": sum(r.kind == "followup" for r in inside),
                "evictions": evictions,
                "time_rebalancing_s": busy_ms / 1000,
                "share_rebalancing": min(1.0, busy_ms / 1000 / length_s),
                "p50_total_ms": _percentile(totals, 50),
                "p95_total_ms": _percentile(totals, 95),
                "max_total_ms": totals[-1] if totals else None,
                "unavailable_partition_s_lo": low,
                "unavailable_partition_s_hi": high,
                "no_commit_s": silent_ms / 1000,
                "commits": analysis.commits.between(start - 1, end - 1)[0],
                "top_cause": causes.most_common(1)[0][0] if causes else None,
                "top_client": clients.most_common(1)[0][0] if clients else None,
                "score": 100 - sum(minus),
                "minus_unavailable": minus[0],
                "minus_storms": minus[1],
                "minus_evictions": minus[2],
                "day": day,
            }
        )
    return rows


def _percentile(values: list[int], percent: int) -> int | None:
    """Nearest rank: a value that was really seen."""
    return values[max(0, -(-len(values) * percent // 100) - 1)] if values else None


def _static(analysis: GroupAnalysis) -> list[Row]:
    if not analysis.is_static():
        return []
    returned = [(ts, instance) for ts, instance, _ in (analysis.consumer.returned if analysis.consumer else ())]
    rows = []
    for day, start, end in days_of(analysis):
        swaps = [swap for swap in analysis.timeline.swaps if start <= swap.ts_ms < end]
        back = [ts for ts, _ in returned if start <= ts < end]
        unserved = 0.0
        for swap in swaps:
            generation = analysis.ownership.generation_at(swap.ts_ms)
            topic_partitions = generation.parts_of(swap.new.member_id) if generation else set()
            before = analysis.commits.last_of(topic_partitions, swap.ts_ms)
            after = analysis.commits.first_of(topic_partitions, swap.ts_ms + 1)
            if before is not None and after is not None:
                unserved += (after - before) / 1000 * len(topic_partitions)
        static = {
            m.instance_id
            for g in analysis.generations
            if g.stable_ms < end and (g.end_ms is None or g.end_ms >= start)
            for m in g.members.values()
            if m.instance_id
        }
        rows.append(
            {
                "static_members": len(static),
                "swaps_without_rebalance": len(swaps) + len(back),
                "est_rebalances_avoided": 2 * (len(swaps) + len(back)),
                "unserved_partition_s": unserved,
                "fenced": sum(start <= event.ts < end for event in analysis.events.fenced),
                "day": day,
            }
        )
    return rows


def _checks(analysis: GroupAnalysis) -> list[Row]:
    """Facts that always hold in a sound log; what breaks them is reported, not hidden."""
    found: list[tuple[str, str, int]] = []
    last: Generation | None = None
    for generation in analysis.timeline.generations:
        if generation.from_events:
            break
        if last is not None and last.end_ms == generation.stable_ms and generation.number < last.number:
            found.append(("generation_went_back", f"{last.number} -> {generation.number}", generation.stable_ms))
        if generation.leader and generation.members and generation.leader not in generation.members:
            found.append(("leader_not_a_member", generation.leader, generation.stable_ms))
        if last is not None and generation.stable_ms < last.stable_ms:
            found.append(("clock_step", f"back by {last.stable_ms - generation.stable_ms} ms", generation.stable_ms))
        last = generation
    if not analysis.group.commits and not analysis.group.records and analysis.events.any:
        found.append(("events_only", "no offsets topic: causes and times are known, owners and commits are not", 0))
    if analysis.group.zone_ms:
        found.append(("time_zone", _zone(analysis.group.zone_ms), analysis.span_ms[0]))
    if analysis.group.conflicts:
        text = (
            f"{analysis.group.conflicts} records differ between sources that name the same place of the log, and one "
            "of each was left out: are these logs of different clusters? Analyse each cluster by itself"
        )
        found.append(("conflicting_sources", text, analysis.span_ms[0]))
    if any(not r.complete for r in analysis.rebalances):
        text = "records before the first generation seen are missing (compacted?): earlier and lost ones are unknown"
        found.append(("compacted_range", text, analysis.span_ms[0]))
    return [
        {"rule": rule, "keys": analysis.group_id, "detail": detail, "day": day_of(ts or analysis.span_ms[0])}
        for rule, detail, ts in found
    ]


def _zone(ahead_ms: int) -> str:
    hours, minutes = divmod(abs(ahead_ms) // 60_000, 60)
    side = "ahead of" if ahead_ms > 0 else "behind"
    return (
        f"the broker's text log is {hours}:{minutes:02d} h {side} the offsets topic: taken as written in another time "
        "zone, and moved"
    )
