"""Whatever is left out of what was recorded makes things unknown: nothing is well, and nothing certain, for want of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from kohort.pipeline.gold.gold_rows import GroupHealthRow
from kohort.pipeline.gold.health_rows import group_health_rows
from kohort.pipeline.gold.share_gold_rows import ShareGroupRow
from kohort.pipeline.gold.share_rows import share_group_rows
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.report.all_clear import Missing, missing
from kohort.pipeline.rules.finding import Finding
from tests.pipeline.incidents.cuts import FACTS_OF_A_PART
from tests.pipeline.incidents.recorded import Sources, Told, text_alone, told_of
from tests.support.effort import in_turn

EXPLAINED_BY_THE_REST = FACTS_OF_A_PART | {
    "R04": "members that others replaced; the rest shows that they could not come sooner, or why they went",
    "R05": "a client that is removed again and again; the rest shows by what",
    "R21": "records that were read again; the rest shows that the topic was another one",
    "R27": "deleted offsets, as above",
}
"""Rules that a part of the sources may be certain of where the whole names something graver instead."""


MOST_COMMITS = 4_000
NOBODY_CAN_KNOW = {
    ("refused-migration", "without conversion_refused"): "a client that was refused leaves no other trace",
    ("new-protocol-librdkafka-cooperative-to-consumer", "without conversion_refused"): "likewise",
    ("copied", "without member_removed"): "a process that was killed looks like one that was closed",
    ("static-taken-once", "without member_fenced"): "a process that was fenced looks like one that had stopped",
}
"""Kinds of line whose absence shows nowhere: a quiet group has none of them either."""


def parts(group: GroupInput) -> Iterator[tuple[str, GroupInput]]:
    """Yield the sources without each one, and without each type of line or event."""
    for name, empty in (("ends", {}), ("events", []), ("share_states", [])):
        if not getattr(group, name):
            continue
        less = copy.copy(group)
        setattr(less, name, empty)
        yield f"without {name}", less
    if group.events:
        yield "without the offsets topic", text_alone(group)
    if sum(len(commits.ts_ms) for commits in group.commits.values()) > MOST_COMMITS:
        return  # nothing is in their lines that isn't in those of others
    for kind in sorted({event.kind for event in group.events}):
        less = copy.copy(group)
        less.events = [event for event in group.events if event.kind != kind]
        yield f"without {kind}", less


@dataclass(frozen=True)
class Part:
    """What is said of a group when something is left out; name "" for all of it."""

    group: str
    name: str
    found: list[Finding]
    missing: list[Missing]

    @property
    def serious(self) -> bool:
        return any(finding.severity != "info" for finding in self.found)


@pytest.fixture(scope="module")
def told_of_parts(
    told_from: Callable[[Sources], list[Told]],
) -> list[list[Part]]:
    """By group: what is said of all of it, and of each part that is looked at."""
    return [
        [_part("", whole), *(_part(name, told_of(less)) for name, less in in_turn(list(parts(whole.group)), number))]
        for number, whole in enumerate(told_from(copy.copy))
    ]


def _part(name: str, told: Told) -> Part:
    group_id = told.group.group_id
    rows: list[GroupHealthRow] = [{**row, "group_id": group_id} for row in group_health_rows(told.analysis)]
    shared: list[ShareGroupRow] = [{**row, "group_id": group_id} for row in share_group_rows(told.analysis)]
    return Part(group_id, name, told.found, missing(rows, [], shared))


def test_partial_sources_hide_no_serious_finding(told_of_parts: list[list[Part]]) -> None:
    for whole, *less in told_of_parts:
        if whole.serious and not whole.missing:
            for part in less:
                known = part.serious or part.missing or (part.group, part.name) in NOBODY_CAN_KNOW
                assert known, (part.group, part.name, [f.rule for f in whole.found])


def test_partial_sources_add_no_certainty(told_of_parts: list[list[Part]]) -> None:
    for whole, *less in told_of_parts:
        sure = {finding.rule for finding in whole.found if finding.confidence == "certain"}
        for part in less:
            for finding in part.found:
                if finding.confidence == "certain":
                    assert finding.rule in sure | EXPLAINED_BY_THE_REST.keys(), (part.group, part.name, finding)
