"""A finding, and helpers for its sentences."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from kohort.pipeline.rules.evidence import Evidence

INFO, WARNING, CRITICAL = "info", "warning", "critical"
CERTAIN, LIKELY, POSSIBLE = "certain", "likely", "possible"
SEVERITIES = (INFO, WARNING, CRITICAL)
CONFIDENCES = (POSSIBLE, LIKELY, CERTAIN)


@dataclass(slots=True)
class Finding:
    """What a rule found in one group.

    evidence: the numbers, and the keys of the rows they come from (`rebalances`: numbers in the table of that name).
    confidence: that it happened. cause_confidence: that it has the cause which text and advice name; "" where the two are
    one.
    """

    rule: str
    title: str
    severity: str
    confidence: str
    text: str
    advice: str
    start_ms: int
    end_ms: int
    clients: list[str] = field(default_factory=list)
    evidence: Evidence = field(default_factory=Evidence)
    group: str = ""
    cause_confidence: str = ""

    def is_explained_by(self, cause: Finding) -> None:
        """It is no news beside that one: its gravity changes, and its advice names it."""
        self.severity, self.advice = INFO, f"{cause.rule} explains it: {cause.title}."


def seconds(ms: float) -> str:
    """A length of time in the unit a person would choose."""
    if ms < 1000:
        return f"{ms:.0f} ms"
    if ms < 120_000:
        return f"{ms / 1000:.1f} s"
    if ms < 2 * 3_600_000:
        return f"{ms / 60_000:.0f} min"
    return f"{ms / 3_600_000:.1f} h"


def moment(ms: int) -> str:
    """A time of day in UTC; a sentence says that it is."""
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC).strftime("%H:%M:%S")


def times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def several(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def listed(names: Iterable[str], most: int = 5) -> str:
    names = list(dict.fromkeys(names))
    if len(names) > most:
        return ", ".join(names[:most]) + f" and {len(names) - most} more"
    return ", ".join(names)


def listed_others(names: Sequence[str], own: str, most: int) -> str:
    """List distinct names without `own`, which is one of them. Only the names that are shown are looked at."""
    first_names = list(islice((name for name in names if name != own), most))
    more = len(names) - 1 - len(first_names)
    return ", ".join(first_names) + (f" and {more} more" if more else "")


def busiest(moments: Sequence[int], window_ms: int) -> int:
    """The most moments that fall into one window of this length."""
    moments = sorted(moments)
    best = low = 0
    for high, moment in enumerate(moments):
        while moment - moments[low] > window_ms:
            low += 1
        best = max(best, high - low + 1)
    return best


def weakest(confidences: Iterable[str]) -> str:
    return min(confidences, key=CONFIDENCES.index, default=POSSIBLE)
