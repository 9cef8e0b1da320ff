"""Finding of a rule, and helpers for its sentences."""

from __future__ import annotations

import datetime
import re
import shlex
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
    """Finding of a rule in one group.

    evidence: Figures, and keys of the rows they come from (`rebalances`: numbers in that table).
    confidence: Confidence that it happened.
    cause_confidence: Confidence in the cause that text and advice name; "" if it is the same.
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
    cause: Finding | None = field(default=None, repr=False, compare=False)

    def is_explained_by(self, cause: Finding) -> None:
        """Downgrade this finding to info and refer to `cause`, which explains it."""
        self.severity, self.cause = INFO, cause
        self.refer_to_cause()

    def refer_to_cause(self) -> None:
        """Let the advice name the finding that explains this one, or the one that explains that."""
        if (cause := self.cause) is None:
            return
        while cause.cause is not None:
            cause = cause.cause
        self.advice = refer_to(cause.rule, cause.title)

    @property
    def weight(self) -> int:
        """Length of the stop that the finding describes, in milliseconds; the longest comes first in a report."""
        return max((value for key in _WEIGHTS if isinstance(value := self.evidence.get(key), int)), default=0)


_WEIGHTS = ("without_progress_ms", "total_wait_ms", "stood_ms", "silent_ms", "longest_ms")


def refer_to(rule: str, title: str) -> str:
    """Return the advice of a finding that another one explains."""
    return f"{rule} explains it: {title}."


def seconds(ms: float) -> str:
    """Format a duration with a suitable unit."""
    if ms < 1000:
        return f"{ms:.0f} ms"
    if ms < 120_000:
        return f"{ms / 1000:.1f} s"
    if ms < 2 * 3_600_000:
        return f"{ms / 60_000:.0f} min"
    return f"{ms / 3_600_000:.1f} h"


def moment(ms: int) -> str:
    """Format a time of day in UTC, without the zone."""
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
    """List distinct names without `own`, which is one of them. Only the names that are shown are examined."""
    first_names = list(islice((name for name in names if name != own), most))
    more = len(names) - 1 - len(first_names)
    return ", ".join(first_names) + (f" and {more} more" if more else "")


_TOOLS = re.compile(r"(console-consumer|console-share-consumer|perf-consumer)(-.*)?$")


def is_tool(group_id: str, client_ids: Iterable[str]) -> bool:
    """Return whether a group belongs to one of Kafka's command-line tools, which people start and stop."""
    ids = list(client_ids)
    return _TOOLS.match(group_id) is not None or (bool(ids) and all(_TOOLS.match(client_id) for client_id in ids))


def how_to_resume(names: str, *, crashed: bool, tool: bool) -> str:
    """Return the advice for a group without members, by how the last ones ended."""
    delete = "Delete the group if it isn't needed"
    if tool:
        return f"{delete}: it is that of a command-line tool, which was closed."
    if crashed:
        return f"Find out why {names or 'the group'} ended, and start the application again. {delete}."
    return f"Check whether the stop of {names or 'the group'} was intended, as in a deploy. If not, start the application again. {delete}."


def busiest(moments: Sequence[int], window_ms: int) -> int:
    """Return the maximum number of times within a window of this length."""
    moments = sorted(moments)
    best = low = 0
    for high, moment in enumerate(moments):
        while moment - moments[low] > window_ms:
            low += 1
        best = max(best, high - low + 1)
    return best


def weakest(confidences: Iterable[str]) -> str:
    return min(confidences, key=CONFIDENCES.index, default=POSSIBLE)


def what_if(group_id: str, change: str) -> str:
    """Return a sentence with the command that computes the cost of a change of settings for a group."""
    return f"`kohort what-if SOURCE… --group {shlex.quote(group_id)} --set {change}` computes the cost for this group."
