"""Runs every rule on a group."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules import (
    explained,
    r01_slow_member,
    r02_poll_timeout,
    r03_session_expiry,
    r04_rolling_restart,
    r05_crash_loop,
    r06_autoscaler,
    r07_topic_metadata,
    r08_pattern_churn,
    r09_shared_group_id,
    r10_eager,
    r11_follow_ups,
    r12_static_away,
    r13_duplicate_instance,
    r14_slow_leader,
    r15_same_laggard,
    r16_coordinator_moved,
    r17_initial_delay,
    r18_idle_members,
    r19_skew,
    r20_stuck,
    r21_reread,
    r22_zombie_commits,
    r23_slow_revoke,
    r24_migration,
    r25_trickle,
    r26_storm,
    r27_offsets_gone,
    r28_mixed_settings,
    r29_without_members,
    r30_poison,
    r31_half_deployed,
    r32_never_commits,
    r33_two_committers,
    r34_denied,
    r37_all_stand_still,
    r38_overtaken,
    r39_unowned,
    r40_refused_rollout,
    r41_refused_migration,
    r42_no_time_to_join,
    r43_restless_member,
    r44_topic_made_again,
    r45_slow_consumer,
    r46_slow_record,
)
from kohort.pipeline.rules.finding import SEVERITIES, Finding

Rule = Callable[[GroupAnalysis], Iterator[Finding]]

ALL: dict[str, Rule] = {
    rule.ID: rule.find
    for rule in (
        r01_slow_member,
        r02_poll_timeout,
        r03_session_expiry,
        r04_rolling_restart,
        r05_crash_loop,
        r06_autoscaler,
        r07_topic_metadata,
        r08_pattern_churn,
        r09_shared_group_id,
        r10_eager,
        r11_follow_ups,
        r12_static_away,
        r13_duplicate_instance,
        r14_slow_leader,
        r15_same_laggard,
        r16_coordinator_moved,
        r17_initial_delay,
        r18_idle_members,
        r19_skew,
        r20_stuck,
        r21_reread,
        r22_zombie_commits,
        r23_slow_revoke,
        r24_migration,
        r25_trickle,
        r26_storm,
        r27_offsets_gone,
        r28_mixed_settings,
        r29_without_members,
        r30_poison,
        r31_half_deployed,
        r32_never_commits,
        r33_two_committers,
        r34_denied,
        r37_all_stand_still,
        r38_overtaken,
        r39_unowned,
        r40_refused_rollout,
        r41_refused_migration,
        r42_no_time_to_join,
        r43_restless_member,
        r44_topic_made_again,
        r45_slow_consumer,
        r46_slow_record,
    )
}

_WITHOUT_MEMBERS = ("share", "streams")


def diagnose(analysis: GroupAnalysis) -> list[Finding]:
    """Findings of one group, the gravest first. Share groups have no exclusive owners: only lost offsets are looked at."""
    rules = {"R27": ALL["R27"]} if analysis.group_type in _WITHOUT_MEMBERS else ALL
    found = [finding for rule in rules.values() for finding in rule(analysis)]
    for finding in found:
        finding.group = analysis.group_id
        if finding.rule == "R30":
            r30_poison.explain(finding, found)
    explained.explain(found)
    for finding in found:
        if finding.rule == "R26":  # by what counts, not by what that explains
            r26_storm.explain(finding, found)
    return sorted(found, key=lambda f: (-SEVERITIES.index(f.severity), f.rule))
