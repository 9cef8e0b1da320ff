"""Decides whether groups may be called healthy: only if every source that would show a serious finding was read.

Otherwise the user needs to know what is missing, what it would show, and where to get it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from kohort.pipeline.gold.gold_rows import DataIssueRow, GroupHealthRow
from kohort.pipeline.gold.share_gold_rows import ShareGroupRow
from kohort.pipeline.rules.finding import listed
from kohort.pipeline.sources.found import DUMP, EVENTS, EXPORT, SEGMENT, TEXT_LOG, WIRE, Source

OFFSETS_TOPIC, LOG_ENDS, BROKER_LOG = "offsets-topic", "log-ends", "broker-log"
SHARE_STATE, SHARE_EVENTS = "share-state", "share-events"
# sources for a complete analysis, by their names in --without
SOURCES = (OFFSETS_TOPIC, LOG_ENDS, BROKER_LOG, SHARE_STATE, SHARE_EVENTS)
_GIVEN_BY = dict.fromkeys((SEGMENT, WIRE, EXPORT, DUMP), OFFSETS_TOPIC) | dict.fromkeys((TEXT_LOG, EVENTS), BROKER_LOG)
ENOUGH_SAMPLED = 0.5  # minimum fraction of a group's time between log end samples that are close together
ENOUGH_SEEN = 0.5  # minimum fraction of a share group's time with delivery states
_UNREAD = frozenset((
    "cluster_gone", "cluster_unreachable", "damaged_batch", "damaged_segment", "missing_events", "no_source",
    "nothing_read", "undecoded_records", "unreadable_file", "unreadable_line",
))  # fmt: skip
_NOT_READ = "some of the input could not be read (see the data quality issues)"
_NO_TOPIC = (
    "the offsets topic is missing: its owners and commits show which members stopped consuming. Give a bootstrap "
    "address, or a copy of the segment files of __consumer_offsets"
)
_NO_LOG = (
    "broker logs and event logs are missing: they contain rejected commits and members, denied access, and the start "
    "and reason of each rebalance. Give the brokers' server.log at INFO, or the folder of kohort serve --event-log"
)
_STRANGERS = "their clients, and whether they came back, are in the offsets topic from before they joined"
_NO_LOG_ENDS = (
    "for most of the time: samples show whether records waited, were deleted unread, or had no owner. Run kohort "
    "follow --engine spark to sample them, or give a file of samples"
)
_NO_SHARE_STATE = (
    "were not read for most of the time: they show records that were archived unprocessed or redelivered repeatedly. "
    "Give a bootstrap address, a copy of the segment files of __share_group_state, or the folder of kohort serve "
    "--event-log"
)
_NO_SHARE_EVENTS = "only an event log shows which member released them or lost its lock, and Kafka has no event log"


@dataclass(frozen=True, slots=True)
class Missing:
    """Missing source for an analysis of some groups.

    source: One of `SOURCES`, or None if an input was not understood.
    groups: Affected groups.
    """

    source: str | None
    text: str
    groups: frozenset[str]


def given_sources(sources: Iterable[Source]) -> frozenset[str]:
    """Return OFFSETS_TOPIC and BROKER_LOG as far as the sources include them."""
    return frozenset(_GIVEN_BY[source.kind] for source in sources if source.kind in _GIVEN_BY)


def unread(issues: list[DataIssueRow]) -> list[DataIssueRow]:
    """Return the issues about unreadable input, which may contain what the findings lack."""
    return [issue for issue in issues if issue["rule"] in _UNREAD]


def missing(
    health: list[GroupHealthRow],
    issues: list[DataIssueRow],
    shared: list[ShareGroupRow],
    accepted: Collection[str] = (),
    provided: Collection[str] = (),
) -> list[Missing]:
    """List the sources that are needed before groups can be called healthy.

    Args:
        health: Health of the groups.
        issues: Data quality issues.
        shared: Share groups.
        accepted: Sources that may be missing.
        provided: Sources that were read, even if nothing in them is about these groups.
    """
    every = frozenset(row["group_id"] or "" for row in health)
    missing_sources = [Missing(None, _NOT_READ, every)] if unread(issues) else []
    if health and OFFSETS_TOPIC not in provided and not any(row["has_records"] or row["commits"] for row in health):
        missing_sources.append(Missing(OFFSETS_TOPIC, _NO_TOPIC, every))
    strange = frozenset(row["group_id"] or "" for row in health if row["unknown_members"])
    if strange:
        text = f"in {_some(strange, every)} members are known by their ids only: {_STRANGERS}"
        missing_sources.append(Missing(None, text, strange))
    dark = frozenset(row["group_id"] or "" for row in health if row["sampled_share"] < ENOUGH_SAMPLED)
    if dark:
        text = f"the log ends of the topics of {_some(dark, every)} were not sampled {_NO_LOG_ENDS}"
        missing_sources.append(Missing(LOG_ENDS, text, dark))
    if health and BROKER_LOG not in provided and not any(row["has_events"] for row in health):
        missing_sources.append(Missing(BROKER_LOG, _NO_LOG, every))
    missing_sources += _of_share_groups(shared, every)
    return [source for source in missing_sources if source.source not in accepted]


def _of_share_groups(shared: list[ShareGroupRow], every: frozenset[str]) -> Iterator[Missing]:
    unseen = frozenset(row["group_id"] or "" for row in shared if row["seen_share"] < ENOUGH_SEEN)
    if unseen:
        text = f"the delivery states of {_some(unseen, every)} {_NO_SHARE_STATE}"
        yield Missing(SHARE_STATE, text, unseen)
    untold = frozenset(row["group_id"] or "" for row in shared if row["returned"] and not row["has_deliveries"])
    if untold:
        yield Missing(SHARE_EVENTS, f"records of {_some(untold, every)} were returned: {_NO_SHARE_EVENTS}", untold)


def _some(groups: Collection[str], every: Collection[str]) -> str:
    return "all groups" if len(groups) == len(every) > 1 else listed(sorted(groups), 3)


def span(health: list[GroupHealthRow]) -> tuple[int, int]:
    """Return the first and last time with data about these groups."""
    return min(row["first_ms"] for row in health), max(row["last_ms"] for row in health)
