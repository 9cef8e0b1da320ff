"""Gold tables with their row types and Arrow schemas."""

from __future__ import annotations

from kohort.pipeline.arrow_types import moments_of, schema_of
from kohort.pipeline.gold import gold_rows, share_gold_rows

ROW_TYPES: dict[str, type] = {
    "rebalances": gold_rows.RebalanceRow,
    "generations": gold_rows.GenerationRow,
    "rebalance_members": gold_rows.RebalanceMemberRow,
    "partition_moves": gold_rows.PartitionMoveRow,
    "member_sessions": gold_rows.MemberSessionRow,
    "client_flaps": gold_rows.ClientFlapsRow,
    "storms": gold_rows.StormRow,
    "assignment_skew": gold_rows.AssignmentSkewRow,
    "commit_minutes": gold_rows.CommitMinuteRow,
    "throughput": gold_rows.ThroughputRow,
    "commit_stalls": gold_rows.CommitStallRow,
    "commit_pauses": gold_rows.CommitPauseRow,
    "lag_minutes": gold_rows.LagMinuteRow,
    "group_health": gold_rows.GroupHealthRow,
    "share_groups": share_gold_rows.ShareGroupRow,
    "share_members": share_gold_rows.ShareMemberRow,
    "share_given_up": share_gold_rows.ShareGivenUpRow,
    "static_effect": gold_rows.StaticEffectRow,
    "diagnoses": gold_rows.DiagnosisRow,
    "recommendations": gold_rows.RecommendationRow,
    "dq_issues": gold_rows.DataIssueRow,
}
SCHEMAS = {table: schema_of(row_type) for table, row_type in ROW_TYPES.items()}
# time columns and the timestamp columns that files add for them
MOMENTS = {table: moments_of(row_type) for table, row_type in ROW_TYPES.items()}
