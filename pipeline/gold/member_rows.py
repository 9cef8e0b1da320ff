"""Rows about members, their clients, and static membership."""

from __future__ import annotations

from kohort.pipeline.gold.gold_rows import ClientFlapsRow, MemberSessionRow, StaticEffectRow
from kohort.pipeline.history.days import day_of
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.member_sessions import flaps_by_day
from kohort.pipeline.history.static_effect import static_effect


def member_session_rows(analysis: GroupAnalysis) -> list[MemberSessionRow]:
    return [
        {
            "member_id": s.member.member_id,
            "logical_client": s.member.logical,
            "client_id": s.member.client_id,
            "client": s.member.name,
            "first_ms": s.first_ms,
            "last_ms": s.last_ms,
            "generations": s.generations,
            "end_kind": s.end_kind,
            "end_confidence": s.end_confidence,
            "predecessor_member": s.predecessor.member.member_id if s.predecessor is not None else None,
            "day": day_of(s.first_ms),
        }
        for s in analysis.sessions
    ]


def client_flaps_rows(analysis: GroupAnalysis) -> list[ClientFlapsRow]:
    return [
        {
            "logical_client": flaps.client,
            "sessions": flaps.sessions,
            "median_life_s": flaps.median_life_ms / 1000,
            "evictions": flaps.evictions,
            "flapping": flaps.flapping,
            "day": flaps.day,
        }
        for flaps in flaps_by_day(analysis.sessions)
    ]


def static_effect_rows(analysis: GroupAnalysis) -> list[StaticEffectRow]:
    return [
        {
            "static_members": effect.members,
            "swaps_without_rebalance": effect.swaps,
            "est_rebalances_avoided": effect.rebalances_avoided,
            "unserved_partition_s": effect.unserved_partition_s,
            "fenced": effect.fenced,
            "day": effect.day,
        }
        for effect in static_effect(analysis)
    ]
