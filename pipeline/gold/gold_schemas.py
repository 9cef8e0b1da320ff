"""Columns of the gold tables. `cluster` first, `day` (UTC, of the row's beginning) last: tables are rebuilt by day.

Times are `*_ms` since 1970; `*_lo`/`*_hi` are bounds, and a figure without them is exact or null.
"""

from __future__ import annotations

import pyarrow as pa

_text, _number, _real, _yes, _count = pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.int32()
_texts = pa.list_(pa.string())


def _schema(**columns: pa.DataType) -> pa.Schema:
    return pa.schema([("cluster", _text), ("group_id", _text), *columns.items(), ("day", _text)])


SCHEMAS: dict[str, pa.Schema] = {
    "rebalances": _schema(
        rebalance_no=_count, rebalance_id=_text, gen_from=_count, gen_to=_count, lost_generations=_count,
        start_ms=_number, start_source=_text, barrier_ms=_number, stable_ms=_number, prepare_us=_number,
        prepare_lo_ms=_number, prepare_hi_ms=_number, prepare_est_ms=_number, complete_us=_number, total_us=_number,
        outcome=_text, kind=_text, cause=_text, cause_confidence=_text, client_reason=_text, trigger_member=_text,
        trigger_client=_text, laggard_member=_text, laggard_client=_text, laggard_how=_text, laggard_delay_us=_number,
        members_before=_count, members_after=_count, joined=_texts, left=_texts, evicted=_texts, protocol=_text,
        is_eager=_yes, partitions=_count, moved=_count, excess_moves=_count, stickiness=_real,
        unavailable_member_s=_real, unavailable_member_s_lo=_real, unavailable_member_s_hi=_real,
        unavailable_partition_s=_real, unavailable_partition_s_lo=_real, unavailable_partition_s_hi=_real,
        delayed_records=_number, storm_id=_text, history_complete=_yes,
    ),
    "generations": _schema(
        generation=_count, kind=_text, start_ms=_number, stable_ms=_number, end_ms=_number, stable_for_s=_real,
        members=_count, leader=_text, protocol=_text, topics=_texts, partitions=_count, commits=_number,
        offsets_advanced=_number,
    ),
    "rebalance_members": _schema(
        rebalance_no=_count, member_id=_text, logical_client=_text, client_id=_text, role=_text,
        rejoin_delay_us=_number, sync_delay_us=_number, unavailable_us=_number, parts_before=_count,
        parts_after=_count, parts_gained=_count, parts_lost=_count, is_laggard=_yes, client_reason=_text,
    ),
    "partition_moves": _schema(
        rebalance_no=_count, topic=_text, part=_count, from_member=_text, to_member=_text, from_client=_text,
        to_client=_text, moved=_yes, forced=_yes, last_commit_before_ms=_number, first_commit_after_ms=_number,
        commit_gap_ms=_number, excess_gap_ms=_number, downtime_us=_number, rewind=_number,
    ),
    "member_sessions": _schema(
        member_id=_text, logical_client=_text, client_id=_text, first_ms=_number, last_ms=_number, generations=_count,
        end_kind=_text, end_confidence=_text, predecessor_member=_text,
    ),
    "client_flaps": _schema(
        logical_client=_text, sessions=_count, median_life_s=_real, evictions=_count, flapping=_yes,
    ),
    "storms": _schema(
        storm_id=_text, start_ms=_number, end_ms=_number, rebalances=_count, time_rebalancing_s=_real, share=_real,
        main_cause=_text, main_client=_text,
    ),
    "assignment_skew": _schema(
        generation=_count, min_parts=_count, max_parts=_count, mean_parts=_real, skew=_real, cv=_real,
        idle_members=_count, weighted_skew=_real, hot_member=_text, members=_count, lasted_s=_real,
    ),
    "commit_minutes": _schema(
        topic=_text, part=_count, minute=_number, commits=_count, offset_delta=_number, max_gap_ms=_number,
        rewinds=_count,
    ),
    "throughput": _schema(start_ms=_number, step_ms=_number, offsets=_number),
    "commit_stalls": _schema(
        topic=_text, part=_count, start_ms=_number, end_ms=_number, kind=_text, owner=_text, during_rebalance=_count,
        burrow_status=_text, lag=_number, offsets_back=_number,
    ),
    "lag_minutes": _schema(topic=_text, part=_count, minute=_number, lag=_number, time_lag_ms=_number, owner=_text),
    "group_health": _schema(
        group_type=_text, rebalances=_count, follow_ups=_count, evictions=_count, time_rebalancing_s=_real,
        share_rebalancing=_real, p50_total_ms=_number, p95_total_ms=_number, max_total_ms=_number,
        unavailable_partition_s_lo=_real, unavailable_partition_s_hi=_real, no_commit_s=_real, commits=_number,
        top_cause=_text, top_client=_text, score=_real, minus_unavailable=_real, minus_storms=_real,
        minus_evictions=_real,
    ),
    "static_effect": _schema(
        static_members=_count, swaps_without_rebalance=_count, est_rebalances_avoided=_count,
        unserved_partition_s=_real, fenced=_count,
    ),
    "diagnoses": _schema(
        window_start_ms=_number, window_end_ms=_number, rule_id=_text, severity=_text, confidence=_text, title=_text,
        clients=_texts, evidence=_text, text=_text, advice=_text,
    ),
    "recommendations": _schema(
        setting=_text, client=_text, current=_text, proposed=_text, basis=_text, sample_size=_count, percentile=_text,
        expected_effect=_text, confidence=_text,
    ),
    "dq_issues": _schema(rule=_text, keys=_text, detail=_text),
}  # fmt: skip
