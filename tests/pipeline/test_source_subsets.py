"""Every subset of the sources of every recorded group: more sources lose no finding, and advice is complete.

`make deep` tries all subsets of all groups, a fast run those of a sample. Analysis and rules are the same code in both
engines; `test_engines.py` compares their tables.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Iterator

import pytest

from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.rules.finding import Finding
from tests.pipeline.incidents.recorded import Told, told_of
from tests.pipeline.source_losses import loses, rules
from tests.support.effort import EFFORT
from tests.support.seeds import seeds

SAMPLE = 15  # groups of a fast run, of each seed
PARTS: dict[str, dict[str, object]] = {
    "offsets topic": {"records": [], "members": [], "parts": [], "commits": {}, "coordinator_moves": []},
    "events": {"events": []},
    "log ends": {"ends": {}},
    "share state": {"share_states": [], "share_lags": []},
}  # attributes of a group by source, with their empty values
_RULE = re.compile(r"\bR\d\d\b")


def sources_of(group: GroupInput) -> list[str]:
    return [name for name, empty in PARTS.items() if any(getattr(group, attribute) for attribute in empty)]


def with_only(group: GroupInput, names: frozenset[str]) -> GroupInput:
    part = copy.copy(group)
    for name, empty in PARTS.items():
        if name not in names:
            for attribute, value in empty.items():
                setattr(part, attribute, copy.copy(value))
    return part


def subsets(names: list[str]) -> Iterator[frozenset[str]]:
    """Yield all subsets but the empty one."""
    for number in range(1, 1 << len(names)):
        yield frozenset(name for place, name in enumerate(names) if number >> place & 1)


def chosen(groups: list[GroupInput], seed: int) -> list[GroupInput]:
    return groups if EFFORT.one_in == 1 else random.Random(seed).sample(groups, SAMPLE)


def told_of_subsets(group: GroupInput) -> dict[frozenset[str], Told]:
    return {names: told_of(with_only(group, names)) for names in subsets(sources_of(group))}


def dangling(findings: list[Finding]) -> list[str]:
    """Return advice that names a rule without a finding, or in a visible finding a rule without a visible one."""
    every = {finding.rule for finding in findings}
    visible = {finding.rule for finding in findings if finding.severity != "info"}
    return [
        finding.advice
        for finding in findings
        if not set(_RULE.findall(finding.advice)) <= (every if finding.severity == "info" else visible)
    ]


@pytest.mark.parametrize("seed", seeds(1) if EFFORT.one_in > 1 else [0])
def test_source_subsets_keep_findings(all_recorded: list[GroupInput], seed: int) -> None:
    for group in chosen(all_recorded, seed):
        results = told_of_subsets(group)
        for names, of_part in results.items():
            assert not dangling(of_part.found), (group.group_id, sorted(names))
            for added in set(sources_of(group)) - names:
                lost = loses(rules(of_part), rules(results[names | {added}]))
                assert not lost, (group.group_id, sorted(names), added)
