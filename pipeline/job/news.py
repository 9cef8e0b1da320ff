"""Findings that are new in an updated report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from kohort.pipeline.live.tracker import NEWS_MS
from kohort.pipeline.live.webhook import Message
from kohort.pipeline.report.results import FindingRow
from kohort.pipeline.report.words import how_sure
from kohort.pipeline.rules.finding import moment

# Rules about a group that stands still. Its log does not show an open rebalance, which has its own alert.
_STANDS_STILL = ("R37",)


class NewFindings:
    """Findings of earlier reports. A finding whose period ended long ago appears in the report only."""

    def __init__(self) -> None:
        self._reported: set[tuple[str, str, str, tuple[str, ...]]] = set()

    def among(
        self,
        findings: Iterable[FindingRow],
        now_ms: int,
        is_in_rebalance: Callable[[str, int], bool] = lambda group_id, since_ms: False,
    ) -> Iterator[Message]:
        """Yield findings of warning or critical severity that are new or have become more severe.

        Messages have the current time, so that alerts stay in order; the text contains the time of the finding.

        Args:
            is_in_rebalance: Returns whether a rebalance of a group is open or ended after a time.
        """
        for row in findings:
            key = (row["group"], row["rule"], row["severity"], tuple(sorted(row["clients"])))
            if row["severity"] == "info" or key in self._reported:
                continue
            still = row["rule"] in _STANDS_STILL and row["evidence"]["open"]
            if still and is_in_rebalance(row["group"], row["end_ms"]):
                continue
            self._reported.add(key)
            if now_ms - row["end_ms"] <= NEWS_MS:
                period = f"{moment(row['start_ms'])} to {moment(row['end_ms'])} UTC"
                text = f"{row['title']} ({row['rule']}, {how_sure(row)}), {period}: {row['text']}"
                yield Message(row["group"], now_ms, row["rule"], row["severity"], text)
