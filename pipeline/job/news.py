"""Findings that are new in an updated report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kohort.pipeline.live.tracker import NEWS_MS
from kohort.pipeline.live.webhook import Message
from kohort.pipeline.report.results import FindingRow
from kohort.pipeline.report.words import how_sure
from kohort.pipeline.rules.finding import moment


class NewFindings:
    """Findings of earlier reports. A finding whose period ended long ago appears in the report only."""

    def __init__(self) -> None:
        self._reported: set[tuple[str, str, str, tuple[str, ...]]] = set()

    def among(self, findings: Iterable[FindingRow], now_ms: int) -> Iterator[Message]:
        """Yield findings of warning or critical severity that are new or have become more severe.

        Messages have the current time, so that alerts stay in order; the text contains the time of the finding.
        """
        for row in findings:
            key = (row["group"], row["rule"], row["severity"], tuple(sorted(row["clients"])))
            if row["severity"] == "info" or key in self._reported:
                continue
            self._reported.add(key)
            if now_ms - row["end_ms"] <= NEWS_MS:
                period = f"{moment(row['start_ms'])} to {moment(row['end_ms'])} UTC"
                text = f"{row['title']} ({row['rule']}, {how_sure(row)}), {period}: {row['text']}"
                yield Message(row["group"], now_ms, row["rule"], row["severity"], text)
