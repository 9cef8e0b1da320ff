"""Precision of each figure: exact, between bounds, or estimated. Every figure is shown with its precision."""

from __future__ import annotations

import re
from typing import Any

from kohort.pipeline.gold.gold_rows import RebalanceRow
from kohort.pipeline.report.drawings.times import begin_of
from kohort.pipeline.report.svg import esc, moment
from kohort.pipeline.rules.finding import CERTAIN, seconds

EXACT, AT_MOST, AT_LEAST, BETWEEN, ESTIMATE, SAMPLED = "exact", "at most", "at least", "between", "estimate", "sampled"

# measured between two commits, so the actual duration is at most this long
_BETWEEN_COMMITS = {
    "without_progress_ms", "silences_ms", "longest_silence_ms", "silent_ms", "unserved_ms", "uncommitted_ms",
    "stood_ms", "back_after_ms", "longest_ms", "lasted_ms", "unavailable_partition_s_hi",
}  # fmt: skip
_ESTIMATED = {
    "estimated_gain_partition_s", "records_estimate", "median_life_ms", "restart_ms", "explained_by", "share",
    "works_ms",
}  # fmt: skip
_SETTINGS = ("timeout_ms", "interval_ms")  # settings of members, exact because they are in the group's records
_SAMPLES = {"lag", "others_lag", "same_owner_lag", "waiting"}
SAYS_NOTHING = 10  # bounds whose ratio exceeds this are left out, because they are too far apart to be useful
# measured from the start of a rebalance, which not every source contains
_WAITS = {"waits_ms", "longest_wait_ms", "total_wait_ms", "prepare_ms", "time_rebalancing_s"}


def sureness(key: str, confidence: str, *, starts_known: bool) -> str:
    """Return the precision of a figure in a finding's evidence.

    Args:
        key: Name of the figure.
        confidence: Confidence of the finding; a count in a likely finding is likely, too.
        starts_known: The starts of all rebalances of the finding are known.
    """
    if key in _WAITS:
        return EXACT if starts_known else ESTIMATE
    if key in _BETWEEN_COMMITS:
        return AT_MOST
    if key in _SAMPLES:
        return SAMPLED
    if key in _ESTIMATED:
        return ESTIMATE
    return EXACT if confidence == CERTAIN or key.endswith(_SETTINGS) else confidence


def words(key: str) -> str:
    return re.sub(r"_(ms|hi)$", "", key).replace("_", " ")


def value(key: str, figure: Any) -> str:
    if isinstance(figure, list):
        return ", ".join(value(key, one) for one in figure) or "none"
    if isinstance(figure, dict):
        return ", ".join(f"{name} {value(name, one)}" for name, one in figure.items())
    if isinstance(figure, bool):
        return "yes" if figure else "no"
    if key.endswith("_ms") and isinstance(figure, (int, float)):
        return moment(figure) if figure > 10**11 else seconds(figure)
    if key.endswith("_s") and isinstance(figure, (int, float)):
        return f"{figure:.1f}"
    if key == "share" and isinstance(figure, (int, float)):
        return f"{figure:.0%}"
    return "not known" if figure is None else str(figure)


def with_sureness(text: str, sure: str) -> str:
    """Render a figure with its precision, or nothing for a figure without text."""
    if not text:
        return ""
    return f'{esc(text)} <small class="sure">{esc(sure)}</small>'


def waited(r: RebalanceRow) -> tuple[str, str]:
    duration = seconds(r["barrier_ms"] - begin_of(r))
    if r["start_ms"] is not None:
        return duration, EXACT
    if r["prepare_hi_ms"] is None:
        return (duration, AT_LEAST) if r["prepare_lo_ms"] else ("not known", "")
    if r["prepare_hi_ms"] > SAYS_NOTHING * max(r["prepare_lo_ms"] or 0, 1000):
        return "", ""
    return f"{seconds(r['prepare_lo_ms'] or 0)} to {seconds(r['prepare_hi_ms'])}", BETWEEN


def down(exact: float | None, low: float | None, high: float | None) -> tuple[str, str]:
    if exact is not None:
        return f"{exact:.1f}", EXACT
    if low is None or high is None:
        return "not known", ""
    if high - low < 0.05:
        return f"{high:.1f}", EXACT
    if high > SAYS_NOTHING * max(low, 0.1):
        return "", ""
    return f"{low:.1f} to {high:.1f}", BETWEEN
