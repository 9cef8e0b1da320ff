"""Which findings of a report made anew are news."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kohort.pipeline.live.tracker import NEWS_MS
from kohort.pipeline.live.webhook import Message
from kohort.pipeline.report.results import FindingRow
from kohort.pipeline.report.words import how_sure
from kohort.pipeline.rules.finding import moment


class NewFindings:
    """Remembers what the reports before had. What was over long before it is found belongs to the report alone."""

    def __init__(self) -> None:
        self._known: set[tuple[str, str, str, tuple[str, ...]]] = set()

    def among(self, findings: Iterable[FindingRow], now_ms: int) -> Iterator[Message]:
        """Warnings and worse that no report before had. A finding that gets graver is news again.

        Each is of now, so that alerts stand in the order in which they are told; the text says when it was.
        """
        for row in findings:
            key = (row["group"], row["rule"], row["severity"], tuple(sorted(row["clients"])))
            if row["severity"] == "info" or key in self._known:
                continue
            self._known.add(key)
            if now_ms - row["end_ms"] <= NEWS_MS:
                when = f"{moment(row['start_ms'])} to {moment(row['end_ms'])} UTC"
                text = f"{row['title']} ({row['rule']}, {how_sure(row)}), {when}: {row['text']}"
                yield Message(row["group"], now_ms, row["rule"], row["severity"], text)
