"""Findings of a Kafka expert about each group of the recording, in a form that tests can compare.

Per group: (rule, client or None, {evidence: (value, tolerance)}). Times in milliseconds. Where the recording's own
list of expectations counts from processes and we count from logs, the tolerance is a commit interval and a heartbeat.
"""

from __future__ import annotations

Expected = tuple[str, str | None, dict[str, tuple[float, float]]]

EXPECTED: dict[str, list[Expected]] = {
    "trickle-start": [("R25", None, {"rebalances_at_start": (6, 0)})],
    "offsets-expire": [("R27", None, {"tombstones": (3, 0)})],
    "legacy-retention": [("R27", None, {"commits": (10, 0), "tombstones": (2, 0)})],
    "one-slow-member": [
        ("R01", "c-2", {"stops": (3, 0), "longest_wait_ms": (12_800, 100), "without_progress_ms": (35_600, 300)})
    ],
    "session-frozen": [("R03", "c-1", {"expiries": (1, 0), "session_timeout_ms": (6000, 0), "came_back": (1, 0)})],
    "crash-loop": [("R05", "c-3", {"crashes": (6, 0), "median_life_ms": (9000, 2000)})],
    "session-killed": [("R03", "c-2", {"expiries": (1, 0), "came_back": (0, 0)})],
    "poll-timeout": [("R02", "c-2", {"times": (2, 0), "max_poll_interval_ms": (8000, 0)})],
    "slow-beyond-poll": [("R01", "c-3", {"left_at_poll_timeout": (1, 0), "longest_wait_ms": (4900, 100)})],
    "frozen-at-barrier": [
        ("R01", "c-1", {"evicted": (1, 0), "longest_wait_ms": (10_000, 100), "without_progress_ms": (9800, 100)})
    ],
    "rolling-dynamic": [("R04", "c-1", {"restarts": (4, 0), "rebalances_caused": (8, 0)})],
    "duplicate-instance": [("R13", "c-host-a", {"take_overs": (5, 0), "fenced": (5, 0)})],
    "kip848-slow-revoker": [("R23", "c-1", {"longest_ms": (7000, 1000)})],
    "more-members-than-partitions": [("R18", None, {"members": (5, 0), "partitions": (3, 0), "idle": (2, 0)})],
    "shared-group-id": [("R09", "report-1", {})],
    "autoscaler-thrash": [("R06", None, {"turns": (5, 0)})],
    "pattern-topics": [("R08", None, {"times": (3, 0)})],
    "partitions-added": [("R07", None, {"times": (1, 0)})],
    "subscription-change": [("R08", None, {"times": (4, 0)})],
    "assignor-rollout": [("R04", "c-1", {"restarts": (6, 0)})],
    "stuck-partition": [("R20", "c-1", {"part": (2, 0), "stood_ms": (50_000, 1500), "lag": (281, 0)})],
    "rewind": [("R21", "c-1", {"times": (2, 0), "records": (300, 0)})],
    "skewed-lag": [("R19", "c-3", {"part": (4, 0), "lag": (2623, 0)})],
    "migrate-to-consumer": [("R24", None, {"conversions": (1, 0)})],
    "kip848-regex": [("R08", None, {"times": (2, 0)})],
    "slow-but-cooperative": [
        ("R01", "c-2", {"stops": (2, 0), "longest_wait_ms": (12_700, 100), "without_progress_ms": (22_600, 300)})
    ],
    "offset-delete": [("R27", None, {"tombstones": (3, 0)})],
    "group-delete": [("R27", None, {"tombstones": (3, 0)})],
    "handover-without-commit": [
        ("R21", "c-1", {"uncommitted_ms": (15_000, 2000)}),
        ("R03", "c-1", {"expiries": (1, 0)}),
    ],
    "kip848-static": [("R12", "c-2", {"times": (3, 0)})],
    "reset-while-empty": [("R21", None, {"while_empty": (1, 0)})],
    "coordinator-move-1": [("R16", None, {"longest_silence_ms": (1900, 100)})],
}

NOTHING_SERIOUS = [
    "healthy-store", "busy-views", "kip848-steady", "compacted-neighbour-75", "trickle-start", "offsets-expire",
    "assignor-range", "assignor-roundrobin", "assignor-cooperative", "rolling-static", "txn-etl", "partitions-added",
    "assignor-rollout", "migrate-to-consumer", "kip848-regex", "simple-loader", "offset-delete", "group-delete",
    "share-workers", "reset-while-empty", "coordinator-move-1",
]  # fmt: skip
"""Groups about which no warning must be given."""

BARRIERS = {
    "healthy-store": (1, 6.1), "busy-views": (1, 6.0), "compacted-neighbour-75": (2, 9.1), "trickle-start": (6, 5.7),
    "offsets-expire": (1, 6.0), "one-slow-member": (4, 40.0), "assignor-range": (4, 9.7), "assignor-roundrobin": (4, 9.9),
    "assignor-cooperative": (5, 11.5), "session-frozen": (4, 7.8), "crash-loop": (8, 27.9), "session-killed": (4, 9.0),
    "poll-timeout": (6, 10.5), "slow-beyond-poll": (5, 14.6), "frozen-at-barrier": (3, 16.8),
    "rolling-dynamic": (10, 15.2), "rolling-static": (1, 6.0), "duplicate-instance": (1, 6.0), "txn-etl": (1, 6.0),
    "more-members-than-partitions": (2, 6.2), "shared-group-id": (4, 9.9), "autoscaler-thrash": (8, 11.9),
    "pattern-topics": (4, 7.4), "partitions-added": (3, 6.9), "subscription-change": (5, 9.8),
    "assignor-rollout": (16, 20.5), "stuck-partition": (1, 6.0), "rewind": (2, 6.1), "skewed-lag": (2, 7.1),
    "slow-but-cooperative": (7, 31.5), "offset-delete": (2, 6.0), "group-delete": (1, 6.0),
    "handover-without-commit": (2, 7.5), "reset-while-empty": (2, 12.0), "coordinator-move-1": (1, 6.0),
}  # fmt: skip
"""Rebalances that reached the join barrier, and seconds of waiting in all."""
