"""Which findings of a report made anew are news."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kohort.pipeline.live.tracker import NEWS_MS
from kohort.pipeline.live.webhook import Message
from kohort.pipeline.report.results import FindingRow


class NewFindings:
    """Remembers what the reports before had. What was over long before it is found belongs to the report alone."""

    def __init__(self) -> None:
        self._known: set[tuple[str, str, str, tuple[str, ...]]] = set()

    def among(self, findings: Iterable[FindingRow], now_ms: int) -> Iterator[Message]:
        """Warnings and worse that no report before had. A finding that gets graver is news again."""
        for row in findings:
            key = (row["group"], row["rule"], row["severity"], tuple(sorted(row["clients"])))
            if row["severity"] == "info" or key in self._known:
                continue
            self._known.add(key)
            if now_ms - row["end_ms"] <= NEWS_MS:
                text = f"{row['title']} ({row['rule']}, {row['confidence']}): {row['text']}"
                yield Message(row["group"], row["end_ms"], row["rule"], row["severity"], text)
