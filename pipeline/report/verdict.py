"""Whether "nothing serious" may be said: only if what would have shown something serious was read.

Otherwise it can't be told, and a person must know what is missing, what it would have shown, and where to get it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from kohort.pipeline.gold.gold_rows import DataIssueRow, GroupHealthRow
from kohort.pipeline.rules.finding import listed, several

OFFSETS_TOPIC, LOG_ENDS, BROKER_LOG = "offsets-topic", "log-ends", "broker-log"
SOURCES = (OFFSETS_TOPIC, LOG_ENDS, BROKER_LOG)
"""What a group's story is made of, by the names that --without takes."""
ENOUGH_SAMPLED = 0.5
"""So much of a group's time lies between samples that are close together."""
_UNREAD = frozenset((
    "cluster_gone", "cluster_unreachable", "damaged_batch", "damaged_segment", "missing_events", "no_source",
    "nothing_read", "undecoded_records", "unreadable_file", "unreadable_line",
))  # fmt: skip
_NOT_READ = "some of what was given could not be read (see the remarks about the data)"
_NO_TOPIC = (
    "the offsets topic was not given: owners and commits would show there, and so who stood still. Give a bootstrap "
    "address, or a copy of the segment files of __consumer_offsets"
)
_NO_LOG = (
    "no broker's log and no event log was given: refused commits and members, rights, when and why each rebalance "
    "began, would show there. Give the brokers' server.log at INFO, or the folder of kohort serve --event-log"
)
_STRANGERS = "who they are, and whether they came back, stands in the offsets topic from before they joined"
_HOW_TO_SAMPLE = "Let kohort analyze --follow sample them while it happens, or give a file of them"


@dataclass(frozen=True, slots=True)
class Missing:
    """source: one of `SOURCES`; None where something that was given was not understood."""

    source: str | None
    text: str


def unread(issues: list[DataIssueRow]) -> list[DataIssueRow]:
    """Remarks on what was given and could not be read: it may hold what is missing among the findings."""
    return [issue for issue in issues if issue["rule"] in _UNREAD]


def missing(health: list[GroupHealthRow], issues: list[DataIssueRow], accepted: Collection[str] = ()) -> list[Missing]:
    """What must be known before a group can be called well. accepted: sources that may be missing."""
    found = [Missing(None, _NOT_READ)] if unread(issues) else []
    if health and not any(row["has_records"] or row["commits"] for row in health):
        found.append(Missing(OFFSETS_TOPIC, _NO_TOPIC))
    strangers = sum(row["unknown_members"] for row in health)
    if strangers:
        found.append(Missing(None, f"of {several(strangers, 'member')} only the id was read: {_STRANGERS}"))
    dark = sorted({row["group_id"] or "" for row in health if row["sampled_share"] < ENOUGH_SAMPLED})
    if dark:
        found.append(Missing(LOG_ENDS, _no_log_ends(dark, len({row["group_id"] for row in health}))))
    if health and not any(row["has_events"] for row in health):
        found.append(Missing(BROKER_LOG, _NO_LOG))
    return [each for each in found if each.source not in accepted]


def span(health: list[GroupHealthRow]) -> tuple[int, int]:
    """From when to when anything is known of these groups."""
    return min(row["first_ms"] for row in health), max(row["last_ms"] for row in health)


def _no_log_ends(dark: list[str], of: int) -> str:
    whom = "" if len(dark) == of else f" of {listed(dark, 3)}"
    return (
        f"where the logs{whom} began and ended was not sampled through most of the time: whether records waited, were "
        f"deleted unread, or belonged to nobody, would show there. {_HOW_TO_SAMPLE}"
    )
